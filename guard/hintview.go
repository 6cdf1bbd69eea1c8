package guard

import (
	"strings"
	"sync"

	"github.com/bezoar-dev/bezoar/guard/cost"
)

// Limits of the cache. A pattern may cover ten thousand indices, and a query may use as
// many fields of it: the store looks up each combination once.
const (
	maxViews      = 16
	maxViewFields = 4096
)

// hintView caches the hints of one list or pattern of indices.
type hintView struct {
	of    string // the list
	index cost.IndexHint
	found bool

	mu     sync.Mutex // guards fields
	fields map[string]viewedField
}

type viewedField struct {
	hint  cost.FieldHint
	found bool
}

// view returns the cached view of a list or a pattern, or nil for a plain name, which is
// fast to look up. A list that exceeds the limit is treated as all indices.
func (m *mergedHints) view(index string) *hintView {
	if index != "" && index != "_all" && !strings.ContainsAny(index, ",*?<") {
		return nil
	}
	if len(index) > maxTarget {
		index = "*"
	}
	m.mu.Lock()
	v := m.views[index]
	m.mu.Unlock()
	if v != nil {
		return v
	}
	v = &hintView{of: strings.Clone(index), fields: map[string]viewedField{}}
	v.index, v.found = m.index(index)
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.views == nil || len(m.views) >= maxViews {
		m.views = map[string]*hintView{}
	}
	m.views[v.of] = v
	return v
}

func (v *hintView) field(m *mergedHints, key []byte) (cost.FieldHint, bool) {
	v.mu.Lock()
	f, ok := v.fields[string(key)]
	v.mu.Unlock()
	if ok {
		return f.hint, f.found
	}
	f.hint, f.found = m.field(v.of, key)
	v.mu.Lock()
	defer v.mu.Unlock()
	if len(v.fields) >= maxViewFields {
		clear(v.fields)
	}
	v.fields[string(key)] = f
	return f.hint, f.found
}
