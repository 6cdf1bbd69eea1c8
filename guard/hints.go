package guard

import (
	"fmt"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/bezoar-dev/bezoar/guard/cost"
)

// Source is the origin of hints. If two sources have a hint for the same thing, the later
// one in this list wins, because it is closer to the data.
type Source int

const (
	Static Source = iota // from a file
	Polled               // polled from the backend's mappings and settings
)

const sources = 2

// HintSet holds the hints of one source. Keys are names or patterns of indices or tables.
type HintSet map[string]IndexHints

// IndexHints describes one index and its fields.
type IndexHints struct {
	cost.IndexHint
	SameAs string   // another name of the set, whose hints fill in missing values
	Of     []string // for an alias: the names it stands for; a pattern that covers one of them skips the alias
	Fields map[string]cost.FieldHint
}

// Limits of a HintStore, over all sources.
const (
	MaxHintIndices = 10_000
	MaxHintFields  = 500_000
)

// HintStore merges hints of several sources. It is safe for concurrent use, and lookups
// allocate nothing. The zero value is an empty store.
type HintStore struct {
	merged atomic.Pointer[mergedHints]

	mu   sync.Mutex // guards the fields below
	sets [sources]HintSet
	at   [sources]time.Time
}

// Set replaces the hints of one source. at is the time at which they were valid.
func (s *HintStore) Set(source Source, set HintSet, at time.Time) error {
	if source < 0 || source >= sources {
		return fmt.Errorf("set hints: there is no source %d", source)
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	sets, times := s.sets, s.at
	sets[source], times[source] = set, at
	m, err := mergeHints(sets)
	if err != nil {
		return fmt.Errorf("set hints: %w", err)
	}
	for i, t := range times {
		if sets[i] != nil && (m.oldest.IsZero() || t.Before(m.oldest)) {
			m.oldest = t
		}
	}
	s.sets, s.at = sets, times
	s.merged.Store(m)
	return nil
}

// Age implements cost.Hints.
func (s *HintStore) Age() time.Duration {
	m := s.merged.Load()
	if m == nil || m.oldest.IsZero() {
		return 0
	}
	return max(0, time.Since(m.oldest))
}

// Field implements cost.Hints. Names are case-insensitive, as in SQL.
func (s *HintStore) Field(index, field string) (cost.FieldHint, bool) {
	var best cost.FieldHint
	m := s.merged.Load()
	if m == nil {
		return best, false
	}
	var room [128]byte
	key := fold(room[:0], field)
	if _, anywhere := m.fields[string(key)]; !anywhere {
		return best, false
	}
	if v := m.view(index); v != nil {
		return v.field(m, key)
	}
	return m.field(index, key)
}

func (m *mergedHints) field(index string, key []byte) (best cost.FieldHint, found bool) {
	m.each(index, func(e *hintEntry) {
		if f, ok := e.fields[string(key)]; ok {
			if best, found = costlier(best, f, found), true; f.Unique && e.Docs > best.Cardinality {
				best.Cardinality = e.Docs
			}
		}
	})
	return best, found
}

// Index implements cost.Hints. It adds up the sizes of several indices.
func (s *HintStore) Index(index string) (cost.IndexHint, bool) {
	var sum cost.IndexHint
	m := s.merged.Load()
	if m == nil {
		return sum, false
	}
	if v := m.view(index); v != nil {
		return v.index, v.found
	}
	return m.index(index)
}

func (m *mergedHints) index(index string) (sum cost.IndexHint, found bool) {
	m.each(index, func(e *hintEntry) {
		found = true
		sum.Docs += e.Docs
		sum.Shards += e.Shards
		sum.Indices += max(e.Indices, 1)
		sum.Fields = max(sum.Fields, e.IndexHint.Fields)
		sum.Span = max(sum.Span, e.Span)
		sum.Endless = sum.Endless || e.Endless
	})
	return sum, found
}

func costlier(a, b cost.FieldHint, have bool) cost.FieldHint {
	if !have {
		return b
	}
	out := a
	if b.Cardinality > a.Cardinality {
		out = b
	}
	out.Unique = a.Unique || b.Unique
	if out.HasRange = a.HasRange && b.HasRange; out.HasRange { // a part without a known range may have any
		out.Min, out.Max = min(a.Min, b.Min), max(a.Max, b.Max)
	}
	return out
}

// mergedHints is immutable, except for its cache.
type mergedHints struct {
	exact    map[string]*hintEntry // by folded name; includes patterns
	patterns []*hintEntry
	fields   map[string]struct{} // folded names of all fields: most lookups are for unknown fields
	oldest   time.Time

	mu    sync.Mutex // guards views
	views map[string]*hintView
}

type hintEntry struct {
	name string   // folded
	of   []string // folded
	cost.IndexHint
	fields map[string]cost.FieldHint // by folded name
}

// each calls do for the entries that a name, a list or a pattern stands for. The entry of a
// name takes precedence over patterns that cover it.
func (m *mergedHints) each(index string, do func(*hintEntry)) {
	for n := (names{rest: index, more: true}); n.more; {
		name, key := n.next()
		if e, ok := m.exact[string(key)]; ok {
			do(e)
			continue
		}
		if wild(name) {
			m.eachOverlap(string(key), do)
			continue
		}
		found := false
		for _, e := range m.patterns {
			if glob(e.name, key) {
				do(e)
				found = true
			}
		}
		if i := strings.LastIndexByte(name, '.'); !found && i > 0 { // a schema before the table
			if e, ok := m.exact[string(fold(key[:0], name[i+1:]))]; ok {
				do(e)
			}
		}
	}
}

// names iterates over a list of indices.
type names struct {
	rest string
	more bool
	room [256]byte
}

// next returns the next name and its folded form, which is valid until the next call.
func (n *names) next() (name string, key []byte) {
	name, n.rest, n.more = strings.Cut(n.rest, ",")
	name = target(strings.TrimSpace(name))
	return name, fold(n.room[:0], name)
}

func (m *mergedHints) eachOverlap(pattern string, do func(*hintEntry)) {
	for _, e := range m.exact {
		if overlap(e.name, pattern) && !e.counted(pattern) {
			do(e)
		}
	}
}

// counted reports whether the pattern also covers the names that an alias stands for.
func (e *hintEntry) counted(pattern string) bool {
	return slices.ContainsFunc(e.of, func(name string) bool { return overlap(name, pattern) })
}

// fold appends s in lower case.
func fold(dst []byte, s string) []byte {
	for i := range len(s) {
		c := s[i]
		if c >= 'A' && c <= 'Z' {
			c += 'a' - 'A'
		}
		dst = append(dst, c)
	}
	return dst
}
