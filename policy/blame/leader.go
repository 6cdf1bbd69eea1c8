package blame

import (
	"time"

	"github.com/bezoar-dev/bezoar"
)

// setLeader makes ticket i the one that unproven copies wait for, or one of those
// that need not wait: the leader has been streaming its answer for a while. An
// answer may still kill its worker late, so copies join in waves that double.
func (state *State) setLeader(i uint32) {
	tk := &state.tickets[i]
	old, ok := state.leaders[tk.work.Fingerprint]
	if ok {
		first := &state.tickets[old]
		if first.room > 0 {
			first.room--
			return
		}
		first.leader = false
		tk.wave = min(first.wave+1, 15)
		tk.room = 1<<tk.wave - 1
	}
	tk.leader = true
	state.leaders[tk.work.Fingerprint] = i
}

// mustWait reports whether unproven work must wait for a copy that goes first.
func (state *State) mustWait(now int64, fp bezoar.Fingerprint) bool {
	i, ok := state.leaders[fp]
	return ok && state.tickets[i].room == 0 && !state.begunLongAgo(now, i)
}

// begunGrace is how long an answer must have been streaming before copies stop
// waiting for its end: it has not killed its worker so far.
const begunGrace = time.Second

func (state *State) begunLongAgo(now int64, i uint32) bool {
	at := state.tickets[i].begunAt
	return at != 0 && now-at >= int64(begunGrace)
}
