package guard

import (
	"cmp"
	"maps"
	"time"

	"github.com/bezoar-dev/bezoar/internal/sorted"
)

// MaxLabels is the maximum number of callers that metrics name; the rest is Others.
const MaxLabels = 20

// labels counts some callers under their own names, for metrics. The count of a name, and
// of the others, never decreases, even if the named callers change.
type labels struct {
	own  map[string]*Tally
	rest Tally
}

func (l *labels) add(name string, v *Verdict) {
	t := l.own[name]
	switch {
	case t != nil:
	case len(l.own) < MaxLabels:
		t = &Tally{}
		l.own[name] = t
	default:
		t = &l.rest
	}
	t.add(v)
}

// choose gives the label of a cheap caller to one that costs at least twice as much.
func (l *labels) choose(callers map[string]*CallerStats) {
	if len(l.own) < MaxLabels {
		return
	}
	costs := func(name string) float64 {
		if s := callers[name]; s != nil {
			return s.Cost
		}
		return 0
	}
	byCost := func(a, b string) int { return cmp.Or(cmp.Compare(costs(a), costs(b)), cmp.Compare(a, b)) }
	named := sorted.Collect(maps.Keys(l.own), byCost)
	var nameless []string
	for name := range callers {
		if l.own[name] == nil {
			nameless = append(nameless, name)
		}
	}
	sorted.Func(nameless, func(a, b string) int { return byCost(b, a) })
	for i := range min(len(named), len(nameless)) {
		if costs(nameless[i]) < 2*costs(named[i]) || costs(nameless[i]) == 0 {
			return
		}
		delete(l.own, named[i])
		l.own[nameless[i]] = &Tally{}
	}
}

// NamedTally counts the verdicts about one caller or one class.
type NamedTally struct {
	Name string `json:"name"`
	Tally
}

// Labelled returns the counts by caller for metrics. It names at most MaxLabels callers,
// the most expensive of those with recent queries, and counts all others as Others. No
// count ever decreases, but a caller may lose its name.
func (g *Guard) Labelled() []NamedTally {
	g.counts.mu.Lock()
	defer g.counts.mu.Unlock()
	l := &g.counts.labels
	l.choose(g.counts.callers)
	out := named(l.own)
	if l.rest.Checked > 0 {
		out = append(out, NamedTally{Others, l.rest})
	}
	return out
}

// Classes returns the counts by class; "" stands for callers without a class.
func (g *Guard) Classes() []NamedTally {
	g.counts.mu.Lock()
	defer g.counts.mu.Unlock()
	return named(g.counts.classes)
}

func named(of map[string]*Tally) []NamedTally {
	out := make([]NamedTally, 0, len(of)+1)
	for name, t := range of {
		out = append(out, NamedTally{name, *t})
	}
	sorted.Func(out, func(a, b NamedTally) int { return cmp.Compare(a.Name, b.Name) })
	return out
}

// Judging returns how long the judging of queries took.
func (g *Guard) Judging() Judging {
	g.counts.mu.Lock()
	defer g.counts.mu.Unlock()
	return g.counts.judging
}

// Minutes returns the units of all queries per minute; the current minute is last.
func (g *Guard) Minutes() []float64 {
	minute := time.Now().Unix() / 60
	g.counts.mu.Lock()
	defer g.counts.mu.Unlock()
	return g.counts.history.list(minute)
}

// Slow returns the number of slow queries passed to Observe, and the number of log lines
// that the rate limit suppressed.
func (g *Guard) Slow() (queries, suppressed int64) {
	g.counts.mu.Lock()
	queries = g.counts.slow
	g.counts.mu.Unlock()
	return queries, g.log.suppressed()
}
