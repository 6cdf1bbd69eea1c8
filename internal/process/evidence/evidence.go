package evidence

import (
	"cmp"
	"strings"
	"time"

	"github.com/bezoar-dev/bezoar"
	"github.com/bezoar-dev/bezoar/crash"
	"github.com/bezoar-dev/bezoar/internal/process/child"
)

// Apart is the least time over which failures must repeat if their evidence is weaker than a frame of the user's own code:
// a short outage proves nothing about a message.
const Apart = 30 * time.Second

// Failure is the evidence of one failure.
type Failure struct {
	Class       bezoar.Class
	Fingerprint string        // strict fingerprint
	Group       string        // without line and build
	Quality     crash.Quality // "": no evidence was found
	Votes       int           // how often in a row the same failure must occur; 0: never enough
	Span        time.Duration // least time between the first and the last of them
	Reason      string        // for people
}

// OfChild returns the evidence for a child process that failed and was not interrupted, or that did not start.
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
	well := e.Kind == crash.Exited && e.Code <= 0 // a report of a run that exited with 0, or of a pool's live child
	if well {
		e.Code = 1
	}
	output := make([]byte, 0, len(c.Stdout)+1+len(c.Stderr))
	output = append(append(append(output, c.Stdout...), '\n'), c.Stderr...)
	found := crash.OfRun(output, e)
	f.Add(found)
	switch {
	case well && found.Quality == crash.Exit, c.ExitCode <= 0 && c.ReportErr != nil: // no exit status can be evidence, or the report is invalid
		f.Reason = c.Detail
	case e.Kind == crash.TimedOut && found.Quality == crash.Exit && c.Detail != "": // after how long
		f.Reason = c.Detail
	}
	if said {
		f.Class = c.Class
	}
	return f
}

// OfPanic returns the evidence of a caught panic, which would have killed a process of its own.
func OfPanic(value any, stack []byte) Failure {
	f := Failure{Class: bezoar.Crash}
	f.Add(crash.FromPanic(value, stack))
	return f
}

// Add adds the results of a failure's analysis. Uncertain results do not replace evidence that was observed.
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
	if line := Sentence(rep); line != "" {
		f.Reason = line
	}
}

// Sentence describes a failure in one line.
func Sentence(rep crash.Report) string {
	var parts []string
	message := rep.Message
	message = cmp.Or(message, rep.Reason)
	kind := rep.Type
	if strings.HasPrefix(message, kind+":") { // words without a trace begin with the type
		kind = ""
	}
	for _, part := range []string{kind, message} {
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
