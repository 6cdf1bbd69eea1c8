package guard

import (
	"cmp"
	"maps"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/bezoar-dev/bezoar"
	"github.com/bezoar-dev/bezoar/internal/sorted"
)

// Tally counts verdicts.
type Tally struct {
	Checked  int64   `json:"checked"`
	Accepted int64   `json:"accepted"`
	Capped   int64   `json:"capped"`
	Reported int64   `json:"reported"`
	Rejected int64   `json:"rejected"`
	Cost     float64 `json:"cost"` // sum in units
}

func (t *Tally) sum(o *Tally) {
	t.Checked += o.Checked
	t.Accepted += o.Accepted
	t.Capped += o.Capped
	t.Reported += o.Reported
	t.Rejected += o.Rejected
	t.Cost += o.Cost
}

func (t *Tally) add(v *Verdict) {
	t.Checked++
	t.Cost += v.Cost
	switch v.Verdict {
	case Accepted:
		t.Accepted++
	case Capped:
		t.Capped++
	case Reported:
		t.Reported++
	case Rejected:
		t.Rejected++
	}
}

// CallerStats holds the statistics of one caller.
type CallerStats struct {
	Caller string `json:"caller"`
	Class  string `json:"class,omitempty"` // class of the last query
	Tally
	Rules   map[string]int64 `json:"rules,omitempty"`  // number of findings by predictor
	Worst   string           `json:"worst,omitempty"`  // shape of the most expensive query
	Shapes  []CallerShape    `json:"shapes,omitempty"` // most expensive shapes; at most MaxCallerShapes
	Minutes []float64        `json:"minutes"`          // units in each of the last 60 minutes; the current minute is last
	worst   float64
	shape   uint64
	shapes  []callerShape
	history history
}

// ShapeStats holds the predicted and the actual cost of queries of one shape.
type ShapeStats struct {
	Shape string `json:"shape"`
	Kind  Kind   `json:"kind"`
	Tally
	MaxCost   float64       `json:"max_cost"`
	Mostly    string        `json:"mostly,omitempty"`    // predictor with the largest part of the cost
	Predictor string        `json:"predictor,omitempty"` // predictor of the worst finding
	Path      string        `json:"path,omitempty"`
	Action    Action        `json:"action,omitempty"` // action of the worst finding
	Rule      string        `json:"rule,omitempty"`   // place where the rule is written
	Observed  int64         `json:"observed"`         // number of answers
	Took      time.Duration `json:"took"`             // sum
	MaxTook   time.Duration `json:"max_took"`
	Bytes     int64         `json:"bytes"`
	Deaths    int64         `json:"deaths"` // number of workers killed

	Fingerprint bezoar.Fingerprint `json:"fingerprint,omitzero"` // of the shape in the ledger; zero if there is none

	// Query is one query of the shape without its values, cut to 500 bytes. It is set if
	// Config.ShowQueries is.
	Query string `json:"query,omitempty"`

	asked bool // Query has been requested
}

// Observation is the outcome of a query that was passed on.
type Observation struct {
	Shape     uint64 // from the verdict, like the next three fields
	Cost      float64
	Predictor string // Verdict.Mostly
	Class     string
	Caller    string
	Route     string // route of the request; for the log
	Request   string // ID of the request; for the log
	Text      []byte // text of the query; the log has at most SlowText bytes of it
	Took      time.Duration
	Bytes     int64
	Died      bool // the worker died while it handled the query

	query string // a query of the shape without its values
}

type counts struct {
	maxCallers, maxShapes int

	mu      sync.Mutex // guards the fields below
	total   Tally
	found   map[foundKey]int64
	classes map[string]*Tally
	labels  labels
	callers map[string]*CallerStats
	others  *CallerStats // nil until a caller has no row of its own
	shapes  map[uint64]*ShapeStats
	history history
	judging Judging
	slow    int64
	shown   showBudget
}

func (c *counts) init(config Config) {
	c.maxCallers, c.maxShapes = config.MaxCallers, config.MaxShapes
	c.found = map[foundKey]int64{}
	c.classes, c.labels.own = map[string]*Tally{}, map[string]*Tally{}
	c.callers, c.shapes = map[string]*CallerStats{}, map[uint64]*ShapeStats{}
}

// checked counts a query whose judging began and ended at the given times. It reports
// whether the shape still needs an example query.
func (c *counts) checked(q *Query, v *Verdict, began, now time.Time) (unseen bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.total.add(v)
	c.judging.add(now.Sub(began))
	minute := now.Unix() / 60
	c.history.add(minute, v.Cost)
	c.class(v.Class).add(v)
	who := c.caller(q.Caller)
	c.labels.add(who.Caller, v)
	who.add(v)
	who.Class = v.Class
	who.history.add(minute, v.Cost)
	who.sent(v)
	if v.Cost > who.worst {
		who.worst, who.shape = v.Cost, v.Shape
	}
	for i := range v.Findings {
		if who.Rules == nil {
			who.Rules = map[string]int64{}
		}
		who.Rules[v.Findings[i].Predictor]++
		c.found[foundKey{v.Findings[i].Predictor, v.Findings[i].Action}]++
	}
	if s := c.shape(v.Shape, v.Cost); s != nil {
		s.Kind, s.Fingerprint = q.Kind, v.Print
		s.add(v)
		if v.Cost >= s.MaxCost {
			s.MaxCost, s.Mostly = v.Cost, v.Mostly
		}
		if len(v.Findings) > 0 {
			f := &v.Findings[0]
			s.Predictor, s.Path, s.Action, s.Rule = f.Predictor, f.Path, f.Action, f.Rule
		}
		unseen = !s.asked && c.shown.take(now)
		s.asked = s.asked || unseen
	}
	return unseen
}

// maxClassTallies limits the classes that are counted by name, including classes that were
// removed from the limits.
const maxClassTallies = 2 * MaxClasses

func (c *counts) class(name string) *Tally {
	t := c.classes[name]
	if t == nil && len(c.classes) >= maxClassTallies {
		name = Others
		t = c.classes[name]
	}
	if t == nil {
		t = &Tally{}
		c.classes[name] = t
	}
	return t
}

// maxCallerName limits the stored length of a caller's name.
const maxCallerName = 256

// caller returns the row of a caller. If all rows are used, it examines a few, merges the
// one with the lowest cost into Others and reuses its row. So expensive callers keep their
// rows even under a flood of new names.
func (c *counts) caller(name string) *CallerStats {
	if len(name) > maxCallerName {
		name = strings.ToValidUTF8(name[:maxCallerName], "")
	}
	if s, ok := c.callers[name]; ok {
		return s
	}
	if len(c.callers) >= c.maxCallers {
		c.forget()
	}
	s := &CallerStats{Caller: strings.Clone(name)}
	c.callers[s.Caller] = s
	return s
}

// looked is the number of rows that are examined to free one.
const looked = 8

// forget merges one caller into Others.
func (c *counts) forget() {
	var victim *CallerStats
	n := 0
	for _, s := range c.callers {
		if victim == nil || s.Cost < victim.Cost {
			victim = s
		}
		if n++; n == looked {
			break
		}
	}
	delete(c.callers, victim.Caller)
	if c.others == nil {
		c.others = &CallerStats{Caller: Others}
	}
	o := c.others
	o.sum(&victim.Tally)
	o.history.sum(&victim.history)
	for name, n := range victim.Rules {
		if o.Rules == nil {
			o.Rules = map[string]int64{}
		}
		o.Rules[name] += n
	}
	if victim.worst > o.worst {
		o.worst, o.shape = victim.worst, victim.shape
	}
}

// shape returns the row of a shape. If all rows are used, it examines a few, and a more
// expensive shape replaces the cheapest one that has killed no worker.
func (c *counts) shape(id uint64, units float64) *ShapeStats {
	if s, ok := c.shapes[id]; ok {
		return s
	}
	if len(c.shapes) >= c.maxShapes {
		var victim uint64
		var least *ShapeStats
		n := 0
		for other, s := range c.shapes {
			if s.Deaths == 0 && (least == nil || s.MaxCost < least.MaxCost) {
				victim, least = other, s
			}
			if n++; n == looked {
				break
			}
		}
		if least == nil || least.MaxCost > units {
			return nil
		}
		delete(c.shapes, victim)
	}
	s := &ShapeStats{Shape: shapeText(id)}
	c.shapes[id] = s
	return s
}

// Observe records the outcome of a query, for comparison with the prediction.
func (g *Guard) Observe(o Observation) {
	g.counts.mu.Lock()
	if s, ok := g.counts.shapes[o.Shape]; ok {
		s.Observed++
		s.Took += o.Took
		s.MaxTook = max(s.MaxTook, o.Took)
		s.Bytes += o.Bytes
		if o.Died {
			s.Deaths++
		}
	}
	slow := g.slow(&o)
	if slow {
		g.counts.slow++
		if s, ok := g.counts.shapes[o.Shape]; ok {
			o.query = s.Query
		}
	}
	g.counts.mu.Unlock()
	if slow {
		g.logSlow(&o)
	}
}

// Total returns the count of all queries.
func (g *Guard) Total() Tally {
	g.counts.mu.Lock()
	defer g.counts.mu.Unlock()
	return g.counts.total
}

// Callers returns up to n callers, the most expensive first. One of them may be Others.
func (g *Guard) Callers(n int) []CallerStats {
	minute := time.Now().Unix() / 60
	g.counts.mu.Lock()
	defer g.counts.mu.Unlock()
	list := make([]*CallerStats, 0, len(g.counts.callers)+1)
	list = slices.AppendSeq(list, maps.Values(g.counts.callers))
	if o := g.counts.others; o != nil {
		list = append(list, o)
	}
	sorted.Func(list, func(a, b *CallerStats) int {
		return cmp.Or(-cmp.Compare(a.Cost, b.Cost), cmp.Compare(a.Caller, b.Caller))
	})
	list = list[:min(n, len(list))]
	out := make([]CallerStats, len(list))
	for i, s := range list {
		out[i] = *s
		row := &out[i]
		row.Worst = shapeText(s.shape)
		row.Rules = maps.Clone(s.Rules)
		row.Shapes = s.listShapes()
		row.Minutes = s.history.list(minute)
		row.shapes = nil
	}
	return out
}

// Shapes returns up to n shapes: first those that killed workers, then by total duration,
// then by predicted cost.
func (g *Guard) Shapes(n int) []ShapeStats {
	g.counts.mu.Lock()
	defer g.counts.mu.Unlock()
	list := make([]ShapeStats, 0, len(g.counts.shapes))
	for _, s := range g.counts.shapes {
		list = append(list, *s)
	}
	sorted.Func(list, func(a, b ShapeStats) int {
		return cmp.Or(-cmp.Compare(a.Deaths, b.Deaths), -cmp.Compare(a.MaxTook, b.MaxTook), -cmp.Compare(a.MaxCost, b.MaxCost), cmp.Compare(a.Shape, b.Shape))
	})
	return list[:min(n, len(list))]
}
