package crash

import (
	"testing"

	"github.com/bezoar-dev/bezoar"
)

const tracedPython = "Traceback (most recent call last):\n  File \"/app/jobs/report.py\", line 12, in render\n    rows[0]\nIndexError: list index out of range\n"

func TestOfRun(t *testing.T) {
	for _, c := range []struct {
		name    string
		output  string
		end     Ending
		class   bezoar.Class
		typ     string
		quality Quality
	}{
		{"success", "boom", Ending{}, bezoar.Done, "", ""},
		{"trace", tracedPython, Ending{Code: 1}, bezoar.Bug, "IndexError", Own},
		{"trace and temporary", tracedPython, Ending{Code: 75}, bezoar.Transient, "IndexError", Own},
		{"trace and bad data", tracedPython, Ending{Code: 65}, bezoar.Invalid, "IndexError", Own},
		{"trace and our kill", tracedPython, Ending{Kind: TimedOut}, bezoar.Timeout, "timeout", Exit},
		{"trace and a drain", tracedPython, Ending{Kind: Canceled}, bezoar.Interrupted, "canceled", Exit},
		{"trace and oom", tracedPython, Ending{Kind: OutOfMemory}, bezoar.OOM, "IndexError", Own},
		{"trace and signal", tracedPython, Ending{Kind: Signaled, Signal: "SIGABRT"}, bezoar.Crash, "IndexError", Own},
		{"signal", "did 3 of 7\n", Ending{Kind: Signaled, Signal: "segmentation fault"}, bezoar.Crash, "SIGSEGV", Exit},
		{"signal and words", "fatal: heap broken at 0x7fff1200\n", Ending{Kind: Signaled, Signal: "11"}, bezoar.Crash, "SIGSEGV", Message},
		{"shell's code for a signal", "did 3 of 7\n", Ending{Code: 139}, bezoar.Crash, "SIGSEGV", Exit},
		{"silence", "", Ending{Code: 3}, bezoar.Bug, "exit status 3", Exit},
		{"processor limit", "", Ending{Kind: Signaled, Signal: "SIGXCPU"}, bezoar.Timeout, "SIGXCPU", Exit},
		{"oom in silence", "", Ending{Kind: OutOfMemory}, bezoar.OOM, "oom", Exit},
		{"not started", "", Ending{Kind: NotStarted, Detail: "exec ./x: no such file"}, bezoar.SpawnFailed, "spawn", Message},
		{"lost", tracedPython, Ending{Kind: Lost}, bezoar.Interrupted, "lost", Exit},
		{"told", tracedPython, Ending{Code: 1, Failure: "no-such-report"}, bezoar.Bug, "no-such-report", Own},
		{"refused", "dial tcp 10.0.0.7:5432: connect: connection refused\n", Ending{Code: 1}, bezoar.Outage, "", Message},
	} {
		t.Run(c.name, func(t *testing.T) {
			r := OfRun([]byte(c.output), c.end)
			if r.Class != c.class || r.Type != c.typ || r.Quality != c.quality {
				t.Errorf("got %v %q %q, want %v %q %q\n%q", r.Class, r.Type, r.Quality, c.class, c.typ, c.quality, r.Why)
			}
			if c.class != bezoar.Done && (len(r.Fingerprint) != 32 || len(r.Group) != 32) {
				t.Errorf("fingerprint %q and group %q, want 32 digits each", r.Fingerprint, r.Group)
			}
		})
	}
}

func TestOfRunTellsEndsApart(t *testing.T) {
	group := func(output string, e Ending) string { return OfRun([]byte(output), e).Group }
	shell, kernel := Ending{Code: 139, Command: "/a/resize"}, Ending{Kind: Signaled, Signal: "SIGSEGV", Command: "/b/resize"}
	if group("", shell) != group("", kernel) {
		t.Error("a shell's 139 and SIGSEGV are one crash")
	}
	if group("", kernel) == group("", Ending{Kind: Signaled, Signal: "SIGSEGV", Command: "rotate"}) {
		t.Error("two programs that crash in silence are two failures")
	}
	if group("", Ending{Code: 1}) == group("", Ending{Code: 2}) {
		t.Error("two exit codes are two failures")
	}
	read, err := ParseBytes([]byte(tracedPython))
	if err != nil || group(tracedPython, Ending{Code: 1}) != read.Group {
		t.Errorf("an exit code does not change the group of a trace (%v)", err)
	}
	if group(tracedPython, Ending{Kind: OutOfMemory}) == read.Group {
		t.Error("out of memory in a trace is not the trace's failure")
	}
	if group("", Ending{Failure: "x"}) == group("", Ending{Code: 1, Failure: "y"}) {
		t.Error("what the program tells must enter the group")
	}
}

func TestVotes(t *testing.T) {
	for q, want := range map[Quality]int{Own: 2, Library: 3, Message: 3, Exit: 0, "": 0} {
		if got := Votes(q); got != want {
			t.Errorf("Votes(%q) = %d, want %d", q, got, want)
		}
	}
}
