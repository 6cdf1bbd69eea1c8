package blame

import (
	"math"
	"slices"
	"time"

	"github.com/bezoar-dev/bezoar"
)

// accusedKey tells pieces of work apart.
type accusedKey struct {
	fp     bezoar.Fingerprint
	exempt bool
}

// accuse collects what was in flight on e and takes it off the epoch. flight is
// the number of attempts among them.
func (state *State) accuse(now int64, e *epoch, planned bool, class bezoar.Class) (acc []accused, flight int) {
	acc = make([]accused, 0, e.inFlight)
	clear(state.merge)
	crowd := state.unsettled(now, e) > 1
	silent := state.silenceOf(e, class)
	for t := e.head; t != none; t = e.head {
		tk := &state.tickets[t]
		state.unlink(t)
		tk.next = none
		if tk.started > now && !planned {
			// It was sent when the worker had died already.
			state.found(t, Finding{Planned: true})
			continue
		}
		flight++
		tk.work.variant()
		prior := state.doubt(now, &tk.work, float64(tk.prior))
		weight := prior * state.hazard(now, tk.started, tk.overdue, class)
		stream := state.streams(now, tk)
		switch {
		case class == bezoar.Timeout:
			weight *= silent.weight(tk.started)
		case tk.lane && crowd:
			weight = prior * staggered(now-tk.started)
		case stream:
			weight = prior * streamWeight
		}
		i := state.accuseOne(&acc, accused{
			ticket: none, work: tk.work, features: tk.features, lane: tk.lane, crowd: crowd, stream: stream, group: tk.group, prior: prior, bystander: silent.bystander(tk.started),
			record: state.knownFor(now, &tk.work, 1/float64(tk.prior)-2), weight: weight,
		})
		tk.features = nil // the accused keep them
		tk.next, acc[i].ticket = acc[i].ticket, t
	}
	if planned {
		return acc, flight
	}
	for i := range e.abandoned {
		g := &e.abandoned[i]
		if g.started == 0 || !state.mayHaveKilled(now, g, e, class) {
			continue
		}
		flight++
		state.accuseOne(&acc, accused{
			ticket: none, group: none, work: g.work, lane: g.lane, prior: float64(g.prior), record: 1/float64(g.prior) - 2,
			weight: float64(g.prior) * state.hazard(now, g.started, g.overdue, class) * g.likelihood(now, class) * silent.weight(g.started),
		})
	}
	state.accuseAnswered(&acc, now, e)
	return acc, flight
}

// streamWeight is the weight of an answer that has been streaming for longer than the
// window: it has not killed so far.
const streamWeight = 0.25

// streams reports whether the answer to tk has been streaming for longer than the window.
func (state *State) streams(now int64, tk *ticket) bool {
	return tk.begunAt != 0 && now-tk.begunAt >= max(int64(state.cfg.Window), int64(settledStream))
}

// settledStream is how long an answer must have been streaming at least.
const settledStream = 500 * time.Millisecond

// unsettled counts what is in flight on e and does not stream.
func (state *State) unsettled(now int64, e *epoch) (n int) {
	for t := e.head; t != none; t = state.tickets[t].next {
		if !state.streams(now, &state.tickets[t]) {
			n++
		}
	}
	return n
}

// Streams counts by epoch what has been streaming its answer for longer than the
// window.
func (state *State) Streams(now time.Time) map[uint64]int {
	out := map[uint64]int{}
	for id, i := range state.byEpoch {
		e := &state.epochs[i]
		if n := e.inFlight - state.unsettled(now.UnixNano(), e); n > 0 {
			out[id] = n
		}
	}
	return out
}

// accuseAnswered adds what was answered within the window and does not count as a
// success yet: its success is revoked. Work hardly ever kills after its answer, and
// all that was answered would hide what does kill. So only what was answered shortly
// before an earlier death, too, and whose worker has never outlived its answer, is
// accused. While deaths go unexplained, it is what was answered before one of them, and
// has killed every worker since.
func (state *State) accuseAnswered(acc *[]accused, now int64, e *epoch) {
	w := state.window(now)
	careful := state.careful(now)
	for i := range e.answers.all { // the latest first: of equal shares they are looked at first
		a := e.answers.nth(len(e.answers.all) - 1 - i)
		if i == 0 && !a.work.Exempt && state.leavesTraps(&a.work, *acc) {
			if a.work.Variant.IsZero() {
				a.work.Variant = a.work.Fingerprint
			}
			state.accuseOne(acc, accused{
				ticket: none, group: none, work: a.work, features: a.features, lane: a.lane, late: true, started: a.started, prior: 0.5, weight: trapWeight,
			})
			continue
		}
		if now-a.at > w || a.counted && !careful || a.work.Exempt {
			continue
		}
		watched := a.lane && state.isWatched(&a.work, a.features)
		if !careful && !watched && (state.record(now, &a.work) >= provenEnough || !state.isNear(now, a.work.Fingerprint)) {
			continue
		}
		sharp := state.sharp(now, a.work.Variant)
		if state.runsWell(now, &a.work) || careful && !watched && !sharp && state.vouched(now, &a.work) {
			continue
		}
		elsewhere, outlived := state.answeredElsewhere(now, e, now-a.at, a.work.same)
		if outlived && !careful {
			continue
		}
		if a.work.Variant.IsZero() {
			a.work.Variant = a.work.Fingerprint // its traits are gone
		}
		weight := lateness(now-a.at, w)
		switch {
		case sharp:
			weight = lateWeight * math.Exp2(mostEvidence)
		case careful:
			weight = lateWeight * math.Exp2(float64(min(state.evidence(now, a.work.Fingerprint), mostEvidence)-1))
		case elsewhere:
			weight /= 5
		}
		state.accuseOne(acc, accused{
			ticket: none, group: none, work: a.work, features: a.features, lane: a.lane, late: true, started: a.started, prior: 0.5, weight: weight,
		})
	}
}

// vouched reports whether work that was answered is not suspected for deaths that go unexplained: it is popular, was not
// there before, or a worker has outlived it.
func (state *State) vouched(now int64, w *Work) bool {
	return state.proven.successes(w.Fingerprint, state.second(now)) >= provenPopular ||
		state.evidence(now, w.Fingerprint) == 0 || state.harmless(now, w.Fingerprint)
}

// answeredElsewhere reports whether workers that live have answered such work, too, and
// whether one of them has outlived that twice as long as the one that died did. What is
// asked for everywhere is answered shortly before any death.
func (state *State) answeredElsewhere(now int64, dead *epoch, lag int64, such func(w *Work) bool) (elsewhere, outlived bool) {
	least := 2*lag + int64(20*time.Millisecond)
	for _, i := range state.byEpoch {
		e := &state.epochs[i]
		if e == dead {
			continue
		}
		for j := range e.answers.all {
			a := &e.answers.all[j]
			if !such(&a.work) {
				continue
			}
			elsewhere = true
			if now-a.at >= least {
				return true, true
			}
		}
	}
	return elsewhere, false
}

// same reports whether o is the same work, as far as their variants are known.
func (w *Work) same(o *Work) bool {
	return w.Fingerprint == o.Fingerprint && (w.Variant == o.Variant || w.Variant.IsZero() || o.Variant.IsZero())
}

// runsWell reports whether so much speaks for answered work that it is not accused:
// its fingerprint is popular, and its variant, where it is known, has succeeded too.
func (state *State) runsWell(now int64, w *Work) bool {
	second := state.second(now)
	return state.proven.successes(w.Fingerprint, second) >= provenPopular &&
		(w.Variant.IsZero() || w.whole() || state.proven.successes(w.Variant, second) >= provenWell)
}

// before lists the different work that an epoch has answered lately, for the
// statistics of deaths that nothing explains.
func (state *State) before(now int64, e *epoch, within int64) []Work {
	if state.cfg.Window < 0 {
		return nil
	}
	var out []Work
	for i := range e.answers.all {
		a := e.answers.nth(i)
		if now-a.at <= within && !a.work.Exempt &&
			!slices.ContainsFunc(out, func(w Work) bool { return w.Fingerprint == a.work.Fingerprint }) {
			out = append(out, a.work)
		}
	}
	return out
}

// doubt is the prior that work in flight is the killer. Neither a popular address
// nor a good caller alone speaks for it: a new caller of a popular address is
// unknown.
func (state *State) doubt(now int64, w *Work, prior float64) float64 {
	if w.Client.IsZero() {
		return prior
	}
	s := 0.0
	if g := state.groups.find(w.Client); g != nil {
		g.touch(state.second(now))
		s = g.ran
	}
	return max(prior, 1/(s+2))
}

// knownFor is how many of the record successes of work speak for it: no more than its
// caller has. Work of a caller who is not known, or has killed, speaks for itself.
func (state *State) knownFor(now int64, w *Work, record float64) float64 {
	if w.Client.IsZero() {
		return record
	}
	g := state.groups.find(w.Client)
	if g == nil || g.state != unheld {
		return 0
	}
	g.touch(state.second(now))
	return min(record, g.ran)
}

// accuseOne adds a to acc, or to the copy of its work that is there.
func (state *State) accuseOne(acc *[]accused, a accused) int {
	key := accusedKey{a.work.Variant, a.work.Exempt}
	if a.work.Variant.IsZero() {
		key.fp = a.work.Fingerprint
	}
	i, ok := state.merge[key]
	if !ok {
		i = len(*acc)
		state.merge[key] = i
		*acc = append(*acc, a)
		return i
	}
	old := &(*acc)[i]
	if a.late {
		old.weight = max(old.weight, a.weight) // many answers are no more likely to kill than the last
		old.started = max(old.started, a.started)
	} else {
		old.weight += a.weight
	}
	old.prior, old.bystander = min(old.prior, a.prior), old.bystander && a.bystander
	old.record = max(old.record, a.record)
	if old.ticket == none { // what is still running says where, not what was left behind
		old.lane = old.lane || a.lane
	}
	return i
}

// laneDeath reports whether a worker died as the lane.
func laneDeath(acc []accused) bool {
	lane := false
	for i := range acc {
		if acc[i].ticket != none {
			return acc[i].lane
		}
		lane = lane || acc[i].lane
	}
	return lane
}

// aloneShare is how much of the blame makes work count as alone in the lane:
// abandoned attempts that hardly weigh any more do not hide it.
const aloneShare = 0.75

// alone reports whether acc[i] killed a clean worker alone in the lane: nothing
// else was in flight there, next to nothing speaks for what was answered within the
// window, and hardly anything may have been left behind. Work whose rule only reports
// has no lane: the same anywhere in the fleet counts. beside says that answers streamed
// there.
func (state *State) alone(acc []accused, i int) (alone, beside bool) {
	if !acc[i].lane && !state.rule(&acc[i].work).ReportOnly || acc[i].share < besideShare {
		return false, false
	}
	late := 0.0
	for j := range acc {
		switch {
		case j == i:
		case acc[j].ticket != none && !acc[j].stream:
			return false, false
		case acc[j].ticket != none:
			beside = true
		case acc[j].late:
			late += acc[j].share
		}
	}
	return late <= lateNoise && (beside || acc[i].share >= aloneShare), beside
}

const (
	besideShare = 0.4      // of the blame makes work count as alone beside streams
	lateNoise   = 1.0 / 16 // of it may be answered work's where a conviction is alone
)

// mayHaveKilled reports whether an abandoned attempt may have had a part in the end
// of e. A hang is laid at its door only while nothing that came after it was
// answered; other crashes only shortly after the caller left.
func (state *State) mayHaveKilled(now int64, g *abandonedAttempt, e *epoch, class bezoar.Class) bool {
	if class == bezoar.Timeout {
		return !g.begun && e.answered <= g.started
	}
	return now-g.left <= int64(abandonedFor)
}

// likelihood weighs how likely the worker is still at it: less with every second
// since the caller left. A hang does not end.
func (g *abandonedAttempt) likelihood(now int64, class bezoar.Class) float64 {
	if class == bezoar.Timeout {
		return 1
	}
	return max(0.01, 1-float64(now-g.left)/float64(abandonedFor))
}

// lateWeight is the weight of answered work while its delay is unknown. Each unexplained death
// before which it was answered, too, doubles it.
const (
	lateWeight   = 0.5
	mostEvidence = 6
)

// lateness weighs work that was answered some time ago: half as much for every third
// of the window. Few killers kill after their answer, so that it begins at a tenth
// of what unknown work in flight has.
func lateness(ago, window int64) float64 {
	return 0.1 * math.Exp2(-3*float64(ago)/float64(window))
}

// staggered weighs how likely an attempt of this age killed a lane worker on which
// several run beside each other, started one after the other: half as much every
// 25 ms, and never nothing.
func staggered(age int64) float64 {
	return 2*math.Exp2(-float64(age)/float64(25*time.Millisecond)) + 0.05
}

// hazard weighs how likely an attempt of this age is the killer: most pills
// kill at once, and what hangs is overdue.
func (state *State) hazard(now, started, overdue int64, class bezoar.Class) float64 {
	if overdue != 0 && now >= overdue {
		if class == bezoar.Timeout {
			return 16
		}
		return 4
	}
	if class != bezoar.Timeout && now-started <= int64(state.cfg.Young) {
		return 2
	}
	return 1
}

// shareOut makes the shares sum to 1. Where only abandoned attempts and answered
// work are left the worker may have died idle: that takes a share that is laid on
// nobody, except in the lane, which is watched after an answer just for that.
func shareOut(acc []accused) {
	if slices.ContainsFunc(acc, func(a accused) bool { return a.ticket != none || a.late && a.lane }) {
		share(acc, 0)
		return
	}
	share(acc, idleWeight)
}

func share(acc []accused, nobody float64) {
	sum := nobody
	for i := range acc {
		sum += acc[i].weight
	}
	for i := range acc {
		acc[i].share = acc[i].weight / sum
	}
}

// idleWeight is the weight of an idle worker's death by itself: half of work
// that has never succeeded has.
const idleWeight = 0.25
