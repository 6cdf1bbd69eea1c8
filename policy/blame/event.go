package blame

import (
	"time"

	"github.com/bezoar-dev/bezoar"
)

// EventKind says what the state decided.
type EventKind uint8

// The kinds of events.
const (
	EpochEnded      EventKind = iota // a worker's life ended; Evidence says how
	Suspect                          // work came under suspicion
	Pardoned                         // a suspect ran clean in the lane
	Convicted                        // quarantined
	Probed                           // a quarantine has run out: one copy tries the lane
	Released                         // no longer held
	MadeConditional                  // pinned to the lane
	GroupLaned                       // a shape's or client's unproven work runs in the lane
	GateClosed                       // convictions are suspended
	GateOpened                       // convictions count again
	Refunded                         // a conviction was taken back
	Dropped                          // a verdict expired or made room
	RecoveryBegan                    // half of the workers have died: only a few unproven requests run in the fleet at a time
	RecoveryEnded                    // it runs as usual
)

// String returns the kind's stable name.
func (k EventKind) String() string {
	return [...]string{
		"epoch-ended", "suspect", "pardoned", "convicted", "probed", "released",
		"conditional", "group-laned", "gate-closed", "gate-opened", "refunded", "dropped",
		"recovery-began", "recovery-ended",
	}[k]
}

// Event is one decision, for persistence, logs and people.
type Event struct {
	Kind     EventKind
	At       time.Time
	Verdict  bezoar.Verdict  // what it was decided about; zero for epochs and the gate
	Evidence bezoar.Evidence // of the death that led to it; zero when none did
	Planned  bool            // of EpochEnded and GateClosed: ordered, not found
	Strikes  bool            // of GateClosed: for attempts that failed while their workers lived
}

// maxEvents bounds what is held between two drains; beyond it the oldest go.
const maxEvents = 1 << 16

func (state *State) emit(e Event) {
	if len(state.events) >= maxEvents {
		state.events = state.events[1:]
	}
	state.events = append(state.events, e)
}

func (state *State) emitCase(k EventKind, now int64, i uint32, ev *bezoar.Evidence) {
	e := Event{Kind: k, At: time.Unix(0, now), Verdict: state.verdictOf(i)}
	if ev != nil {
		e.Evidence = *ev
	}
	state.emit(e)
}

// Drain appends the decisions made since the last call to dst, oldest first.
func (state *State) Drain(dst []Event) []Event {
	dst = append(dst, state.events...)
	clear(state.events)
	state.events = state.events[:0]
	if cap(state.events) > 1024 {
		state.events = nil // a burst's room is not kept
	}
	return dst
}

// Pending reports whether there is anything to drain.
func (state *State) Pending() bool { return len(state.events) > 0 }
