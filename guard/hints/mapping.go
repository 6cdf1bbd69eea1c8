package hints

import "github.com/bezoar-dev/bezoar/guard/cost"

// mapping is one level of fields, as backends tell it.
type mapping struct {
	Type       string             `json:"type"`
	Path       string             `json:"path"` // of an alias
	Properties map[string]mapping `json:"properties"`
	Fields     map[string]mapping `json:"fields"`
	Runtime    map[string]mapping `json:"runtime"`
}

// maxLevels of objects in objects; backends allow 20.
const maxLevels = 64

// fields flattens a mapping.
type fields struct {
	found map[string]cost.FieldHint
	max   int // of found
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

// point gives aliases what their fields have.
func (f *fields) point() {
	for name, path := range f.alias {
		if h, ok := f.found[path]; ok && h.Type != "alias" {
			f.found[name] = h
		}
	}
}
