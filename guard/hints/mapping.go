package hints

import "github.com/bezoar-dev/bezoar/guard/cost"

// mapping is one level of fields in a mapping response.
type mapping struct {
	Type       string             `json:"type"`
	Path       string             `json:"path"` // target of an alias
	Properties map[string]mapping `json:"properties"`
	Fields     map[string]mapping `json:"fields"`
	Runtime    map[string]mapping `json:"runtime"`
}

// maxLevels is the maximum nesting of objects; backends allow 20.
const maxLevels = 64

// fields flattens a mapping.
type fields struct {
	found map[string]cost.FieldHint
	max   int // maximum number of found fields
	all   int
	alias map[string]string
}

func (f *fields) add(prefix string, m mapping, level int) {
	if level > maxLevels {
		return
	}
	for name, inner := range m.Properties {
		f.field(prefix+name, inner)
		f.add(prefix+name+".", inner, level+1)
	}
	for name, inner := range m.Fields {
		f.field(prefix+name, inner)
	}
	for name, inner := range m.Runtime {
		f.field(name, inner)
	}
}

func (f *fields) field(name string, m mapping) {
	if m.Type == "" || m.Type == "object" || m.Type == "nested" {
		return
	}
	f.all++
	if len(f.found) >= f.max || len(name) > 512 {
		return
	}
	h := cost.FieldHint{Type: m.Type}
	switch m.Type {
	case "constant_keyword":
		h.Cardinality = 1
	case "boolean":
		h.Cardinality = 2
	case "alias":
		if f.alias == nil {
			f.alias = map[string]string{}
		}
		f.alias[name] = m.Path
	}
	f.found[name] = h
}

// point copies the hints of fields to their aliases.
func (f *fields) point() {
	for name, path := range f.alias {
		if h, ok := f.found[path]; ok && h.Type != "alias" {
			f.found[name] = h
		}
	}
}
