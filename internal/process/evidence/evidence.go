package evidence

import (
	"cmp"
	"strings"
	"time"

	"github.com/bezoar-dev/bezoar"
	"github.com/bezoar-dev/bezoar/crash"
	"github.com/bezoar-dev/bezoar/internal/process/child"
)

// Apart is over which time failures with less to go by than a frame of the user's
// own must repeat themselves: a blip is no verdict.
const Apart = 30 * time.Second

// Failure is what is known of one that failed.
type Failure struct {
	Class       bezoar.Class
	Fingerprint string        // strict
	Group       string        // without line and build
	Quality     crash.Quality // "": nothing was found
	Votes       int           // how often the same one is enough; 0: however often
	Span        time.Duration // over which time
	Reason      string        // for people
}

// OfChild says what failed in a child process that neither ended well nor was
// interrupted, or why there was none.
func OfChild(c *child.Result, command string) Failure {
	f := Failure{Class: c.Class, Reason: c.Detail}
	e := crash.Ending{Kind: crash.Exited, Code: c.ExitCode, Signal: c.Signal, Command: command, Detail: c.Detail}
	switch {
	case c.Class == bezoar.Timeout:
		e.Kind = crash.TimedOut
	case c.Class == bezoar.SpawnFailed:
		e.Kind = crash.NotStarted
	case c.Class == bezoar.OOM:
		e.Kind = crash.OutOfMemory
	case c.Signal != "":
		e.Kind = crash.Signaled
	}
	said := c.Report != nil && c.Report.Class != ""
	if c.Report != nil {
		e.Failure = c.Report.Failure
	}
	well := e.Kind == crash.Exited && e.Code <= 0 // a report of a run that exited well, or of a pool's child that lives
	if well {
		e.Code = 1
	}
	output := make([]byte, 0, len(c.Stdout)+1+len(c.Stderr))
	output = append(append(append(output, c.Stdout...), '\n'), c.Stderr...)
	found := crash.OfRun(output, e)
	f.Add(found)
	switch {
	case well && found.Quality == crash.Exit, c.ExitCode <= 0 && c.ReportErr != nil: // there is no such exit status; or what it said is wrong
		f.Reason = c.Detail
	case e.Kind == crash.TimedOut && found.Quality == crash.Exit && c.Detail != "": // after how long
		f.Reason = c.Detail
	}
	if said {
		f.Class = c.Class
	}
	return f
}

// OfPanic says what a panic that was caught means: alone, it would have killed the
// process.
func OfPanic(value any, stack []byte) Failure {
	f := Failure{Class: bezoar.Crash}
	f.Add(crash.FromPanic(value, stack))
	return f
}

// Add takes in what a failure's analysis says. What it is not sure of, or what
// somebody saw, it does not change.
func (f *Failure) Add(rep crash.Report) {
	f.Fingerprint, f.Group, f.Quality, f.Votes = rep.Fingerprint, rep.Group, rep.Quality, crash.Votes(rep.Quality)
	if rep.Quality != crash.Own {
		f.Span = Apart
	}
	switch rep.Class {
	case bezoar.Transient, bezoar.Throttled, bezoar.Outage:
		if f.Class == bezoar.Bug || f.Class == bezoar.Transient {
			f.Class = rep.Class
		}
	default:
	}
	if line := sentence(rep); line != "" {
		f.Reason = line
	}
}

// sentence is a failure in one line, for people.
func sentence(rep crash.Report) string {
	var parts []string
	message := rep.Message
	message = cmp.Or(message, rep.Reason)
	for _, part := range []string{rep.Type, message} {
		if part != "" && (len(parts) == 0 || parts[0] != part) {
			parts = append(parts, part)
		}
	}
	line := strings.Join(parts, ": ")
	if at := rep.Frame.String(); at != "" {
		line += " at " + at
	}
	return line
}
