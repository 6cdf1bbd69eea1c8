package procstat

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"math"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"testing"
	"time"

	"golang.org/x/sys/unix"
)

func TestSelf(t *testing.T) {
	before, err := Self()
	if err != nil {
		t.Fatal(err)
	}
	var limit unix.Rlimit
	if err := unix.Getrlimit(unix.RLIMIT_NOFILE, &limit); err != nil {
		t.Fatal(err)
	}
	if before.PID != os.Getpid() || before.RSS < 1<<20 || before.Threads < 1 || before.CPU < 0 || before.Birth == 0 {
		t.Errorf("%+v", before)
	}
	if limit.Cur != unix.RLIM_INFINITY && before.FDLimit != int64(limit.Cur) {
		t.Errorf("the limit of descriptors is %d, want %d", before.FDLimit, limit.Cur)
	}
	if age := time.Since(before.Started); age < -time.Second || age > time.Hour {
		t.Errorf("started %v ago", age)
	}
	for range 10 {
		f, err := os.Open("/proc/self/stat")
		if err != nil {
			t.Fatal(err)
		}
		defer f.Close()
	}
	after, err := Self()
	if err != nil {
		t.Fatal(err)
	}
	if after.FDs != before.FDs+10 {
		t.Errorf("%d descriptors after 10 more than %d", after.FDs, before.FDs)
	}
	if after.Birth != before.Birth || after.CPU < before.CPU {
		t.Errorf("%+v after %+v", after, before)
	}
}

// Both ways of counting agree: older kernels have only the one.
func TestCountNames(t *testing.T) {
	dir := t.TempDir()
	for _, name := range []string{"0", "1", "2"} {
		if err := os.WriteFile(filepath.Join(dir, name), nil, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	if n, err := countNames(dir, false); n != 3 || err != nil {
		t.Errorf("%d, %v, want 3", n, err)
	}
	var st unix.Stat_t
	if err := unix.Stat("/proc/self/fd", &st); err != nil {
		t.Fatal(err)
	}
	n, err := countNames("/proc/self/fd", true)
	if err != nil || st.Size > 0 && n != int(st.Size) {
		t.Errorf("%d names, %v; the kernel says %d", n, err, st.Size)
	}
}

// held is how much memory the child of a test holds.
const held = 32 << 20

// TestMain is the child of TestOfAChild, if it is told to be.
func TestMain(m *testing.M) {
	if os.Getenv("PROCSTAT_TEST_CHILD") == "" {
		os.Exit(m.Run())
	}
	block := bytes.Repeat([]byte{1}, held)
	fmt.Println("ready")
	_, _ = os.Stdin.Read(block[:1]) // until it is killed
	runtime.KeepAlive(block)
}

func TestOfAChild(t *testing.T) {
	cmd := exec.Command(os.Args[0])
	cmd.Env = append(os.Environ(), "PROCSTAT_TEST_CHILD=1")
	in, err := cmd.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	if _, err := io.ReadFull(out, make([]byte, len("ready\n"))); err != nil {
		t.Fatal(err)
	}
	pid := cmd.Process.Pid
	v, err := Of(pid)
	if err != nil || v.PID != pid || v.RSS < held || v.RSS > 16*held || v.Threads < 2 || v.FDs < 3 || v.FDLimit < 3 {
		t.Errorf("%+v, %v", v, err)
	}
	self, err := Self()
	if err != nil || v.Birth < self.Birth {
		t.Errorf("the child was born at %d, its parent at %d, %v", v.Birth, self.Birth, err)
	}
	if _, err := GroupOf(pid); err != nil && !errors.Is(err, ErrUnsupported) {
		t.Error(err)
	}
	if err := cmd.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	// It is dead, and not collected yet.
	var info unix.Siginfo
	if err := unix.Waitid(unix.P_PID, pid, &info, unix.WEXITED|unix.WNOWAIT, nil); err != nil {
		t.Fatal(err)
	}
	if v, err := Of(pid); !errors.Is(err, ErrGone) {
		t.Errorf("of a zombie: %+v, %v", v, err)
	}
	_ = cmd.Wait()
	in.Close()
	if v, err := Of(pid); !errors.Is(err, ErrGone) {
		t.Errorf("of a process that was collected: %+v, %v", v, err)
	}
	if g, err := GroupOf(pid); !errors.Is(err, ErrGone) && !errors.Is(err, ErrUnsupported) {
		t.Errorf("the group of a process that was collected: %v, %v", g, err)
	}
}

func TestOfNobody(t *testing.T) {
	for _, pid := range []int{0, -1, math.MinInt, math.MaxInt32} {
		if v, err := Of(pid); !errors.Is(err, ErrGone) {
			t.Errorf("%d: %+v, %v", pid, v, err)
		}
	}
}

// The kernel tells, or it is ErrUnsupported; what it tells is in range.
func TestPressure(t *testing.T) {
	p, err := Pressure()
	_, missing := os.Stat("/proc/pressure/cpu")
	if missing != nil {
		if !errors.Is(err, ErrUnsupported) || !errors.Is(err, errors.ErrUnsupported) {
			t.Errorf("without pressure: %v", err)
		}
	} else if err != nil && !errors.Is(err, ErrUnsupported) {
		t.Fatal(err)
	}
	for _, s := range []Stall{p.CPU, p.Memory, p.IO} {
		if !(s.Some.Avg10 >= 0 && s.Some.Avg10 <= 1) || s.Full.Total > s.Some.Total {
			t.Errorf("%+v", s)
		}
	}
}

func TestPressureFiles(t *testing.T) {
	dir := t.TempDir()
	names := []string{filepath.Join(dir, "cpu"), filepath.Join(dir, "memory"), filepath.Join(dir, "io")}
	if _, err := pressure(names[0], names[1], names[2]); !errors.Is(err, ErrUnsupported) {
		t.Errorf("without files: %v", err)
	}
	for i, n := range names {
		writeFile(t, n, strings.ReplaceAll("some avg10=N.00 avg60=0.00 avg300=0.00 total=9\n", "N", string(rune('1'+i))))
	}
	p, err := pressure(names[0], names[1], names[2])
	if err != nil || p.CPU.Some.Avg10 != 0.01 || p.Memory.Some.Avg10 != 0.02 || p.IO.Some.Avg10 != 0.03 {
		t.Errorf("%+v, %v", p, err)
	}
	writeFile(t, names[2], "")
	if _, err := pressure(names[0], names[1], names[2]); err == nil || errors.Is(err, ErrUnsupported) {
		t.Errorf("an empty file: %v", err)
	}
	if !errors.Is(absent(unix.EOPNOTSUPP), ErrUnsupported) || errors.Is(absent(unix.EIO), ErrUnsupported) {
		t.Error("psi=0 at boot is unsupported, a broken disk is not")
	}
}

func TestMemory(t *testing.T) {
	m, err := Memory()
	if err != nil || m.Total < 16<<20 || m.Available <= 0 || m.Available > m.Total || m.Group.Limit < 0 || m.Group.Used < 0 {
		t.Errorf("%+v, %v", m, err)
	}
	if u := m.Used(); !(u > 0 && u <= 1) {
		t.Errorf("%g is used", u)
	}
}

func TestDisk(t *testing.T) {
	s, err := Disk(t.TempDir())
	if err != nil || s.Total <= 0 || s.Free > s.Total || s.Available > s.Free || s.FreeInodes > s.Inodes {
		t.Errorf("%+v, %v", s, err)
	}
	if _, err := Disk(filepath.Join(t.TempDir(), "none")); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("no such path: %v", err)
	}
	for _, tc := range []struct{ n, unit uint64 }{{1 << 50, 1 << 20}, {math.MaxUint64, 1}} {
		if got := bytesOf(tc.n, tc.unit); got != unlimited {
			t.Errorf("%d × %d is %d", tc.n, tc.unit, got)
		}
	}
}

func writeFile(t *testing.T, name, text string) {
	t.Helper()
	if err := errors.Join(os.MkdirAll(filepath.Dir(name), 0o700), os.WriteFile(name, []byte(text), 0o600)); err != nil {
		t.Fatal(err)
	}
}

// The scarcest limit of a group and those above it counts, in both versions.
func TestScarcestMemory(t *testing.T) {
	for version, file := range map[int][3]string{
		1: {"memory.limit_in_bytes", "memory.usage_in_bytes", "total_inactive_file"},
		2: {"memory.max", "memory.current", "inactive_file"},
	} {
		top := t.TempDir()
		group := func(dir, limit, usage, cache string) {
			writeFile(t, filepath.Join(top, dir, file[0]), limit+"\n")
			writeFile(t, filepath.Join(top, dir, file[1]), usage+"\n")
			writeFile(t, filepath.Join(top, dir, "memory.stat"), "anon 5\n"+file[2]+" "+cache+"\nactive_file 7\n")
		}
		none := "max"
		if version == 1 {
			none = "9223372036854771712"
		}
		group("a", "1000", "900", "100")
		group("a/b", none, "850", "0")
		group("a/b/c", "10000", "850", "50")
		m, err := scarcest(filepath.Join(top, "a/b/c"), top, version) // and top itself has no files
		if want := (GroupMem{Limit: 1000, Used: 800}); err != nil || m != want {
			t.Errorf("version %d: %+v, %v, want %+v", version, m, err, want)
		}
		group("a/b/c", "900", "850", "9999") // more can be dropped than is used
		if m, err := scarcest(filepath.Join(top, "a/b/c"), filepath.Join(top, "a/b/c"), version); err != nil || m != (GroupMem{Limit: 900}) {
			t.Errorf("version %d: %+v, %v", version, m, err)
		}
		writeFile(t, filepath.Join(top, "a/b/c", file[0]), "")
		if m, err := scarcest(filepath.Join(top, "a/b/c"), top, version); err == nil {
			t.Errorf("version %d: an empty file: %+v", version, m)
		}
	}
}

func TestGroupWithoutHierarchies(t *testing.T) {
	var g Group
	if _, err := g.Memory(); !errors.Is(err, ErrUnsupported) {
		t.Error(err)
	}
	if _, err := g.Pressure(); !errors.Is(err, ErrUnsupported) {
		t.Error(err)
	}
}

func TestReadIsBounded(t *testing.T) {
	name := filepath.Join(t.TempDir(), "long")
	writeFile(t, name, strings.Repeat("0123456\n", 100))
	var buf [30]byte
	text, err := read(name, buf[:])
	if err != nil || string(text) != strings.Repeat("0123456\n", 3) {
		t.Errorf("%q, %v, want whole lines only", text, err)
	}
	if text, err := read(name, make([]byte, 1000)); err != nil || len(text) != 800 {
		t.Errorf("%d bytes, %v", len(text), err)
	}
}

func BenchmarkSelf(b *testing.B) {
	b.ReportAllocs()
	for b.Loop() {
		if _, err := Self(); err != nil {
			b.Fatal(err)
		}
	}
}

func BenchmarkMemory(b *testing.B) {
	b.ReportAllocs()
	for b.Loop() {
		if _, err := Memory(); err != nil {
			b.Fatal(err)
		}
	}
}
