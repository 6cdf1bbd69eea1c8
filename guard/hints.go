package guard

import (
	"fmt"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/bezoar-dev/bezoar/guard/cost"
)

// Source is where hints come from. Of two that know the same, the later one in
// this list is believed: it is nearer to the data.
type Source int

const (
	Static Source = iota // a file
	Polled               // mappings and settings that were asked for
)

const sources = 2

// HintSet is what one source knows, by the name of an index or a table, or a
// pattern of them.
type HintSet map[string]IndexHints

// IndexHints is what is known of one index and its fields.
type IndexHints struct {
	cost.IndexHint
	SameAs string   // another name of the set whose hints fill in what is not said here
	Of     []string // names of the set that this one, an alias, stands for: a pattern that covers one of them passes over it
	Fields map[string]cost.FieldHint
}

// The bounds of a HintStore, over all sources.
const (
	MaxHintIndices = 10_000
	MaxHintFields  = 500_000
)

// HintStore joins hints of several sources. It is safe for concurrent use, and
// looking up allocates nothing. Its zero value knows nothing.
type HintStore struct {
	merged atomic.Pointer[mergedHints]

	mu   sync.Mutex // guards what follows
	sets [sources]HintSet
	at   [sources]time.Time
}

// Set replaces what one source knows. at is when that was true.
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

// Field implements cost.Hints. Upper and lower case are the same, as in SQL.
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

// Index implements cost.Hints. Sizes of several indices add up.
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
	if out.HasRange = a.HasRange && b.HasRange; out.HasRange { // a part that is not known may be anything
		out.Min, out.Max = min(a.Min, b.Min), max(a.Max, b.Max)
	}
	return out
}

// mergedHints is never changed, but for what it remembers.
type mergedHints struct {
	exact    map[string]*hintEntry // by folded name, patterns too
	patterns []*hintEntry
	fields   map[string]struct{} // all folded names of fields: most that are asked for are none of them
	oldest   time.Time

	mu    sync.Mutex // guards views
	views map[string]*hintView
}

type hintEntry struct {
	name string   // folded
	of   []string // likewise
	cost.IndexHint
	fields map[string]cost.FieldHint // by folded name
}

// each calls do for the entries that a name, a list or a pattern stands for. A
// name of its own goes before patterns that cover it.
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
		if i := strings.LastIndexByte(name, '.'); !found && i > 0 { // a schema before a table
			if e, ok := m.exact[string(fold(key[:0], name[i+1:]))]; ok {
				do(e)
			}
		}
	}
}

// names goes through a list of indices.
type names struct {
	rest string
	more bool
	room [256]byte
}

// next is a name, and the same folded, which holds until the next one.
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

// counted reports whether what an alias stands for is met by its own name.
func (e *hintEntry) counted(pattern string) bool {
	for _, name := range e.of {
		if overlap(name, pattern) {
			return true
		}
	}
	return false
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
