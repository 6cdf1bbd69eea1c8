package sim

import (
	"fmt"
	"time"

	"github.com/bezoar-dev/bezoar"
	"github.com/bezoar-dev/bezoar/policy/blame"
)

// Broken says which law a run broke, and how.
type Broken struct {
	Law      int
	Scenario Scenario
	At       time.Duration
	What     string
}

// Error returns everything that is needed to see it again.
func (b *Broken) Error() string {
	return fmt.Sprintf("law %d, %v into %v: %s", b.Law, b.At, b.Scenario, b.What)
}

// laws is what the checks remember.
type laws struct {
	broken   error
	events   []blame.Event // scratch
	shared   map[bezoar.Fingerprint]float64
	poison   map[bezoar.Fingerprint]int32 // pills by fingerprint
	accused  map[bezoar.Fingerprint]int64 // innocents that stand convicted, since when
	unlucky  map[bezoar.Fingerprint]bool  // innocents alone in the lane when it was killed for no reason
	refusals int                          // of them, in their first second
	ended    []bool                       // epochs that have ended
	recent   []charged                    // deaths that count against pills
	early    bool                         // a bad build has had an innocent convicted before it was known to be bad
	closed   bool                         // the gate was, after the last step
	massAt   int64                        // when the last mass crash was over; 0 when checked
}

// charged is one worker's death that a pill caused.
type charged struct {
	at   int64
	pill int32
}

func (l *laws) init() {
	l.shared = map[bezoar.Fingerprint]float64{}
	l.poison = map[bezoar.Fingerprint]int32{}
	l.accused = map[bezoar.Fingerprint]int64{}
	l.unlucky = map[bezoar.Fingerprint]bool{}
}

func (l *laws) breakLaw(w *world, law int, format string, args ...any) {
	if l.broken == nil {
		l.broken = &Broken{Law: law, Scenario: w.Scenario, At: time.Duration(w.now - w.start()), What: fmt.Sprintf(format, args...)}
	}
}

func isConvict(s bezoar.State) bool { return s == bezoar.Quarantined || s == bezoar.Probing }

// innocent reports whether fp always deserves its answer.
func (l *laws) innocent(w *world, fp bezoar.Fingerprint) bool {
	p, ok := l.poison[fp]
	return !ok && !l.unlucky[fp] || ok && w.pills[p].pinned
}

// crashed checks what the end of worker i's epoch left on what was in flight
// there (law 2), and charges the pill that caused it (law 3).
func (l *laws) crashed(w *world, i int32, planned bool, cause int32) {
	k := &w.workers[i]
	for int(k.epoch) >= len(l.ended) {
		l.ended = append(l.ended, make([]bool, 1+len(l.ended))...)
	}
	if l.ended[k.epoch] {
		l.breakLaw(w, 2, "epoch %d ended twice", k.epoch)
	}
	l.ended[k.epoch] = true
	clear(l.shared)
	excused := false
	for s := k.head; s != none; s = w.requests[s].next {
		r := &w.requests[s]
		r.finding, r.found = w.state.Finding(r.ticket)
		if !r.found || r.finding.Planned != planned {
			l.breakLaw(w, 2, "the end of epoch %d (planned %v) left %+v on a request in flight", k.epoch, planned, r.finding)
			return
		}
		if w.trace != nil && r.pill != none {
			w.tracef("  pill %d: %+v", r.pill, r.finding)
		}
		if planned && r.finding != (blame.Finding{Planned: true}) {
			l.breakLaw(w, 2, "a planned end blamed %+v", r.finding)
		}
		what := r.work.Fingerprint
		if r.work.Traits != nil {
			what = r.work.Traits.Variant()
		}
		if old, ok := l.shared[what]; ok && old != r.finding.Share {
			l.breakLaw(w, 2, "copies in flight together got shares %g and %g", old, r.finding.Share)
		}
		l.shared[what] = r.finding.Share
		// The first that a bad build kills twice, alone in the fleet and in the lane, before
		// it has killed anything else, is not told apart from a pill either: one a run.
		first := cause == none && k.bad && r.inLane && !l.early && r.finding.Convicted
		l.early = l.early || first
		if first || cause == none && (r.inLane || w.set.after == 1) && w.fewDie {
			l.unlucky[r.work.Fingerprint] = true
			if r.pill != none {
				w.pills[r.pill].pinned = false
			}
			w.stats.Unlucky++
		}
		// Convictions were suspended, or it was a probe, or abandoned attempts
		// hid that it was alone.
		if r.pill == cause && r.inLane && r.finding.Company && cause != none {
			w.pills[cause].company = max(w.pills[cause].company, int(k.inFlight))
		}
		excused = excused || r.finding.Gated || r.pill == cause && (r.probe || r.inLane && r.finding.Share < 0.75)
	}
	sum := 0.0
	for _, share := range l.shared {
		sum += share
	}
	// What is missing was laid on abandoned attempts, or on what was answered lately; of
	// somebody who kills after answers, on what was answered last.
	less := l.abandonedHoldBlame(w) || w.set.window > 0 && w.quiet(i) <= widest*w.set.window || w.siege != nil && k.left != 0
	if sum > 1+1e-9 || sum < 1-1e-9 && len(l.shared) > 0 && !planned && !less {
		l.breakLaw(w, 2, "the shares of one crash sum to %.12f", sum)
	}
	if cause != none && !planned {
		l.charge(w, cause, excused)
	}
}

// widest is how many windows what was answered may hold blame for a death, while deaths go unexplained.
const widest = 11

// abandonedHoldBlame reports whether abandoned attempts may hold blame.
func (l *laws) abandonedHoldBlame(w *world) bool { return w.Noise&Aborts != 0 || w.Pills&Deserted != 0 }

// charge counts one worker against a pill. What it costs while convictions are
// suspended, or so shortly before that they are taken back, does not count.
func (l *laws) charge(w *world, cause int32, excused bool) {
	p := &w.pills[cause]
	p.deaths++
	w.stats.PillDeaths++
	w.stats.MostDeaths = max(w.stats.MostDeaths, p.deaths)
	switch closed := w.state.GateClosed(w.at()); {
	case excused || closed:
		p.excused++
	default:
		l.recent = append(l.recent, charged{w.now, cause})
	}
	if !p.deterministic() {
		return
	}
	cost := p.deaths - p.excused - p.slack
	w.stats.WorstPill = max(w.stats.WorstPill, cost)
	if most := max(2, w.set.after) + p.unclean(); cost > most {
		l.breakLaw(w, 3, "pill %d (%s) has cost %d workers, %d of them excused and %d its kind's, want at most %d",
			cause, setString(uint16(p.kind), pillNames), p.deaths, p.excused, p.slack, most)
	}
}

// watchGate excuses what pills have cost shortly before the gate closed.
func (l *laws) watchGate(w *world) {
	closed := w.state.GateClosed(w.at())
	if closed && !l.closed {
		for i := len(l.recent) - 1; i >= 0 && l.recent[i].at >= w.now-int64(10*time.Second); i-- {
			w.pills[l.recent[i].pill].excused++
		}
		l.recent = l.recent[:0]
	}
	l.closed = closed
}

// admitted checks a decision about a request (law 4).
func (l *laws) admitted(w *world, r *request, d *blame.Decision) {
	if w.trace != nil && (r.pill != none || d.Action != blame.ToFleet) {
		w.tracef("  %s pill %d: action %d cause %d score %.3f window %v", r.work.Fingerprint.Short(), r.pill, d.Action, d.Cause, d.Score, d.Window)
	}
	if w.siege != nil {
		return // it counts what became of everybody
	}
	if d.Action != blame.Refuse || d.Cause == blame.ByShapeVerdict || !l.innocent(w, r.work.Fingerprint) {
		return
	}
	l.refusals++
	since, ok := l.accused[r.work.Fingerprint]
	if !ok {
		l.breakLaw(w, 4, "innocent %v was refused without a conviction", r.work.Fingerprint)
	} else if w.now-since > w.unrecognised() {
		l.breakLaw(w, 4, "innocent %v was refused %v after its conviction", r.work.Fingerprint, time.Duration(w.now-since))
	}
}

// decision follows the state's own account.
func (l *laws) decision(w *world, e *blame.Event) {
	if w.trace != nil && e.Kind != blame.EpochEnded {
		w.tracef("  %v %s %s score %.3f %s", e.Kind, e.Verdict.Scope, e.Verdict.Fingerprint.Short(), e.Verdict.Score, e.Verdict.Reason)
	}
	if e.Verdict.Scope != bezoar.ScopeWork || w.siege != nil {
		return
	}
	fp := e.Verdict.Fingerprint
	switch e.Kind {
	case blame.Convicted:
		w.stats.Convict++
		if l.innocent(w, fp) {
			l.accused[fp] = w.now
		}
	case blame.MadeConditional:
		if p, ok := l.poison[fp]; ok && !w.pills[p].deterministic() {
			w.pills[p].pinned = true
		}
	case blame.Refunded:
		delete(l.accused, fp)
	case blame.Released, blame.Dropped:
		delete(l.accused, fp)
	}
}

// unrecognised is how long it may take until a sick fleet is recognised: a second, or
// as long as it takes to roll out a build that dies of everything.
func (w *world) unrecognised() int64 {
	if w.badNow {
		return int64(4 * time.Second)
	}
	return int64(time.Second)
}

// tick checks what must hold a second later (laws 4 and 6).
func (l *laws) tick(w *world) {
	for fp, since := range l.accused {
		if w.now-since > w.unrecognised() {
			l.breakLaw(w, 4, "innocent %v stands convicted for %v", fp, time.Duration(w.now-since))
		}
	}
}

// massBegan notes a crash of everything. Fewer than six workers are too few to
// tell, and a fleet that has not served yet has no record.
func (l *laws) massBegan(w *world, spread time.Duration, up int) {
	w.fewDie = up < max(6, w.Workers/2) || w.stats.Answered < 100
	if !w.fewDie {
		l.massAt = w.now + int64(spread)
	}
}

// check holds what is cheap to hold after every step (laws 6 and 10).
func (w *world) check() {
	w.drain()
	w.laws.watchGate(w)
	if l := &w.laws; l.massAt != 0 && w.now > l.massAt {
		l.massAt = 0
		if !w.state.GateClosed(w.at()) {
			l.breakLaw(w, 6, "all %d workers died, and the gate is open", w.Workers)
		}
	}
	z := w.state.Sizes()
	w.stats.MaxCases = max(w.stats.MaxCases, z.Cases)
	if z.Cases > 1<<16 || z.Groups > 1<<12 || z.Details > 4096 || z.Ring > 1024 ||
		z.Tickets > w.inside || z.Leaders > z.Tickets || z.Epochs > w.Workers || z.Events != 0 {
		w.laws.breakLaw(w, 10, "the state holds %+v for %d requests", z, w.inside)
	}
}

// finishLaws checks what must hold at the end.
func (w *world) finishLaws() {
	w.stats.Excused = w.laws.refusals
	if w.laws.broken != nil {
		return
	}
	if z := w.state.Sizes(); z.Tickets != 0 || z.Leaders != 0 || z.Canaries != 0 {
		w.laws.breakLaw(w, 10, "the state still holds %+v when everybody has left", z)
	}
	for fp, since := range w.laws.accused {
		if w.now-since > w.unrecognised() {
			w.laws.breakLaw(w, 4, "innocent %v stands convicted at the end", fp)
		}
	}
}
