package blame

import (
	"math"
	"slices"
	"time"

	"github.com/bezoar-dev/bezoar"
)

// Bounds of what a silent worker tells.
const (
	gapSamples  = 32 // answers that the usual gap between two is averaged over
	gapsSilent  = 20 // such gaps without an answer after which a worker counts as silent
	gapsFaded   = 4  // … in which the weight of what came later halves
	leastWeight = 1.0 / 256
	leastSilent = 500 * time.Millisecond
	leastFade   = 100 * time.Millisecond
)

// heard notes an answer of e: when it was, and how long after the one before.
func (state *State) heard(now int64, e *epoch) {
	if e.heard != 0 {
		gap := min(now-e.heard, int64(10*time.Second))
		e.gap += (gap - e.gap) / gapSamples
		state.gap += (e.gap - state.gap) / gapSamples
	}
	e.heard = now
}

// silence is how a worker that hung fell silent. What hangs a whole worker started before
// it fell silent; what was sent to it after that only waited there.
type silence struct {
	since int64 // the first start after the last answer; 0: there was no silence
	gap   int64 // the usual time between two answers; 0: it is not known
}

// silenceOf returns how e fell silent, if it died of that.
func (state *State) silenceOf(e *epoch, class bezoar.Class) (s silence) {
	if class != bezoar.Timeout {
		return silence{}
	}
	first := int64(math.MaxInt64)
	for t := e.head; t != none; t = state.tickets[t].next {
		if at := state.tickets[t].started; at > e.heard {
			first = min(first, at)
		}
	}
	for i := range e.abandoned {
		if at := e.abandoned[i].started; at > e.heard {
			first = min(first, at)
		}
	}
	if first == math.MaxInt64 {
		return silence{}
	}
	return silence{since: first, gap: e.gap}
}

// weight is the part of its weight that work has which started then.
func (s *silence) weight(started int64) float64 {
	if s.since == 0 || s.gap == 0 || started <= s.since {
		return 1
	}
	fade := max(int64(leastFade), gapsFaded*s.gap)
	return max(leastWeight, math.Exp2(-float64(started-s.since)/float64(fade)))
}

// bystander reports whether work came so late that the worker had been silent for far
// longer than usual: it did not hang it.
func (s *silence) bystander(started int64) bool {
	return s.since != 0 && s.gap != 0 && started-s.since > max(int64(leastSilent), gapsSilent*s.gap)
}

// Silent says that the worker of an epoch answers neither its work nor a look at it, or does
// again.
func (state *State) Silent(now time.Time, id uint64, mute bool) {
	i, ok := state.byEpoch[id]
	if !ok || slices.Contains(state.mutes, i) == mute {
		return
	}
	if !mute {
		state.mutes = slices.DeleteFunc(state.mutes, func(m uint32) bool { return m == i })
		return
	}
	if state.mutes = append(state.mutes, i); len(state.mutes) == 1 {
		state.muted = now.UnixNano()
	}
}

// silenced reports whether a worker has fallen silent with work like this: a copy of it, or
// unproven work of the same caller. A caller who is known to be a good one, or not known at all, may be many, so that
// of their work only new variants of what is there count. It will be known only at a deadline whether it hangs.
// Until then more of this may do the same to others, so that it runs apart. s is the record of its fingerprint: of one that runs well,
// only variants that have yet to be used successfully count.
func (state *State) silenced(now int64, v *view, s float64) (apart, overflow bool) {
	w, second := v.Work, state.second(now)
	known := s >= provenEnough
	if known && (w.Traits == nil || state.proven.successes(w.variant(), second) >= provenEnough) {
		return false, false
	}
	need := 1 // silent workers with unproven work of its caller
	if g := state.groups.find(w.Client); g != nil {
		g.touch(second)
		switch {
		case g.established():
			need = 0
		case g.ran >= groupSeen && g.ratio() >= 0.97:
			need = 2 // it may have been there by chance
		}
	}
	if w.Client.IsZero() {
		need = 0
	}
	if need == 0 && !known {
		return false, false // copies of what is unproven wait for one another
	}
	overflow = known && state.unsure(now)
	good := need == 0
	for _, i := range state.mutes {
		like, own, kin := state.silencedBy(&state.epochs[i], w, second, known)
		if own {
			need--
		}
		switch {
		case like, own && need == 0:
			return true, overflow
		case kin && good:
			return !state.familiar(now, v), overflow && !state.learnt(now)
		}
	}
	return false, false
}

// familiar reports whether requests with each feature of the work have been answered: what hangs a worker has been
// answered never. Of a large fleet it looks at some.
func (state *State) familiar(now int64, v *view) bool {
	const enough = 64
	for _, f := range state.look(v) {
		known := state.outlivedFeature(now, f)
		for i := 0; !known && i < min(len(state.epochs), enough); i++ {
			_, known = state.epochs[i].novel[f]
		}
		if !known {
			return false
		}
	}
	return true
}

// silencedBy reports whether a copy of w, or unproven work of its caller, may have silenced e. kin says that such work is a
// variant of the same fingerprint, whether its caller is known or not.
func (state *State) silencedBy(e *epoch, w *Work, second uint32, known bool) (like, own, kin bool) {
	quiet := state.silenceOf(e, bezoar.Timeout)
	for t := e.head; t != none; t = state.tickets[t].next {
		tk := &state.tickets[t]
		if tk.work.Exempt || quiet.bystander(tk.started) {
			continue
		}
		mine := !w.Client.IsZero() && tk.work.Client == w.Client
		if !known {
			own = own || mine && 1/float64(tk.prior)-2 < provenEnough
			continue
		}
		if !mine && tk.work.Fingerprint != w.Fingerprint || tk.work.Traits == nil && tk.work.Variant.IsZero() {
			continue
		}
		v := tk.work.variant()
		like = like || v == w.Variant
		if tk.work.Client == w.Client && state.proven.successes(v, second) < provenEnough {
			own, kin = own || mine, kin || tk.work.Fingerprint == w.Fingerprint
		}
	}
	return like, own, kin
}

// waitsInVain reports whether the copies that w would wait for are other variants, on workers
// that have fallen silent. One of them may hang its worker, and w need not.
func (state *State) waitsInVain(w *Work) bool {
	running := state.leaders[w.Fingerprint].running
	for _, i := range state.mutes {
		for t := state.epochs[i].head; t != none; t = state.tickets[t].next {
			tk := &state.tickets[t]
			if !tk.leader || tk.work.Fingerprint != w.Fingerprint {
				continue
			}
			if tk.work.variant() == w.variant() {
				return false
			}
			running--
		}
	}
	return running == 0
}

// unsure reports whether workers have fallen silent so lately that the variants of what runs
// well are not known yet: they are counted only since then.
func (state *State) unsure(now int64) bool {
	return now-state.muted < int64(time.Second)+max(0, state.window(now))
}
