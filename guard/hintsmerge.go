package guard

import (
	"fmt"
	"math"
	"strings"

	"github.com/bezoar-dev/bezoar/guard/cost"
)

func mergeHints(sets [sources]HintSet) (*mergedHints, error) {
	m := &mergedHints{exact: map[string]*hintEntry{}}
	fields := 0
	for _, set := range sets {
		above := m.patterns // of earlier sources
		for name, hints := range set {
			key := string(fold(nil, strings.TrimSpace(name)))
			e := m.exact[key]
			if e == nil {
				e = &hintEntry{name: key, fields: map[string]cost.FieldHint{}}
				m.exact[key] = e
				if wild(key) {
					m.patterns = append(m.patterns, e)
				} else {
					e.inherit(above)
				}
			}
			set.fill(e, hints, 0)
			fields += len(e.fields)
		}
	}
	if len(m.exact) > MaxHintIndices || fields > MaxHintFields {
		return nil, fmt.Errorf("%d indices and %d fields exceed the limits of %d and %d", len(m.exact), fields, MaxHintIndices, MaxHintFields)
	}
	m.fields = map[string]struct{}{}
	for _, e := range m.exact {
		for name, f := range e.fields {
			e.fields[name] = settle(f, e.Docs)
			m.fields[name] = struct{}{}
		}
	}
	return m, nil
}

// inherit copies the field hints of patterns to an index. After that, lookups for the index
// skip the patterns.
func (e *hintEntry) inherit(patterns []*hintEntry) {
	for _, p := range patterns {
		if !glob(p.name, e.name) {
			continue
		}
		for name, f := range p.fields {
			have, ok := e.fields[name]
			e.fields[name] = costlier(have, f, ok)
		}
	}
}

// fill writes the hints h over an entry, after those of SameAs.
func (set HintSet) fill(e *hintEntry, h IndexHints, depth int) {
	if other, ok := set[h.SameAs]; ok && depth < maxInherit {
		set.fill(e, other, depth+1)
	}
	over := func(to *float64, from float64) {
		if from != 0 {
			*to = from
		}
	}
	for _, name := range h.Of {
		e.of = append(e.of, string(fold(nil, name)))
	}
	over(&e.Docs, h.Docs)
	over(&e.Shards, h.Shards)
	over(&e.Indices, h.Indices)
	over(&e.IndexHint.Fields, h.IndexHint.Fields)
	if h.Span != 0 || h.Endless {
		e.Span, e.Endless = h.Span, h.Endless
	}
	for name, f := range h.Fields {
		key := string(fold(nil, name))
		have := e.fields[key]
		if f.Type != "" {
			have.Type = f.Type
		}
		if f.Cardinality != 0 || f.Unique {
			have.Cardinality, have.Unique = f.Cardinality, f.Unique
		}
		if f.HasRange {
			have.HasRange, have.Min, have.Max = true, f.Min, f.Max
		}
		e.fields[key] = have
	}
}

// settle adjusts a cardinality to the number of documents.
func settle(f cost.FieldHint, docs float64) cost.FieldHint {
	switch {
	case f.Unique && docs > 0:
		f.Cardinality = docs
	case f.Unique:
		f.Cardinality = math.Inf(1)
	case docs > 0:
		f.Cardinality = min(f.Cardinality, docs)
	}
	return f
}
