package blame

import (
	"time"

	"github.com/bezoar-dev/bezoar"
)

// duplicates is what runs of one unproven fingerprint at a time. The first goes
// alone. What follows an answer may still kill its worker, so that the others
// follow in numbers that double.
type duplicates struct {
	running  uint32
	begun    int64  // when the first answer of those that run began; 0 not yet
	answered int64  // when the first answer was complete; 0 not yet
	waited   bool   // somebody had to wait: what is known is kept a little longer
	first    uint32 // the ticket of one that runs, beside which others may run; none
	last     uint32 // … of the one that joined last; none
}

// doubling is how long it takes until twice as many duplicates may run, counted
// from the first answer.
const doubling = 50 * time.Millisecond

// begunGrace is how long an answer must have been streaming before copies stop
// waiting for its end: it has not killed its worker so far.
const begunGrace = time.Second

// duplicatesKept is how long the first answer is remembered when nothing of the
// fingerprint runs any more, and somebody had to wait.
const duplicatesKept = 2 * time.Second

// lead counts ticket i among the running duplicates of its work.
func (state *State) lead(i uint32) {
	tk := &state.tickets[i]
	d := state.leaders[tk.work.Fingerprint]
	if d.running == 0 {
		d.begun, d.first = 0, i
	}
	d.last = i
	d.running++
	state.leading++
	tk.leader = true
	state.leaders[tk.work.Fingerprint] = d
}

// led ends what lead began.
func (state *State) led(i uint32) {
	fp := state.tickets[i].work.Fingerprint
	d := state.leaders[fp]
	state.leading--
	if d.last == i {
		d.last = none
	}
	if d.first == i {
		d.first = d.last
	}
	if d.running--; d.running == 0 && !(d.waited && d.answered != 0) {
		delete(state.leaders, fp)
		return
	}
	state.leaders[fp] = d
}

// leadBegun notes the first answer of duplicates that begins.
func (state *State) leadBegun(now int64, fp bezoar.Fingerprint) {
	if d, ok := state.leaders[fp]; ok && d.begun == 0 {
		d.begun = now
		state.leaders[fp] = d
	}
}

// leadAnswered notes the first answer among duplicates.
func (state *State) leadAnswered(now int64, fp bezoar.Fingerprint) {
	if d, ok := state.leaders[fp]; ok && d.answered == 0 {
		d.answered = now
		state.leaders[fp] = d
	}
}

// mustWait reports whether unproven work must wait for copies that go first, and
// when asking again makes sense, if nothing ends before. begun says that an answer of
// these copies has begun and none is complete.
func (state *State) mustWait(now int64, fp bezoar.Fingerprint) (until int64, begun, wait bool) {
	d, ok := state.leaders[fp]
	if !ok || d.running == 0 {
		return 0, false, false
	}
	if d.answered != 0 {
		// A call may come with the time at which it began to wait: before the answer.
		if most := uint32(1) << min(20, max(0, now-d.answered)/int64(doubling)); d.running < most {
			return 0, false, false
		}
		until = now + int64(doubling)
	} else if d.begun != 0 {
		if until = d.begun + int64(begunGrace); now >= until {
			return 0, false, false
		}
	}
	if !d.waited {
		d.waited = true
		state.leaders[fp] = d
	}
	return until, d.answered == 0 && d.begun != 0, true
}

// forgetDuplicates drops what is only kept for those who waited.
func (state *State) forgetDuplicates(now int64) {
	for fp, d := range state.leaders {
		if d.running == 0 && now-d.answered > int64(duplicatesKept) {
			delete(state.leaders, fp)
		}
	}
}

// endedWell reports whether the work of a caller who has hung up counts as answered:
// it was a stream that its worker has outlived for as long as any other answer, and
// that only its caller can end.
func (state *State) endedWell(now int64, tk *ticket) bool {
	return tk.begunAt != 0 && now-tk.begunAt >= max(int64(begunGrace), state.window(now))
}

func (state *State) begunLongAgo(now int64, i uint32) bool {
	at := state.tickets[i].begunAt
	return at != 0 && now-at >= int64(begunGrace)
}
