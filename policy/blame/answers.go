package blame

import (
	"bytes"
	"maps"
	"slices"
	"time"

	"github.com/bezoar-dev/bezoar"
)

// Bounds on what an epoch remembers of what it has answered.
const (
	maxAnswers = 64                  // the oldest makes room
	answersFor = widen * time.Second // for the statistics of who was answered before a death
	trustAfter = 5                   // times as long as the window after an answer it counts as a success, then …
	widen      = 11                  // times the window is longer while deaths go unexplained
	carefulFor = 10 * time.Minute    // after the last death that was not explained
)

// answer is work that an epoch has answered and that has not proven itself. It
// may have done harm that shows only later.
type answer struct {
	work     Work // without traits
	features []uint64
	started  int64
	at       int64
	probed   bezoar.Fingerprint // key of the group that it was the probe of; zero for none
	lane     bool
	counted  bool // it counts as a success already
}

// answers is a ring, oldest first.
type answers struct {
	all   []answer
	first int // index of the oldest, once the ring is full
	open  int // of all, how many do not count yet
}

// push adds an answer and returns the one that it displaced, if any.
func (a *answers) push(n answer) (old answer, displaced bool) {
	if !n.counted {
		a.open++
	}
	if len(a.all) < maxAnswers {
		a.all = append(a.all, n)
		return answer{}, false
	}
	old = a.all[a.first]
	if !old.counted {
		a.open--
	}
	a.all[a.first] = n
	a.first = (a.first + 1) % maxAnswers
	return old, true
}

// latest returns those of the latest that do not count yet.
func (a *answers) latest() (out []answer) {
	const most = 16
	for n := len(a.all) - 1; n >= 0 && len(out) < min(a.open, most); n-- {
		if b := a.nth(n); !b.counted {
			out = append(out, *b)
		}
	}
	return out
}

// nth returns the n-th oldest.
func (a *answers) nth(n int) *answer { return &a.all[(a.first+n)%len(a.all)] }

// window is how long after an answer its worker's death may still be its doing.
// It is longer while deaths go unexplained. Negative: nothing is provisional.
func (state *State) window(now int64) int64 {
	w := int64(state.cfg.Window)
	if w > 0 && state.careful(now) {
		return widen * w
	}
	return w
}

// careful reports whether a death has lately gone unexplained: everything that
// was in flight ran clean afterwards, or nothing was. Work may kill after its
// answer then, so nothing unproven is trusted early.
func (state *State) careful(now int64) bool { return now < state.carefulUntil }

// survived records an answer. Work that has proven itself counts at once,
// everything else when its worker has outlived the window.
func (state *State) survived(now int64, tk *ticket, e *epoch) {
	state.successes++
	state.gate.success(now)
	e.answered = max(e.answered, tk.started)
	state.heard(now, e)
	var probed bezoar.Fingerprint
	if tk.group != none {
		probed = state.groups.all[tk.group].fp
	}
	if state.cfg.Window < 0 {
		state.succeeded(now, &answer{work: tk.work, features: tk.features, started: tk.started, at: now, lane: tk.lane, probed: probed})
		return
	}
	if len(tk.features) > 0 {
		state.noteNovel(now, e, &tk.work, tk.features)
		if !tk.known { // it was only a sample
			tk.work.Variant, tk.features = bezoar.Fingerprint{}, tk.features[:0]
		}
	}
	record := state.proven.successes(tk.work.Fingerprint, state.second(now))
	state.noteFirst(now, e, tk.work.Fingerprint, record)
	if !tk.work.Client.IsZero() && state.careful(now) {
		state.noteFirst(now, e, tk.work.Client, record)
	}
	if record >= provenPopular && tk.group == none && (!tk.known || state.trusted(now, &tk.work)) {
		state.succeeded(now, &answer{work: tk.work, features: tk.features, started: tk.started, at: now, lane: tk.lane})
		if tk.known {
			tk.features = nil // a history may keep them
		}
		return
	}
	n := answer{work: tk.work.kept(), started: tk.started, at: now, lane: tk.lane, probed: probed, counted: !tk.known && record >= provenWell}
	if len(tk.features) > 0 {
		n.features, tk.features = tk.features, nil // the ring keeps them
	}
	if n.counted {
		state.succeeded(now, &n)
	}
	state.flush(now, e)
	switch old, displaced := e.answers.push(n); {
	case !displaced, old.counted:
	case !state.undecided(now, &old):
		state.succeeded(now, &old)
	case len(state.histories.byFP) > 0:
		state.remember(now, &old) // killers are compared with it
	}
}

// trusted reports whether work whose fingerprint is popular runs well, and nothing is held against its variant.
func (state *State) trusted(now int64, w *Work) bool {
	_, held := state.byVariant[w.Variant]
	return !held && state.runsWell(now, w)
}

// undecided reports whether a is suspect for what it does after its answer, or popular, and its time is not over: it is
// no success of its variant only because much else was answered meanwhile.
func (state *State) undecided(now int64, a *answer) bool {
	if !state.careful(now) || now-a.at >= state.window(now) {
		return false
	}
	if state.proven.successes(a.work.Fingerprint, state.second(now)) >= provenPopular {
		return true
	}
	for j, ok := state.byFP[a.work.Fingerprint]; ok && j != none; j = state.cases[j].after {
		if state.cases[j].late {
			return true
		}
	}
	return false
}

// maxFirsts bounds the different works whose first answer an epoch remembers.
const maxFirsts = 256

// noteFirst notes that e has answered work of fp, of which so many successes are known. Before
// a death goes unexplained, only what comes again is worth a note, and is not popular.
func (state *State) noteFirst(now int64, e *epoch, fp bezoar.Fingerprint, successes float64) {
	if !state.careful(now) && (successes < 1 || successes >= provenPopular) {
		return
	}
	if e.firsts == nil {
		e.firsts = map[bezoar.Fingerprint]int64{}
	}
	if _, ok := e.firsts[fp]; !ok && len(e.firsts) < maxFirsts {
		e.firsts[fp] = now
	}
}

// lateMost is the longest that work is thought to take to kill after its answer.
func (state *State) lateMost() int64 { return widen * int64(state.cfg.Window) }

// harmless reports whether a worker has outlived its first answer to work of fp by so much
// that a later death is not its doing.
func (state *State) harmless(now int64, fp bezoar.Fingerprint) bool {
	w := state.lateMost()
	if at, ok := state.company.outlived[fp]; ok && now-at <= int64(carefulFor) {
		return true
	}
	for _, i := range state.byEpoch {
		if at, ok := state.epochs[i].firsts[fp]; ok && now-at >= w {
			return true
		}
	}
	return false
}

// noteOutlived keeps what a worker that ends has outlived.
func (state *State) noteOutlived(now int64, e *epoch) {
	w := state.lateMost()
	c := &state.company
	for _, fp := range slices.SortedFunc(maps.Keys(e.firsts), func(a, b bezoar.Fingerprint) int { return bytes.Compare(a[:], b[:]) }) {
		if now-e.firsts[fp] < w {
			continue
		}
		if c.outlived == nil {
			c.outlived = map[bezoar.Fingerprint]int64{}
		}
		if _, ok := c.outlived[fp]; !ok && len(c.outlived) >= maxCompany {
			c.forgetOutlived(now)
		}
		if len(c.outlived) < maxCompany {
			c.outlived[fp] = now
		}
	}
}

// flush lets answers count whose worker has outlived the window.
func (state *State) flush(now int64, e *epoch) {
	if e.answers.open == 0 {
		return
	}
	w := state.window(now)
	fleet := min(w, trustAfter*int64(state.cfg.Window))
	for i := range e.answers.all {
		a := e.answers.nth(i)
		if now-a.at < fleet {
			return
		}
		if !a.counted && (!a.lane || now-a.at >= w) {
			a.counted = true
			e.answers.open--
			state.succeeded(now, a)
		}
	}
}

// flushAll lets answers of all epochs count. Called about once a second.
func (state *State) flushAll(now int64) {
	for i := range state.epochs {
		if state.epochs[i].answers.open > 0 {
			state.flush(now, &state.epochs[i])
		}
		state.settleNovel(now, &state.epochs[i])
	}
}

// succeeded counts one success of a: for good, unless something contradicts it
// later.
func (state *State) succeeded(now int64, a *answer) {
	second := state.second(now)
	state.proven.add(a.work.Fingerprint, second)
	if !a.work.Variant.IsZero() && !a.work.whole() {
		state.proven.add(a.work.Variant, second)
	}
	state.groups.success(state, now, a)
	if len(state.byFP) > 0 {
		if _, ok := state.byFP[a.work.Fingerprint]; ok {
			state.clearCases(now, a)
		}
	}
	if len(state.histories.byFP) > 0 {
		state.remember(now, a)
	}
}

// clearCases clears the cases that a's success speaks for: that of its variant,
// and that of its fingerprint as a whole.
func (state *State) clearCases(now int64, a *answer) {
	clean := a.lane || state.rule(&a.work).ReportOnly
	if j, ok := state.byVariant[a.work.Fingerprint]; ok && !state.convictedSince(j, a.at) {
		state.cleared(now, j, clean)
	}
	if a.work.Variant.IsZero() || a.work.whole() {
		return
	}
	if j, ok := state.byVariant[a.work.Variant]; ok && !state.convictedSince(j, a.at) {
		state.cleared(now, j, clean)
	}
}

// convictedSince reports whether a case is a conviction that was made after an answer: what was answered before says
// nothing against it.
func (state *State) convictedSince(i uint32, answered int64) bool {
	return state.cases[i].state == quarantined && state.cases[i].since > answered
}
