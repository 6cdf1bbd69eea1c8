package supervise

import (
	"fmt"
	"io"
	"strings"
	"syscall"
	"testing"
	"unicode"
	"unicode/utf8"

	"pgregory.net/rapid"

	"github.com/bezoar-dev/bezoar/internal/process/proc"
)

// Wait statuses as the kernel writes them.
func exited(code int) syscall.WaitStatus               { return syscall.WaitStatus(code << 8) }
func signalled(sig syscall.Signal) syscall.WaitStatus  { return syscall.WaitStatus(sig) }
func coreDumped(sig syscall.Signal) syscall.WaitStatus { return syscall.WaitStatus(sig) | 0x80 }

func TestJudge(t *testing.T) {
	for _, c := range []struct {
		name string
		d    death
		want string // class, or planned
		text string
	}{
		{"stopped", death{ready: true, asked: toStop, why: "shut down", status: exited(0)}, "planned", "shut down: exit code 0"},
		{"stopped, died of it", death{ready: true, asked: toStop, why: "shut down", status: coreDumped(syscall.SIGSEGV)}, "planned", "core dumped"},
		{"stopped before ready", death{asked: toStop, why: "shut down", status: signalled(syscall.SIGTERM)}, "planned", "shut down"},
		{"hung", death{ready: true, asked: toBeShort, why: "overdue", status: signalled(syscall.SIGKILL)}, "timeout", "killed: overdue"},
		{"hung, but crashed first", death{ready: true, asked: toBeShort, why: "overdue", status: signalled(syscall.SIGSEGV)}, "crash", "segmentation fault"},
		{"too much memory", death{ready: true, asked: toFit, why: "300 MiB resident", memory: 256 << 20, status: signalled(syscall.SIGKILL)}, "oom", "killed: 300 MiB resident (out of memory, limit 256 MiB)"},
		{"too much memory before ready", death{asked: toFit, why: "300 MiB resident", status: signalled(syscall.SIGKILL)}, "spawn-failed", "300 MiB"},
		{"never ready", death{asked: toBeShort, why: "too slow", status: signalled(syscall.SIGKILL)}, "spawn-failed", "too slow"},
		{"exit before ready", death{status: exited(1)}, "spawn-failed", "before it was ready: exit code 1"},
		{"stopped by somebody before ready", death{status: signalled(syscall.SIGTERM)}, "spawn-failed", "terminated"},
		{"SIGSEGV", death{ready: true, status: coreDumped(syscall.SIGSEGV)}, "crash", "signal: segmentation fault (core dumped)"},
		{"SIGSEGV under a shell", death{ready: true, status: exited(139)}, "crash", "exit code 139 (as shells report SIGSEGV)"},
		{"exit 0", death{ready: true, status: exited(0)}, "crash", "exit code 0"},
		{"exit 0, announced", death{ready: true, announced: true, status: exited(0)}, "planned", "announced"},
		{"exit 1, announced", death{ready: true, announced: true, status: exited(1)}, "crash", "exit code 1"},
		{"SIGHUP", death{ready: true, status: signalled(syscall.SIGHUP)}, "planned", "hangup"},
		{"exit 129", death{ready: true, status: exited(129)}, "planned", "129"},
		{"SIGKILL", death{ready: true, status: signalled(syscall.SIGKILL)}, "crash", "signal: killed"},
		{"SIGKILL counted", death{ready: true, oomKill: true, memory: 256 << 20, status: signalled(syscall.SIGKILL)}, "oom", "signal: killed (out of memory, limit 256 MiB)"},
		{"SIGKILL counted under a shell", death{ready: true, oomKill: true, status: exited(137)}, "oom", "(out of memory)"},
		{"counted, but died otherwise", death{ready: true, oomKill: true, status: exited(1)}, "crash", "exit code 1"},
		{"Go", words("runtime: out of memory: cannot allocate 4194304-byte block"), "oom", "out of memory"},
		{"Go, fatal", words("fatal error: runtime: out of memory"), "oom", "out of memory"},
		{"Python", words("MemoryError"), "oom", "out of memory"},
		{"Node", words("FATAL ERROR: Reached heap limit Allocation failed - JavaScript heap out of memory"), "oom", "out of memory"},
		{"C", words("sh: fork: Cannot allocate memory"), "oom", "out of memory"},
		{"words about it, exit 0", death{ready: true, status: exited(0), stderr: []string{"MemoryError"}}, "crash", "exit code 0"},
		{"another's words", words("raise NotMemoryError"), "crash", "exit code 1"},
	} {
		end := judge(c.d)
		got := end.Class.String()
		if end.Planned {
			got = "planned"
		}
		if got != c.want || !strings.Contains(end.Detail, c.text) {
			t.Errorf("%s: %s, %q; want %s, %q", c.name, got, end.Detail, c.want, c.text)
		}
		if (end.ExitCode >= 0) != c.d.status.Exited() {
			t.Errorf("%s: exit code %d", c.name, end.ExitCode)
		}
	}
}

func words(l string) death { return death{ready: true, status: exited(1), stderr: []string{l}} }

func TestTailKeepsTheEnd(t *testing.T) {
	var tl tail
	if got := tl.lines(); len(got) != 0 {
		t.Errorf("an empty tail has %q", got)
	}
	for i := range 100 {
		tl.add(fmt.Appendf(nil, "line %d", i))
	}
	got := tl.lines()
	if len(got) != tailLines || got[0] != "line 80" || got[19] != "line 99" {
		t.Errorf("lines = %q", got)
	}
}

// A Go dump of many stacks must not push the panic out.
func TestTailKeepsWhereTheReportBegan(t *testing.T) {
	var tl tail
	tl.add([]byte("panic: recovered long ago"))
	for i := range 50 {
		tl.add(fmt.Appendf(nil, "busy %d", i))
	}
	tl.add([]byte("runtime: out of memory: cannot allocate"))
	tl.add([]byte("fatal error: out of memory"))
	for i := range 500 {
		tl.add(fmt.Appendf(nil, "frame %d", i))
	}
	got := tl.lines()
	if len(got) != tailLines || got[0] != "runtime: out of memory: cannot allocate" || got[1] != "fatal error: out of memory" ||
		got[headLines] != "…" || got[tailLines-1] != "frame 499" {
		t.Errorf("lines = %q", got)
	}
	if !proc.RanOutOfMemory(got) {
		t.Error("the cause is lost")
	}
	// Close to the end it is there anyway, and once.
	tl.add([]byte("panic: last"))
	tl.add([]byte("goroutine 1 [running]:"))
	if got := tl.lines(); len(got) != tailLines || strings.Count(fmt.Sprint(got), "panic: last") != 1 || got[tailLines-1] != "goroutine 1 [running]:" {
		t.Errorf("lines = %q", got)
	}
}

func TestTailProperties(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		var tl tail
		all := rapid.SliceOfN(rapid.SampledFrom([]string{"a", "panic: b", "SIGSEGV", "c", "", strings.Repeat("é", 400)}), 0, 90).Draw(t, "lines")
		for _, l := range all {
			tl.add([]byte(l))
		}
		got := tl.lines()
		if len(got) > tailLines || len(got) < min(len(all), tailLines-headLines) {
			t.Fatalf("%d lines of %d", len(got), len(all))
		}
		for i := range min(len(got), len(all), tailLines-headLines-1) { // the newest are always there
			if want := string(clip([]byte(all[len(all)-1-i]))); got[len(got)-1-i] != want {
				t.Fatalf("line %d from the end is %q, want %q", i, got[len(got)-1-i], want)
			}
		}
	})
}

func TestPlain(t *testing.T) {
	for in, want := range map[string]string{
		"plain\ttext":               "plain\ttext",
		"\x1b[31mred\x1b[0m":        "red",
		"\x1b]0;title\a and \x1b[K": "]0;title and ",
		"bad \xff byte":             "bad \uFFFD byte",
		"cut \x1b[":                 "cut ",
		"a\x00b\rc":                 "abc",
	} {
		if got := plain([]byte(in)); got != want {
			t.Errorf("plain(%q) = %q, want %q", in, got, want)
		}
	}
}

func FuzzPlain(f *testing.F) {
	f.Add([]byte("\x1b[31mred\x1b[0m"))
	f.Add([]byte("\x1b[\x1b[1;2\xff"))
	f.Fuzz(func(t *testing.T, b []byte) {
		got := plain(clip(b))
		if !utf8.ValidString(got) || strings.ContainsFunc(got, func(r rune) bool { return r != '\t' && unicode.IsControl(r) }) {
			t.Errorf("plain(%q) = %q", b, got)
		}
	})
}

func TestPump(t *testing.T) {
	long := strings.Repeat("x", 3*MaxLine)
	for _, c := range []struct{ in, want string }{
		{"", "[]"},
		{"a\nb\r\n\nc", `["a" "b" "" "c"]`},
		{long + "\nnext\n", fmt.Sprintf("[%q %q]", long[:MaxLine]+string(cutMark), "next")},
		{long, fmt.Sprintf("[%q]", long[:MaxLine]+string(cutMark))},
	} {
		var got []string
		pump(iotest{strings.NewReader(c.in)}, func(l []byte) { got = append(got, string(l)) })
		if s := fmt.Sprintf("%q", got); s != c.want {
			t.Errorf("pump(%.40q) = %.200s, want %.200s", c.in, s, c.want)
		}
	}
}

// iotest hands out a few bytes at a time.
type iotest struct{ r io.Reader }

func (r iotest) Read(p []byte) (int, error) { return r.r.Read(p[:min(len(p), 7)]) }

func TestValidateJoinsEveryFault(t *testing.T) {
	err := Config{
		Name: "a b", Replicas: -1, Memory: 1, Env: []string{"=x", "PASSWORD"}, Grace: -1, Drain: -1,
		Health: Health{Path: "x", Interval: -1, Timeout: -1, StartTimeout: -1},
	}.Validate()
	for _, want := range []string{
		"name is", "command is", "replicas is", "memory is", "registry is", "env[0]", "env[1]", "grace is", "drain is",
		"health.path", "health.interval", "health.timeout", "health.start_timeout",
	} {
		if !strings.Contains(fmt.Sprint(err), want) {
			t.Errorf("Validate does not name %q: %v", want, err)
		}
	}
	if strings.Contains(fmt.Sprint(err), "PASSWORD") {
		t.Errorf("Validate shows the environment: %v", err)
	}
	if err := (Config{Name: "w", Command: []string{"x"}, Registry: newRecorder()}).Validate(); err != nil {
		t.Errorf("a config with only what is required: %v", err)
	}
	if _, err := New(Config{}); err == nil {
		t.Error("New takes an empty config")
	}
}
