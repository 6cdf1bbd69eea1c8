package guard

import (
	"cmp"
	"io"
	"slices"
)

// Replay says what limits would have done to recorded queries.
type Replay struct {
	Queries  int `json:"queries"`
	Unread   int `json:"unread"` // lines that hold no query
	Rejected int `json:"rejected"`
	Capped   int `json:"capped"`
	Reported int `json:"reported"`

	// Beside the other limits, when there are any.
	Against *ReplayDiff `json:"against,omitempty"`

	Rules   []ReplayRow `json:"rules"`   // by predictor, most rejected first
	Callers []ReplayRow `json:"callers"` // likewise; at most MaxReplayRows
}

// ReplayDiff is how two limits differ over the same queries.
type ReplayDiff struct {
	Rejected int `json:"rejected"` // by the other
	Newly    int `json:"newly"`    // rejected by the new and not by the other
	NoLonger int `json:"no_longer"`
}

// ReplayRow is what became of the queries of one caller, or of one rule's.
type ReplayRow struct {
	Name     string  `json:"name"`
	Queries  int     `json:"queries"`
	Rejected int     `json:"rejected"`
	Newly    int     `json:"newly,omitempty"`
	NoLonger int     `json:"no_longer,omitempty"`
	Capped   int     `json:"capped"`
	Reported int     `json:"reported"`
	Cost     float64 `json:"cost"`
}

// MaxReplayRows bounds the callers that a Replay counts one by one.
const MaxReplayRows = 1000

// ReplayLog judges every query of a log with limits, and, when against is not
// nil, with others. The log has lines as ParseRecord reads them. class, when not
// empty, is every caller's.
func ReplayLog(r io.Reader, class string, limits, against *Guard) (Replay, error) {
	t := replayer{class: class, limits: limits, against: against, rules: map[string]*ReplayRow{}, callers: map[string]*ReplayRow{}}
	if against != nil {
		t.out.Against = &ReplayDiff{}
	}
	err := Lines(r, func(_ int, line []byte, err error) error {
		if err != nil {
			t.out.Unread++
			return nil
		}
		t.line(line)
		return nil
	})
	t.out.Rules, t.out.Callers = rows(t.rules), rows(t.callers)
	return t.out, err
}

type replayer struct {
	class           string
	limits, against *Guard
	out             Replay
	rules, callers  map[string]*ReplayRow
	now, then       Verdict
}

func (t *replayer) line(line []byte) {
	rec, err := ParseRecord(line)
	if err != nil {
		t.out.Unread++
		return
	}
	q := &rec.Query
	if t.class != "" {
		q.Class = t.class
	}
	t.out.Queries++
	judge(t.limits, rec, &t.now)
	newly, noLonger := false, false
	if t.against != nil {
		judge(t.against, rec, &t.then)
		newly = t.now.Verdict == Rejected && t.then.Verdict != Rejected
		noLonger = t.now.Verdict != Rejected && t.then.Verdict == Rejected
		t.out.Against.add(t.then.Verdict == Rejected, newly, noLonger)
	}
	switch t.now.Verdict {
	case Rejected:
		t.out.Rejected++
	case Capped:
		t.out.Capped++
	case Reported:
		t.out.Reported++
	case Accepted:
	}
	t.caller(q.Caller).add(t.now.Verdict, t.now.Cost, newly, noLonger)
	t.countRules(t.now.Findings, true)
	if noLonger {
		t.countRules(t.then.Findings, false)
	}
}

// judge chooses the class as a gateway would, unless the record names one.
func judge(g *Guard, rec Record, v *Verdict) {
	q := rec.Query
	if q.Class == "" {
		q.Class = g.Classify(rec.Caller)
	}
	g.Check(&q, v)
}

func (d *ReplayDiff) add(rejected, newly, noLonger bool) {
	for _, c := range []struct {
		yes bool
		n   *int
	}{{rejected, &d.Rejected}, {newly, &d.Newly}, {noLonger, &d.NoLonger}} {
		if c.yes {
			*c.n++
		}
	}
}

// countRules counts a query once for each predictor that it broke.
func (t *replayer) countRules(findings []Finding, now bool) {
	for i, f := range findings {
		if slices.ContainsFunc(findings[:i], func(o Finding) bool { return o.Predictor == f.Predictor }) {
			continue // the gravest came first
		}
		r := t.rules[f.Predictor]
		if r == nil {
			r = &ReplayRow{Name: f.Predictor}
			t.rules[f.Predictor] = r
		}
		if !now {
			if f.Action == Reject {
				r.NoLonger++
			}
			continue
		}
		outcome := map[Action]Outcome{Reject: Rejected, Cap: Capped, Report: Reported}[f.Action]
		r.add(outcome, 0, false, false)
	}
}

func (t *replayer) caller(name string) *ReplayRow {
	if r, ok := t.callers[name]; ok {
		return r
	}
	if len(t.callers) >= MaxReplayRows {
		name = Others
		if r, ok := t.callers[name]; ok {
			return r
		}
	}
	r := &ReplayRow{Name: name}
	t.callers[name] = r
	return r
}

func (r *ReplayRow) add(o Outcome, units float64, newly, noLonger bool) {
	r.Queries++
	r.Cost += units
	switch o {
	case Rejected:
		r.Rejected++
	case Capped:
		r.Capped++
	case Reported:
		r.Reported++
	case Accepted:
	}
	if newly {
		r.Newly++
	}
	if noLonger {
		r.NoLonger++
	}
}

func rows(m map[string]*ReplayRow) []ReplayRow {
	list := make([]ReplayRow, 0, len(m))
	for _, r := range m {
		list = append(list, *r)
	}
	slices.SortFunc(list, func(a, b ReplayRow) int {
		return cmp.Or(-cmp.Compare(a.Rejected, b.Rejected), -cmp.Compare(a.Capped, b.Capped), -cmp.Compare(a.Reported, b.Reported), cmp.Compare(a.Name, b.Name))
	})
	return list
}
