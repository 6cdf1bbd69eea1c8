package blame

import (
	"time"

	"github.com/bezoar-dev/bezoar"
)

// Work is one piece of work as the state sees it.
type Work struct {
	Fingerprint bezoar.Fingerprint
	Shape       bezoar.Fingerprint // zero: no shape is watched
	Client      bezoar.Fingerprint // zero: no client is watched
	Endpoint    bezoar.Fingerprint // what its shape is one of; zero: Traits are asked when it matters
	Variant     bezoar.Fingerprint // what it is convicted by; zero: Traits are asked when it matters
	Traits      Traits             // nil: its variant is its fingerprint, and it has no features
	Rule        *Rule              // nil means Config.Rule; complete, and never changed
	Exempt      bool               // takes its share of a crash, but nothing is held against it
	Waited      bool               // it has been held back for as long as may be: it is not again
}

// Action is where admitted work goes.
type Action uint8

// The actions.
const (
	ToFleet   Action = iota // any worker
	ToCanary                // any worker, one set apart for unseen shapes first
	ToLane                  // alone in the lane
	Duplicate               // an unproven copy is in flight: wait for it, ask again
	Refuse                  // quarantined
	Pace                    // what it belongs to has killed: it runs later
	HoldBack                // most of the fleet has just died, and nothing speaks for it: ask again, it is not refused
)

// Cause says which rule made a [Decision].
type Cause uint8

// The causes.
const (
	ByDefault Cause = iota
	BySuspicion
	ByProbe
	ByCondition
	ByShape
	ByClient
	ByFingerprint // another variant of its fingerprint has killed, and none has succeeded since
	ByFeature     // it has something that only killers have
	ByVerdict
	ByFeatureVerdict
	ByShapeVerdict // by an operator's order
	BySilence      // a worker has fallen silent with unproven work of its caller, of whom little is known
)

// Decision answers [State.Admit].
type Decision struct {
	Action Action
	Cause  Cause
	// Would is what would have been decided of work whose rule only reports; ToFleet
	// when that is the same.
	Would Action
	// Manual says that an operator has ordered the Refuse.
	Manual bool
	// Score orders the lane: highest first.
	Score float64
	// Largest is the work's largest share of the blame for one death.
	Largest float64
	// Overflow allows the fleet when the lane is full: its shape mostly succeeds.
	Overflow bool
	// Proven says that the work has succeeded often enough to share a batch.
	Proven bool
	// Until is when a Refuse ends at the earliest, and when to ask again after a
	// Pace, a HoldBack or a Duplicate; zero for a Duplicate when only an end will tell.
	Until time.Time
	// Begun says of a Duplicate that the answer of the copy that it waits for has begun
	// and is not complete, as a stream's.
	Begun bool
	// Window is how long the lane's worker must be left alone after the answer, so
	// that its death can be told to be this work's doing. Zero: not at all.
	Window time.Duration
	// Clean asks for a decisive run: alone, on a worker on which nothing else was
	// answered for Quiet.
	Clean bool
	Quiet time.Duration
	// Beside narrows a ToFleet to the worker that has this epoch, on which copies of the work run: it
	// may cost no further worker. 0: any worker.
	Beside uint64
}

// Ticket is the hold that one piece of work has on the state.
type Ticket uint32

// Result says how one attempt ended without the end of its epoch.
type Result uint8

// The results.
const (
	Survived  Result = iota // the worker answered, whatever it answered
	Unsent                  // not a byte left: as if it had not been
	Faulted                 // the connection broke, the worker lives
	TimedOut                // no answer by the deadline, the worker lives
	Abandoned               // the caller hung up; counts as Survived if the answer began long before
)

// Finding is what a crash left on a ticket.
type Finding struct {
	Share     float64
	Score     float64 // of the fingerprint, after the crash
	Convicted bool
	Gated     bool // convictions are suspended
	Planned   bool // the epoch's end blames nobody
	Company   bool // it died in the lane with others, or after others: nobody is convicted for it
	Alone     bool // of those the more likely ones: it is to run alone next
	Free      bool // its share was so small that the attempt does not count
}
