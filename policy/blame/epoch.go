package blame

import (
	"time"

	"github.com/bezoar-dev/bezoar"
)

// maxAbandoned is how many abandoned attempts an epoch remembers. The caller hung
// up, but the worker may still be at it.
const maxAbandoned = 8

// abandonedFor is how long after the caller left a crash may still be its doing.
const abandonedFor = 5 * time.Second

type epoch struct {
	id            uint64
	head          uint32 // first ticket in flight, or none
	inFlight      int
	answered      int64 // latest start among the attempts that were answered
	heard         int64 // when it last answered
	looked        int64 // when a look last found it well
	gap           int64 // the usual time between two answers; 0: it is not known
	answers       answers
	firsts        map[bezoar.Fingerprint]int64 // when it first answered what, since deaths go unexplained; bounded
	novel         map[uint64]novelty           // features that no worker is known to have outlived
	abandoned     [maxAbandoned]abandonedAttempt
	nextAbandoned int
}

type abandonedAttempt struct {
	work    Work
	started int64
	left    int64
	overdue int64
	prior   float32
	begun   bool
	lane    bool
}

func (e *epoch) addAbandoned(g abandonedAttempt) {
	e.abandoned[e.nextAbandoned%maxAbandoned] = g
	e.nextAbandoned++
}

// OpenEpoch says that a worker has begun a new life. Ids are never reused.
func (state *State) OpenEpoch(id uint64) {
	if _, ok := state.byEpoch[id]; ok {
		return
	}
	var i uint32
	if n := len(state.freeEpochs); n > 0 {
		i = state.freeEpochs[n-1]
		state.freeEpochs = state.freeEpochs[:n-1]
	} else {
		state.epochs = append(state.epochs, epoch{})
		i = uint32(len(state.epochs) - 1)
	}
	state.epochs[i] = epoch{id: id, head: none, gap: state.gap, answers: answers{all: state.epochs[i].answers.all[:0]}}
	state.byEpoch[id] = i
}

func (state *State) link(t, e uint32) {
	ep, tk := &state.epochs[e], &state.tickets[t]
	tk.epoch, tk.prev, tk.next = e, none, ep.head
	if ep.head != none {
		state.tickets[ep.head].prev = t
	}
	ep.head = t
	ep.inFlight++
}

func (state *State) unlink(t uint32) {
	tk := &state.tickets[t]
	ep := &state.epochs[tk.epoch]
	if tk.prev != none {
		state.tickets[tk.prev].next = tk.next
	} else {
		ep.head = tk.next
	}
	if tk.next != none {
		state.tickets[tk.next].prev = tk.prev
	}
	tk.epoch = none
	ep.inFlight--
}
