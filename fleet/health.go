package fleet

import (
	"time"

	"github.com/bezoar-dev/bezoar/policy/balance"
)

// Opinion is what a [Judgement] says.
type Opinion string

// The opinions.
const (
	Sick     Opinion = "sick"     // its health checks fail
	Well     Opinion = "well"     // and succeed again
	Ejected  Opinion = "ejected"  // its answers make it an outlier
	Returned Opinion = "returned" // its time out is over
	Panic    Opinion = "panic"    // too few workers look well: opinions are distrusted
	Calm     Opinion = "calm"     // they are believed again
)

// Judgement is a change of opinion about a worker or, with an empty Worker, the
// fleet.
type Judgement struct {
	Worker  string
	Epoch   uint64
	Opinion Opinion
	Detail  string    // for people
	Until   time.Time // of Ejected
}

// Observe tells how one attempt on w went. Tell it once per attempt.
func (f *Fleet) Observe(w *Worker, o balance.Outcome) {}

// Sick says that the health checks of an epoch fail. It reports whether the
// worker is held out now: in panic it is not.
func (f *Fleet) Sick(worker string, epoch uint64, why string) (out bool) { return false }

// Well takes back Sick.
func (f *Fleet) Well(worker string, epoch uint64) {}

// Panic reports whether opinions about workers are distrusted now, so that
// everyone who is up gets traffic.
func (f *Fleet) Panic() bool { return false }
