package journal_test

import (
	"bufio"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/bezoar-dev/bezoar"
	"github.com/bezoar-dev/bezoar/internal/state/journal"
)

// TestMain also is the process that dies, when told so.
func TestMain(m *testing.M) {
	if role := os.Getenv("JOURNAL_TEST_ROLE"); role != "" {
		if err := play(role, os.Getenv("JOURNAL_TEST_PATH")); err != nil {
			fmt.Println(err)
			os.Exit(1)
		}
		os.Exit(0)
	}
	os.Exit(m.Run())
}

const workers = 4

func play(role, path string) error {
	j, records, err := journal.Open(path, 64)
	if err != nil {
		return err
	}
	switch role {
	case "hold": // 1, 2 and 3 in flight, of which 2 ends
		for i := 1; i <= 3; i++ {
			j.Begin(10*i, record(uint64(i)))
		}
		j.End(20)
	case "churn": // always in the middle of something
		var going sync.WaitGroup
		going.Add(workers)
		for w := range workers {
			go func() {
				next := record(uint64(w))
				for n := uint64(w); ; n += workers {
					j.Begin(w, next)
					next = record(n + workers) // the work, as it were
					j.End(w)
					if n/workers == 1000 {
						going.Done()
					}
				}
			}()
		}
		going.Wait()
	case "close":
		j.Begin(0, record(1))
		return j.Close()
	case "exit": // os.Exit, a panic, log.Fatal: nobody calls Close
		j.Begin(0, record(1))
		return nil
	case "crash":
		j.Begin(0, record(1))
		var nothing *int
		*nothing = 1
	}
	fmt.Println("ready", len(records))
	_, err = io.Copy(io.Discard, os.Stdin) // until killed
	return err
}

// record makes all fields follow from n, so that a mixture shows.
func record(n uint64) journal.Record {
	var r journal.Record
	for i := range 2 {
		binary.LittleEndian.PutUint64(r.Fingerprint[8*i:], n+1)
		binary.LittleEndian.PutUint64(r.Shape[8*i:], ^n)
	}
	r.Start = time.Unix(0, int64(n))
	r.Successes = uint16(n)
	r.Fleet = uint32(n)
	r.Exempt = n%2 == 1
	return r
}

// number returns n of record(n), or false for a mixture.
func number(r journal.Record) (uint64, bool) {
	n := binary.LittleEndian.Uint64(r.Fingerprint[:]) - 1
	return n, cmp.Equal(r, record(n))
}

// child runs role in a process of its own, kills it once it is ready when
// kill is set, and waits for its end.
func child(t *testing.T, role, path string, kill bool) {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), os.Args[0])
	cmd.Env = append(os.Environ(), "JOURNAL_TEST_ROLE="+role, "JOURNAL_TEST_PATH="+path)
	if _, err := cmd.StdinPipe(); err != nil {
		t.Fatal(err)
	}
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	lines := bufio.NewScanner(out)
	if kill {
		if !lines.Scan() || !strings.HasPrefix(lines.Text(), "ready") {
			t.Fatalf("the child says %q", lines.Text())
		}
		if err := cmd.Process.Kill(); err != nil {
			t.Fatal(err)
		}
	}
	var exit *exec.ExitError
	if err := cmd.Wait(); err != nil && !errors.As(err, &exit) {
		t.Fatal(err)
	}
}

func open(t *testing.T, path string, slots int) (*journal.Journal, []journal.Record) {
	t.Helper()
	j, records, err := journal.Open(path, slots)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := j.Close(); err != nil {
			t.Error(err)
		}
	})
	return j, records
}

func reopen(t *testing.T, path string) (records []journal.Record, note string) {
	t.Helper()
	j, records := open(t, path, 0)
	if err := j.Close(); err != nil {
		t.Fatal(err)
	}
	return records, j.Note()
}

func newPath(t *testing.T) string { return filepath.Join(t.TempDir(), "bezoar.journal") }

func want(t *testing.T, got []journal.Record, numbers ...uint64) {
	t.Helper()
	var records []journal.Record
	for _, n := range numbers {
		records = append(records, record(n))
	}
	if diff := cmp.Diff(records, got); diff != "" {
		t.Errorf("in flight (-want +got)\n%s", diff)
	}
}

func TestKilledInFlight(t *testing.T) {
	path := newPath(t)
	child(t, "hold", path, true)
	j, records := open(t, path, 8) // a new number of slots hides nothing
	want(t, records, 1, 3)
	if j.Note() != "" || j.Slots() != 8 {
		t.Errorf("note %q, %d slots", j.Note(), j.Slots())
	}
	if err := j.Close(); err != nil {
		t.Fatal(err)
	}
	records, _ = reopen(t, path)
	want(t, records) // handed out once
}

// The records are told to be of the run that wrote them, and of none when it did
// not come to say.
func TestRuns(t *testing.T) {
	path := newPath(t)
	for _, run := range []uint64{7, 0, 9} {
		j, _ := open(t, path, 4)
		if run != 0 {
			j.SetRun(run)
		}
		j.Begin(0, record(run))
		content, err := os.ReadFile(path) // as it is after a kill
		if err := errors.Join(err, j.Close(), os.WriteFile(path, content, 0o600)); err != nil {
			t.Fatal(err)
		}
		again, records := open(t, path, 4)
		want(t, records, run)
		if got := again.WrittenBy(); got != run {
			t.Errorf("written by %d, want %d", got, run)
		}
		if err := again.Close(); err != nil {
			t.Fatal(err)
		}
	}
}

func TestEndings(t *testing.T) {
	for _, c := range []struct {
		role string
		want []uint64
	}{{"close", nil}, {"exit", []uint64{1}}, {"crash", []uint64{1}}} {
		t.Run(c.role, func(t *testing.T) {
			path := newPath(t)
			child(t, c.role, path, false)
			records, note := reopen(t, path)
			want(t, records, c.want...)
			if note != "" {
				t.Errorf("note %q", note)
			}
		})
	}
}

// Killed at any instruction, every record that is reported is whole.
func TestKilledAnywhere(t *testing.T) {
	path := newPath(t)
	seen := 0
	for range 25 {
		child(t, "churn", path, true)
		records, note := reopen(t, path)
		if note != "" {
			t.Errorf("note %q", note)
		}
		if len(records) > workers {
			t.Errorf("%d records of %d workers", len(records), workers)
		}
		seen += len(records)
		var turns []uint64
		for _, r := range records {
			n, whole := number(r)
			if !whole {
				t.Fatalf("a mixture was reported: %+v", r)
			}
			turns = append(turns, n%workers)
		}
		if slices.Sort(turns); len(slices.Compact(turns)) != len(records) {
			t.Errorf("two records of one worker: %v", turns)
		}
	}
	if seen == 0 {
		t.Error("nothing was ever in flight: the test proves nothing")
	}
}

func TestLocked(t *testing.T) {
	path := newPath(t)
	j, _ := open(t, path, 1)
	_, _, err := journal.Open(path, 1)
	if !errors.Is(err, journal.ErrInUse) {
		t.Fatalf("second Open = %v, want ErrInUse", err)
	}
	for _, say := range []string{path, fmt.Sprintf("pid %d", os.Getpid())} {
		if !strings.Contains(err.Error(), say) {
			t.Errorf("%q does not mention %q", err, say)
		}
	}
	if err := j.Close(); err != nil {
		t.Fatal(err)
	}
	open(t, path, 1)
}

// Stragglers after Close neither fault nor write into a successor's file.
func TestStragglers(t *testing.T) {
	path := newPath(t)
	j, _ := open(t, path, 4)
	stop := make(chan struct{})
	var wg sync.WaitGroup
	for w := range 4 {
		wg.Go(func() {
			for n := uint64(0); ; n++ {
				select {
				case <-stop:
					j.Begin(w, record(n)) // and never ends
					return
				default:
					j.Begin(w, record(n))
					j.End(w)
				}
			}
		})
	}
	if err := j.Close(); err != nil {
		t.Fatal(err)
	}
	if err := j.Close(); err != nil {
		t.Errorf("second Close = %v", err)
	}
	before, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	close(stop)
	wg.Wait()
	after, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if string(before) != string(after) {
		t.Error("the file changed after Close")
	}
}

func TestSlotsOutOfRange(t *testing.T) {
	path := newPath(t)
	j, _ := open(t, path, 2)
	for _, slot := range []int{-1, 2, 1 << 40, -1 << 62} {
		j.Begin(slot, record(1))
		j.End(slot)
	}
	for _, slots := range []int{-1, journal.MaxSlots + 1} {
		if _, _, err := journal.Open(newPath(t), slots); err == nil {
			t.Errorf("%d slots were accepted", slots)
		}
	}
}

func TestUnreadableFileIsMovedAside(t *testing.T) {
	for name, content := range map[string]string{
		"garbage": strings.Repeat("store: sqlite:bezoar.db\n", 1000), "short": "x", "zeros": strings.Repeat("\x00", 8192),
	} {
		t.Run(name, func(t *testing.T) {
			path := newPath(t)
			if err := os.WriteFile(path, []byte(content), 0o600); err != nil {
				t.Fatal(err)
			}
			j, records := open(t, path, 4)
			want(t, records)
			if !strings.Contains(j.Note(), "not a journal") || !strings.Contains(j.Note(), path+".unreadable") {
				t.Errorf("note %q", j.Note())
			}
			aside, err := os.ReadFile(path + ".unreadable")
			if err != nil || string(aside) != content {
				t.Errorf("what was there is lost: %v", err)
			}
			if err := j.Close(); err != nil {
				t.Fatal(err)
			}
			child(t, "hold", path, true) // and it works
			records, note := reopen(t, path)
			want(t, records, 1, 3)
			if note != "" {
				t.Errorf("note %q", note)
			}
		})
	}
}

// What can be read of a damaged journal is read.
func TestDamage(t *testing.T) {
	const header, slot = 4096, 64
	for name, c := range map[string]struct {
		damage func([]byte) []byte
		want   []uint64
		note   string
	}{
		"truncated":      {func(b []byte) []byte { return b[:header+20*slot+17] }, []uint64{1}, "bytes of slots"},
		"torn slot":      {func(b []byte) []byte { b[header+10*slot+40]++; return b }, []uint64{3}, "1 damaged slots"},
		"stale slot":     {func(b []byte) []byte { b[header+30*slot]++; return b }, []uint64{1}, "1 damaged slots"},
		"header":         {func(b []byte) []byte { b[12]++; return b }, nil, "beginning was damaged"},
		"header cut off": {func(b []byte) []byte { return b[:100] }, nil, "beginning was damaged"},
		"grown":          {func(b []byte) []byte { return append(b, 1, 2, 3) }, []uint64{1, 3}, "bytes of slots"},
	} {
		t.Run(name, func(t *testing.T) {
			path := newPath(t)
			child(t, "hold", path, true)
			content, err := os.ReadFile(path)
			if err != nil {
				t.Fatal(err)
			}
			if err := os.WriteFile(path, c.damage(content), 0o600); err != nil {
				t.Fatal(err)
			}
			records, note := reopen(t, path)
			want(t, records, c.want...)
			if !strings.Contains(note, c.note) {
				t.Errorf("note %q, want %q", note, c.note)
			}
		})
	}
}

func TestOpenExplains(t *testing.T) {
	nowhere := filepath.Join(t.TempDir(), "nowhere", "bezoar.journal")
	_, _, err := journal.Open(nowhere, 1)
	if err == nil || !strings.Contains(err.Error(), nowhere) || !strings.Contains(err.Error(), "create it first") {
		t.Errorf("Open = %v", err)
	}
	if _, _, err := journal.Open(t.TempDir(), 1); err == nil {
		t.Error("a folder was accepted")
	}
}

func TestFileIsPrivateAndSmall(t *testing.T) {
	path := newPath(t)
	open(t, path, 0)
	info, err := os.Stat(path)
	if err != nil {
		t.Fatal(err)
	}
	if info.Mode().Perm() != 0o600 || info.Size() != 4096+64*journal.DefaultSlots {
		t.Errorf("mode %o, %d bytes", info.Mode().Perm(), info.Size())
	}
}

// A journal that is dropped takes its mapping along; the slots in use do not.
func TestMappingIsReleased(t *testing.T) {
	path := newPath(t)
	mapped := func() int {
		maps, err := os.ReadFile("/proc/self/maps")
		if err != nil {
			t.Skip("no /proc to look into")
		}
		return strings.Count(string(maps), path)
	}
	func() {
		j, _, err := journal.Open(path, 16)
		if err != nil {
			t.Fatal(err)
		}
		j.Begin(0, record(1))
		if mapped() == 0 {
			t.Error("the file is not mapped")
		}
	}()
	for range 100 {
		if runtime.GC(); mapped() == 0 {
			return
		}
		runtime.Gosched()
	}
	t.Error("the mapping outlives its journal")
}

func TestNoAllocations(t *testing.T) {
	j, _ := open(t, newPath(t), 16)
	r := journal.Record{Fingerprint: bezoar.Fingerprint{1}, Start: time.Now()}
	if n := testing.AllocsPerRun(1000, func() {
		j.Begin(3, r)
		j.End(3)
	}); n != 0 {
		t.Errorf("%v allocations for Begin and End", n)
	}
}

func BenchmarkBeginEnd(b *testing.B) {
	for _, dir := range []string{b.TempDir(), "/dev/shm"} {
		b.Run(filepath.Base(dir), func(b *testing.B) {
			path := filepath.Join(dir, fmt.Sprintf("bezoar-bench-%d.journal", os.Getpid()))
			j, _, err := journal.Open(path, 0)
			if err != nil {
				b.Fatal(err)
			}
			defer func() {
				if err := errors.Join(j.Close(), os.Remove(path)); err != nil {
					b.Error(err)
				}
			}()
			r := record(7)
			b.ReportAllocs()
			slot := 0
			for b.Loop() {
				slot = (slot + 1) % journal.DefaultSlots
				j.Begin(slot, r)
				j.End(slot)
			}
		})
	}
}
