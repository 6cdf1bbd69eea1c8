package guard

import (
	"encoding/binary"
	"errors"
	"fmt"
	"math"
	"time"

	"github.com/bezoar-dev/bezoar/guard/cost"
)

// scratch is the working memory of one Check. Its readers keep their buffers.
type scratch struct {
	readers  [kinds]cost.Reader
	measures []cost.Measure
	query    cost.Query
	unread   string
	packed   bool // the body is packed, but the reader would read it as text
	skeleton []byte
	room     cost.Room     // from the query; nil: unlimited
	turns    chan struct{} // from the guard
	turn     bool          // a turn is held
}

func newScratch() *scratch {
	d := &scratch{measures: make([]cost.Measure, 0, 64)}
	for i, k := range Kinds() {
		d.readers[i] = readerOf(k)
	}
	return d
}

// maxKept is the maximum number of measures for which a scratch keeps room.
const maxKept = 4096

func (g *Guard) done(d *scratch) {
	if cap(d.measures) > maxKept {
		d.measures = make([]cost.Measure, 0, 64)
	}
	if cap(d.skeleton) > 4*maxKept {
		d.skeleton = nil
	}
	clear(d.measures) // the pool must not keep callers' texts alive
	d.measures, d.query, d.unread, d.room = d.measures[:0], cost.Query{}, "", nil
	if d.turn {
		<-d.turns
		d.turn = false
	}
	g.scratches.Put(d)
}

// largeQuery is the size in bytes from which a query waits for a turn. Judging may take
// fifty times the memory of the query.
const largeQuery = 256 << 10

func (d *scratch) wait() {
	if !d.turn {
		d.turns <- struct{}{}
		d.turn = true
	}
}

// Take is called by readers that need much memory, so that small packed queries wait for a
// turn as well.
func (d *scratch) Take(n int) bool {
	d.wait()
	return d.room == nil || d.room.Take(n)
}

// Check judges q and fills in v. Accepting a query allocates nothing. Check judges at most
// Config.Turns large or memory-intensive queries at once; others wait.
func (g *Guard) Check(q *Query, v *Verdict) {
	d := g.scratches.Get().(*scratch)
	d.turns = g.config.Turns
	defer g.done(d)
	if len(q.Body) > largeQuery {
		d.wait()
	}
	began := time.Now()
	v.reset()
	p := g.policy.Load()
	class := p.class(q.Class)
	v.Class, v.Version = class.name, p.version
	kind := q.Kind.index()
	if kind < 0 {
		v.unknownKind(q)
		g.counts.checked(q, v, began, time.Now())
		return
	}
	options := p.options
	options.MaxBytes, options.Now, options.Room = maxBytes, began, d
	if g.config.Hints != nil {
		options.Hints = g.config.Hints
		v.HintsAge = g.config.Hints.Age()
	}
	d.query, d.unread, d.packed, d.room = q.cost(), q.Unread, q.packed(), q.Room
	t := &class.tables[kind]
	scale, reportOnly := g.scale(p, class), class.reportOnly
	v.Override = class.whole.note
	if len(class.callers)+len(class.patterns) > 0 {
		c := class.forCaller(q.Caller)
		scale, reportOnly = scale*times(c.dial), reportOnly || c.reportOnly
		v.Override = joinNotes(v.Override, c.note)
	}
	reader := d.readers[kind]
	d.read(reader, options)
	v.Regex = worstRegex(q.Kind, d.measures)
	v.weigh(d.measures)
	if v.Shape = shapeOf(q, d.measures); g.config.Print != nil {
		id, read := g.print(q, d)
		if v.Shape = binary.BigEndian.Uint64(id[:]); read {
			v.Print = id
		}
	}
	fired := t.patterns
	for i := range d.measures {
		if fired = fired || t.broken(&d.measures[i], scale); fired {
			break
		}
	}
	if fired {
		options.Explain = true
		d.read(reader, options)
		v.judge(q, d.measures, t, scale, reportOnly)
	}
	if g.counts.checked(q, v, began, time.Now()) && g.config.ShowQueries {
		g.showQuery(q, v.Shape)
	}
	if v.Verdict != Accepted {
		g.logVerdict(q, v)
	}
}

// maxBytes is the size at which readers stop. Limits on body_bytes refuse smaller queries.
const maxBytes = 64 << 20

// read fills in the measures. A part that cannot be read becomes a measure.
func (d *scratch) read(r cost.Reader, o cost.Options) {
	list := append(d.measures[:0], cost.Measure{Predictor: cost.BodyBytes, Value: float64(len(d.query.Body)), Offset: -1})
	if o.Explain {
		list[0].Path = "body"
	}
	if d.unread != "" && !d.packed {
		d.measures = append(list, unreadable(&cost.Unreadable{Reason: d.unread, Offset: -1}))
		return
	}
	if d.packed {
		d.measures = append(list, unreadable(&cost.Unreadable{Predictor: cost.Encoding, Reason: "content encoding " + d.query.ContentEncoding, Offset: -1}))
		return
	}
	list, err := r.Read(list, d.query, o)
	if err != nil {
		list = append(list, unreadable(err))
	}
	d.measures = list
}

func unreadable(err error) cost.Measure {
	m := cost.Measure{Predictor: cost.Unparsable, Value: 1, Offset: -1, Path: "query", Detail: err.Error()}
	if u, ok := errors.AsType[*cost.Unreadable](err); ok {
		m.Offset, m.Part, m.Detail = u.Offset, u.Part, u.Reason
		if u.Predictor != cost.None {
			m.Predictor = u.Predictor
		}
	}
	if m.Predictor != cost.Unparsable && m.Predictor != cost.Encoding {
		m.Value = math.Inf(1) // the reader stopped at its limit, so the excess is unknown
	}
	return m
}

func (v *Verdict) weigh(measures []cost.Measure) {
	var mostly cost.Predictor
	if v.Cost, mostly = weigh(measures); mostly != cost.None {
		v.Mostly = mostly.String()
	}
}

func (v *Verdict) unknownKind(q *Query) {
	v.Verdict = Rejected
	v.Findings = append(v.Findings, Finding{
		Predictor: cost.Unparsable.String(), Path: "kind", Value: 1, Action: Reject, Rule: byDefault,
		Detail: fmt.Sprintf("the kind %q is unknown", clip(string(q.Kind))), Fix: "use elasticsearch, opensearch, sql, graphql or regex",
	})
}

// worstRegex returns the worst verdict on the expressions of a query. It returns safe only
// if the query itself is an expression without problems.
func worstRegex(k Kind, measures []cost.Measure) string {
	word, weight := "", 0
	if k == Regex {
		word = "safe"
	}
	for i := range measures {
		switch measures[i].Predictor {
		case cost.RegexExponential:
			return "exponential"
		case cost.RegexPolynomial, cost.RegexSearch:
			if weight < 2 && measures[i].Value > 1 {
				word, weight = "polynomial", 2
			}
		case cost.RegexUnknown, cost.Unparsable, cost.Encoding:
			if weight < 1 && (k == Regex || measures[i].Predictor == cost.RegexUnknown) {
				word, weight = "unknown", 1
			}
		default:
		}
	}
	return word
}
