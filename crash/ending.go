package crash

import (
	"cmp"
	"fmt"
	"strconv"
	"strings"

	"github.com/bezoar-dev/bezoar"
)

// EndKind says why a process ended.
type EndKind uint8

// The kinds of ends.
const (
	Exited      EndKind = iota // by itself, with Code
	Signaled                   // by Signal, which nobody of ours sent
	OutOfMemory                // killed for memory, as its own cgroup counted
	TimedOut                   // stopped by us, overdue
	Canceled                   // stopped by us, for a drain or because nobody waits any more
	NotStarted                 // never ran
	Lost                       // nobody knows: its machine or keeper went away
)

// String returns the kind's stable name.
func (k EndKind) String() string {
	if names := [...]string{"exit", "signal", "oom", "timeout", "canceled", "spawn", "lost"}; int(k) < len(names) {
		return names[k]
	}
	return fmt.Sprintf("end(%d)", uint8(k))
}

// Ending says how a process ended, as its supervisor saw it.
type Ending struct {
	Kind EndKind
	// Code is the exit code. 128 + n of a shell counts as signal n.
	Code int
	// Signal is a name (SIGSEGV), a number, or the text of the system (segmentation
	// fault).
	Signal string
	// Command is the command that ran. Its base name tells failures apart that have
	// nothing else.
	Command string
	// Detail says why the process could not be started.
	Detail string
	// Failure is the name that the program itself gives to its failure. It goes before
	// everything that is read from the output.
	Failure string
}

// OfRun reports what failed in a run of a program that printed output and ended as e says.
// A kill by Bezoar, or by the kernel for memory, goes before everything printed. A trace
// goes before a signal, and a signal before words that name no failure. A run that exited
// with 0 is bezoar.Done.
func OfRun(output []byte, e Ending) Report {
	p := Parser{table: languages()}
	return p.OfRun(output, e)
}

// OfRun is the function OfRun with the Config of p.
func (p *Parser) OfRun(output []byte, e Ending) Report {
	e = e.unified()
	if e.Kind == Exited && e.Code == 0 {
		return Report{Class: bezoar.Done}
	}
	why := []string{"the process ended: " + e.what()}
	c, ok := e.known()
	if !ok {
		read, steps, err := p.read(piecesOf(output))
		why = append(why, steps...)
		c = e.join(read, err == nil)
	}
	r := c.report(why)
	r.Class = e.class(r.Class)
	r.Why[len(r.Why)-1] = "quality " + string(r.Quality) + ", class " + r.Class.String()
	return r
}

// unified names signals in one way, and takes a shell's exit code for the
// signal that it stands for: bash gives both for one crash.
func (e Ending) unified() Ending {
	if e.Kind == Exited && e.Code > 128 {
		if name := signalName(strconv.Itoa(e.Code - 128)); name != "" {
			e.Kind, e.Signal = Signaled, name
		}
	}
	if name := signalName(e.Signal); name != "" {
		e.Signal = name
	}
	return e
}

// what is the end in a few words; it is the Type of a failure without others.
func (e Ending) what() string {
	switch e.Kind {
	case Exited:
		return "exit status " + strconv.Itoa(e.Code)
	case Signaled:
		return cmp.Or(e.Signal, "signal")
	}
	return e.Kind.String()
}

// known returns what needs no reading: the program's own word, and ends that
// override whatever was printed.
func (e Ending) known() (choice, bool) {
	switch {
	case e.Failure != "" && e.Kind != TimedOut && e.Kind != Canceled:
		return choice{typ: e.Failure, kind: e.Failure, cause: "told", quality: Own, rests: Own, told: true}, true
	case e.Kind == TimedOut, e.Kind == Canceled, e.Kind == Lost:
		return e.bare(), true
	case e.Kind == NotStarted:
		c := e.bare()
		c.message = e.Detail
		c.quality, c.rests = Message, Message
		return c, true
	}
	return choice{}, false
}

// bare is a failure of which only the end is known.
func (e Ending) bare() choice {
	return choice{
		typ: e.what(), kind: e.what(), cause: e.Kind.String() + " " + base(e.Command),
		quality: Exit, rests: Exit,
	}
}

// join brings what was read together with how the process ended.
func (e Ending) join(read choice, ok bool) choice {
	switch {
	case !ok:
		return e.bare()
	case e.Kind == OutOfMemory:
		if read.lang == nil {
			return e.bare()
		}
		read.cause = e.Kind.String()
		return read
	case e.Kind == Signaled && read.lang == nil && !read.telling:
		c := e.bare() // the last words of a program that crashes are about something else
		c.message = read.message
		return c
	case e.Kind == Signaled && read.lang == nil:
		read.typ, read.kind = e.what(), e.what()
		read.cause = e.Kind.String() + " " + base(e.Command)
	}
	return read
}

// class is the class of a run of which the output says read.
func (e Ending) class(read bezoar.Class) bezoar.Class {
	switch e.Kind {
	case OutOfMemory:
		return bezoar.OOM
	case TimedOut:
		return bezoar.Timeout
	case Canceled, Lost:
		return bezoar.Interrupted
	case NotStarted:
		return bezoar.SpawnFailed
	case Signaled:
		if read == bezoar.OOM {
			return read
		}
		if e.Signal == "SIGXCPU" {
			return bezoar.Timeout
		}
		return bezoar.Crash
	}
	switch e.Code {
	case 75: // EX_TEMPFAIL
		if read == bezoar.Throttled || read == bezoar.Outage {
			return read
		}
		return bezoar.Transient
	case 65: // EX_DATAERR
		return bezoar.Invalid
	}
	return read
}

// signalName returns SIGSEGV for "11", "SIGSEGV", "segv" and "segmentation
// fault (core dumped)"; "" for what is no signal that ends a process.
func signalName(s string) string {
	s = strings.TrimSpace(strings.TrimPrefix(strings.ToLower(s), "signal: "))
	s, _, _ = strings.Cut(s, " (core dumped)")
	for _, sig := range [...]struct{ number, name, text string }{
		{"1", "SIGHUP", "hangup"},
		{"2", "SIGINT", "interrupt"},
		{"3", "SIGQUIT", "quit"},
		{"4", "SIGILL", "illegal instruction"},
		{"5", "SIGTRAP", "trace/breakpoint trap"},
		{"6", "SIGABRT", "aborted"},
		{"7", "SIGBUS", "bus error"},
		{"8", "SIGFPE", "floating point exception"},
		{"9", "SIGKILL", "killed"},
		{"10", "SIGUSR1", "user defined signal 1"},
		{"11", "SIGSEGV", "segmentation fault"},
		{"12", "SIGUSR2", "user defined signal 2"},
		{"13", "SIGPIPE", "broken pipe"},
		{"14", "SIGALRM", "alarm clock"},
		{"15", "SIGTERM", "terminated"},
		{"24", "SIGXCPU", "cpu time limit exceeded"},
		{"25", "SIGXFSZ", "file size limit exceeded"},
		{"31", "SIGSYS", "bad system call"},
	} {
		if s == sig.number || strings.EqualFold(s, sig.name) || strings.EqualFold("sig"+s, sig.name) || s == sig.text {
			return sig.name
		}
	}
	return ""
}

// Votes returns how many identical failures of a quality make a finding: two with a frame
// of the own code of the user, three of other qualities. Those of quality B and C must
// also lie apart in time, so that a short outage makes no finding. For Exit it returns 0:
// an exit code alone never makes one.
func Votes(q Quality) int {
	switch q {
	case Own:
		return 2
	case Library, Message:
		return 3
	}
	return 0
}
