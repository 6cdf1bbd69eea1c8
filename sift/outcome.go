package sift

import (
	"cmp"
	"fmt"
	"io"
	"math"
	"time"

	"github.com/bezoar-dev/bezoar"
)

// Outcome is how a run ended.
type Outcome struct {
	Class   bezoar.Class // Done: all rows are finished, but for those in Rows
	Failure Failure
	// Rows are those that the run itself blames, counted from 0 within the
	// batch. They are taken out at once, and the rest is run unless it is Done.
	Rows       []Fault
	RetryAfter time.Duration // of a transient failure: not before
	Elapsed    time.Duration
	// Output is what the run wrote, for Finish. It is closed in every case; nil
	// for nothing.
	Output io.ReadCloser
}

// Fault is a row that a run blames.
type Fault struct {
	Index  int
	Reason string
}

// Failure says what failed, for telling failures apart and for people.
type Failure struct {
	Type        string `json:"type,omitempty"` // exception, signal, exit status
	Frame       Frame  `json:"frame,omitzero"`
	Reason      string `json:"reason,omitempty"`
	Fingerprint string `json:"fingerprint,omitempty"` // strict: the same for the same failure; "" if not known
	Group       string `json:"group,omitempty"`
	Quality     string `json:"quality,omitempty"` // A and B know the place, C words only, D not even them
	Detail      string `json:"detail,omitempty"`  // how the process ended
	Stderr      string `json:"stderr,omitempty"`  // the end of it
}

// Frame is where it failed.
type Frame struct {
	File     string `json:"file"`
	Line     int    `json:"line"`
	Function string `json:"function"`
}

// String is the frame as compilers write it; "" for none.
func (f Frame) String() string {
	text := f.File
	if f.File != "" && f.Line > 0 {
		text += fmt.Sprintf(":%d", f.Line)
	}
	switch {
	case f.Function == "":
		return text
	case text == "":
		return f.Function
	}
	return text + " (" + f.Function + ")"
}

// String is the failure in one line.
func (f Failure) String() string {
	text := f.Type
	if f.Reason != "" && f.Reason != text {
		if text != "" {
			text += ": "
		}
		text += f.Reason
	}
	text = cmp.Or(text, f.Detail)
	if at := f.Frame.String(); at != "" {
		text += " at " + at
	}
	return text
}

// Letter is a guilty row.
type Letter struct {
	Row      int          `json:"row"` // counted from 0
	Class    bezoar.Class `json:"class"`
	Failure  Failure      `json:"failure"`
	Runs     int          `json:"runs"`               // failed runs that it was in
	Reported bool         `json:"reported,omitempty"` // a run named it; otherwise it failed alone
}

// Together is a failure that no row makes alone.
type Together struct {
	Rows    Span // they failed together
	Class   bezoar.Class
	Failure Failure
	Size    bool // they took too long together, which is no fault
}

// Progress is how far things are.
type Progress struct {
	Rows     int // in all
	Done     int // finished
	Letters  int // set aside
	Suspects int // in runs that failed, not yet judged
	Runs     int
	Failed   int // of them
}

// Summary is what came of it.
type Summary struct {
	Rows     int
	Done     int // finished by this Run
	Before   int // finished or set aside before
	Letters  int // set aside by this Run
	Runs     int
	Failed   int // of them
	Retries  int // of runs that failed for now, among Runs
	Batches  int // that rows were handed out in
	Together []Together
	// TogetherMore is how many more of those there were.
	TogetherMore int
}

// Bound is the most runs that bisection takes to find k rows of n: k·log2(n).
func Bound(n, k int) float64 {
	if n < 2 {
		return float64(k)
	}
	return float64(k) * math.Log2(float64(n))
}

// Overhead is what comes on top: a run for each batch; for each of k rows the
// failed run of what was left, the run alone, and the runs until pieces are
// large again; the two that ask whether it is the command, and what they cut.
func Overhead(k, batches int) int {
	if k == 0 {
		return batches
	}
	return batches + 6*k + 4
}

// failed reports a run that did not finish its rows.
func (o Outcome) failed() bool { return o.Class != bezoar.Done }

// transient reports a failure that says nothing about rows.
func (o Outcome) transient() bool {
	switch o.Class {
	case bezoar.Transient, bezoar.Throttled, bezoar.Outage, bezoar.Interrupted:
		return true
	default:
		return false
	}
}

// alike reports whether two runs failed of the same. Where nobody knows the place
// it failed at, words do not tell failures apart: they may be about the row.
func alike(a, b Outcome) bool {
	if a.Class != b.Class || !a.failed() {
		return false
	}
	if a.Failure.placed() || b.Failure.placed() {
		return a.Failure.Fingerprint == b.Failure.Fingerprint
	}
	return a.Failure.Detail == b.Failure.Detail
}

// placed reports a fingerprint that rests on a place.
func (f Failure) placed() bool {
	return f.Fingerprint != "" && f.Quality != "C" && f.Quality != "D"
}

// CommandError says that it is the command and not the data.
type CommandError struct {
	Class   bezoar.Class
	Failure Failure
	Tried   []int // the single rows, from different places, that failed alike
	Empty   bool  // it fails without any row
}

func (e *CommandError) Error() string {
	how := "without any row, too"
	if !e.Empty {
		how = fmt.Sprintf("with rows %d and %d alone", e.Tried[0]+1, e.Tried[len(e.Tried)-1]+1)
	}
	return fmt.Sprintf("it is the command, not the data: it fails alike %s (%s, %s)", how, e.Class, e.Failure)
}

// OutageError says that runs fail for now, with rows from everywhere.
type OutageError struct {
	Class    bezoar.Class
	Failure  Failure
	Attempts int
}

func (e *OutageError) Error() string {
	return fmt.Sprintf("it is not the data: rows from everywhere fail for now, after %[2]d attempts still (%[1]s, %[3]s)", e.Class, e.Attempts, e.Failure)
}

// StartError says that the command cannot be started.
type StartError struct{ Failure Failure }

func (e *StartError) Error() string { return "the command cannot be started: " + e.Failure.String() }

// LettersError says that more rows are bad than may be.
type LettersError struct{ Max int }

func (e *LettersError) Error() string {
	return fmt.Sprintf("more than %d rows are bad", e.Max)
}
