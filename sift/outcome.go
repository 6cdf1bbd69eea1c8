package sift

import (
	"cmp"
	"fmt"
	"io"
	"math"
	"strings"
	"time"

	"github.com/bezoar-dev/bezoar"
)

// Outcome says how a run ended.
type Outcome struct {
	Class   bezoar.Class // Done: all rows are finished except those in Rows
	Failure Failure
	// Rows are rows that the run itself blames, counted from 0 within the batch. They are
	// set aside at once. The others run again unless the class is Done.
	Rows       []Fault
	RetryAfter time.Duration // after a transient failure: wait at least this long
	Elapsed    time.Duration
	// Output is what the run wrote, for Finish. It is always closed; nil if there is none.
	Output io.ReadCloser
}

// Fault is a row that a run blames.
type Fault struct {
	Index  int
	Reason string
}

// Failure says what failed. It tells failures apart, and people read it.
type Failure struct {
	Type        string `json:"type,omitempty"` // exception, signal, exit status
	Frame       Frame  `json:"frame,omitzero"`
	Reason      string `json:"reason,omitempty"`
	Fingerprint string `json:"fingerprint,omitempty"` // strict: the same for the same failure; "" if unknown
	Group       string `json:"group,omitempty"`
	Quality     string `json:"quality,omitempty"` // A and B know the place, C only words, D neither
	Detail      string `json:"detail,omitempty"`  // how the process ended
	Stderr      string `json:"stderr,omitempty"`  // the end of it
}

// Frame is the place of a failure.
type Frame struct {
	File     string `json:"file"`
	Line     int    `json:"line"`
	Function string `json:"function"`
}

// String returns the frame as compilers write it; "" for none.
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

// String returns the failure as one line.
func (f Failure) String() string {
	text := f.Type
	if strings.HasPrefix(f.Reason, text+":") { // words without a trace begin with the type
		text = ""
	}
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
	Runs     int          `json:"runs"`               // failed runs with this row
	Reported bool         `json:"reported,omitempty"` // a run named the row; otherwise it failed alone
}

// Together is a failure that no row causes alone.
type Together struct {
	Rows    Span // they failed together
	Class   bezoar.Class
	Failure Failure
	Size    bool // they took too long together, which is no fault of a row
}

// Progress says how far the work is.
type Progress struct {
	Rows     int // total
	Done     int // finished
	Letters  int // set aside
	Suspects int // in failed runs and not yet judged
	Runs     int
	Failed   int // of them
}

// Summary is the result of Run.
type Summary struct {
	Rows     int
	Done     int // finished by this Run
	Before   int // finished or set aside before
	Letters  int // set aside by this Run
	Runs     int
	Failed   int // of them
	Retries  int // runs that were repeated after a transient failure; part of Runs
	Batches  int // number of batches
	Together []Together
	// TogetherMore is the number of further ones, beyond MaxTogether.
	TogetherMore int
}

// Bound returns the most runs that bisection takes to find k rows of n: k·log2(n).
func Bound(n, k int) float64 {
	if n < 2 {
		return float64(k)
	}
	return float64(k) * math.Log2(float64(n))
}

// Overhead returns the runs beyond Bound: one for each batch; for each of k rows the
// failed run of the remaining rows, the run alone, and the runs until pieces are large
// again; and the two that check whether the command is the cause, with the pieces that
// they split.
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

// CommandError means that the command is at fault and not the data.
type CommandError struct {
	Class   bezoar.Class
	Failure Failure
	Tried   []int // the single rows, from different places, that failed in the same way
	Empty   bool  // it fails without any row
}

func (e *CommandError) Error() string {
	how := "without any row, too"
	if !e.Empty {
		how = fmt.Sprintf("with rows %d and %d alone", e.Tried[0]+1, e.Tried[len(e.Tried)-1]+1)
	}
	return fmt.Sprintf("it is the command, not the data: it fails alike %s (%s, %s)", how, e.Class, e.Failure)
}

// OutageError means that runs fail transiently with rows from different places.
type OutageError struct {
	Class    bezoar.Class
	Failure  Failure
	Attempts int
}

func (e *OutageError) Error() string {
	return fmt.Sprintf("it is not the data: rows from everywhere fail for now, after %[2]d attempts still (%[1]s, %[3]s)", e.Class, e.Attempts, e.Failure)
}

// StartError means that the command cannot be started.
type StartError struct{ Failure Failure }

func (e *StartError) Error() string { return "the command cannot be started: " + e.Failure.String() }

// LettersError means that more rows are bad than allowed.
type LettersError struct{ Max int }

func (e *LettersError) Error() string {
	return fmt.Sprintf("more than %d rows are bad", e.Max)
}
