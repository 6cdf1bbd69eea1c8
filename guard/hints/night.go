package hints

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"math"
	"net/url"
	"slices"
	"time"

	"github.com/bezoar-dev/bezoar/guard/cost"
)

// nights are what was measured, by index and field.
type nights map[string]map[string]measured

type measured struct {
	docs   float64 // of the index, then
	at     time.Time
	unique bool
	values float64 // 0: not known
	ranged bool
	lo, hi float64
}

// over is a field with what was measured of it.
func (n nights) over(index, field string, f cost.FieldHint) cost.FieldHint {
	m, ok := n[index][field]
	if !ok {
		return f
	}
	if m.values > 0 || m.unique {
		f.Cardinality, f.Unique = m.values, m.unique
	}
	if m.ranged {
		f.HasRange, f.Min, f.Max = true, m.lo, m.hi
	}
	return f
}

// forget drops what was measured of indices that are gone.
func (p *Poller) forget() {
	here := make(map[string]bool, len(p.indices))
	for i := range p.indices {
		here[p.indices[i].name] = true
	}
	for name := range p.nights {
		if !here[name] {
			delete(p.nights, name)
		}
	}
}

// task is one field to be measured.
type task struct {
	index               string
	docs                float64
	field               string
	cardinality, bounds bool
	at                  time.Time // when it was last
}

// tasks are the fields that are worth measuring: those first that were not for
// longest, then those of large indices. An index of the same size as the last
// time is left alone.
func (p *Poller) tasks() []task {
	var list []task
	for i := range p.indices {
		x := &p.indices[i]
		if x.docs == 0 {
			continue
		}
		names := make([]string, 0, len(x.fields))
		for name, f := range x.fields {
			if c, b := measureOf(f.Type); (c || b) && !x.computed[name] && chosen(p.cfg.Fields, name) {
				names = append(names, name)
			}
		}
		slices.SortFunc(names, func(a, b string) int { // dates first: every histogram asks for them
			return cmp.Or(cmp.Compare(dateLast(x.fields[a].Type), dateLast(x.fields[b].Type)), cmp.Compare(a, b))
		})
		for _, name := range names[:min(len(names), p.cfg.MaxMeasured)] {
			m, ok := p.nights[x.name][name]
			if ok && m.docs == x.docs {
				continue
			}
			c, b := measureOf(x.fields[name].Type)
			list = append(list, task{x.name, x.docs, name, c, b, m.at})
		}
	}
	slices.SortStableFunc(list, func(a, b task) int {
		return cmp.Or(a.at.Compare(b.at), -cmp.Compare(a.docs, b.docs))
	})
	return list
}

func dateLast(fieldType string) int {
	if fieldType == "date" || fieldType == "date_nanos" {
		return 0
	}
	return 1
}

// measure asks for one field. A range is read off the ends of the field's own
// order, at no cost; a cardinality reads values, so it stops after SampleDocs.
func (p *Poller) measure(ctx context.Context, t task) error {
	m := measured{docs: t.docs, at: time.Now()}
	if t.bounds {
		a, err := p.search(ctx, t.index, `{"lo":{"min":{"field":%s}},"hi":{"max":{"field":%s}}}`, t.field, 0)
		if err != nil && !unsupported(err) {
			return err
		}
		if lo, hi := a.Aggs.Lo.Value, a.Aggs.Hi.Value; lo != nil && hi != nil && *lo <= *hi && !a.TimedOut {
			m.ranged, m.lo, m.hi = true, *lo, *hi
		}
	}
	if t.cardinality {
		a, err := p.search(ctx, t.index, `{"c":{"cardinality":{"field":%s,"precision_threshold":1000}}}`, t.field, p.cfg.SampleDocs)
		if err != nil && !unsupported(err) {
			return err
		}
		if c := a.Aggs.C.Value; c != nil && *c > 0 {
			m.values, m.unique = extrapolate(*c, a.Hits.Total.Value, t.docs, a.TimedOut || a.Early)
		}
	}
	if p.nights[t.index] == nil {
		p.nights[t.index] = map[string]measured{}
	}
	p.nights[t.index][t.field] = m
	return nil
}

// minUnique documents are needed to call a field unique.
const minUnique = 1000

// extrapolate is how many values a field has, of which a sample of documents
// has some.
func extrapolate(values, sample, docs float64, partial bool) (cardinality float64, unique bool) {
	switch {
	case partial && sample > 0 && sample < docs:
		if values >= sample/2 && sample >= minUnique {
			return docs, true
		}
		return min(values*math.Sqrt(docs/sample), docs), false
	case values >= 0.9*docs && docs >= minUnique:
		return docs, true
	}
	return values, false
}

type answer struct {
	TimedOut bool `json:"timed_out"`
	Early    bool `json:"terminated_early"`
	Hits     struct {
		Total struct {
			Value float64 `json:"value"`
		} `json:"total"`
	} `json:"hits"`
	Aggs struct {
		C, Lo, Hi struct {
			Value *float64 `json:"value"`
		}
	} `json:"aggregations"`
}

func (p *Poller) search(ctx context.Context, index, aggs, field string, stop int) (answer, error) {
	var a answer
	name, err := json.Marshal(field)
	if err != nil {
		return a, err
	}
	args := []any{name}
	if stop == 0 {
		args = append(args, name)
	}
	body := fmt.Sprintf(`{"size":0,"timeout":"%dms","track_total_hits":true,"aggs":`+aggs, append([]any{max(p.cfg.Timeout/2, time.Millisecond).Milliseconds()}, args...)...)
	if stop > 0 {
		body += fmt.Sprintf(`,"terminate_after":%d`, stop)
	}
	target := "/" + url.PathEscape(index) + "/_search?preference=" + opaqueID + "&ignore_unavailable=true&filter_path=timed_out,terminated_early,hits.total,aggregations"
	return a, p.ask(ctx, "POST", target, []byte(body+"}"), &a)
}
