package apidoc_test

import (
	"encoding"
	"encoding/json"
	"reflect"
	"strings"
	"testing"
	"time"

	"github.com/bezoar-dev/bezoar/guard"
	"github.com/bezoar-dev/bezoar/internal/control/adminapi"
)

type object = map[string]any

// schemas writes a JSON Schema for each type that travels.
type schemas struct {
	t      *testing.T
	source *source
	made   object                  // by name
	types  map[string]reflect.Type // by name: no two types may share one
	asked  map[reflect.Type]bool   // types that callers send: the server refuses unknown members of them, and demands none
}

func newSchemas(t *testing.T, ops []operation) *schemas {
	s := &schemas{t, newSource(t), object{}, map[string]reflect.Type{}, map[reflect.Type]bool{}}
	for _, o := range ops {
		if o.body != nil {
			s.ask(reflect.TypeOf(o.body))
		}
	}
	return s
}

// ask marks a type and all that it is made of.
func (s *schemas) ask(t reflect.Type) {
	switch t.Kind() {
	case reflect.Pointer, reflect.Slice, reflect.Map:
		s.ask(t.Elem())
	case reflect.Struct:
		if !s.asked[t] {
			s.asked[t] = true
			for f := range t.Fields() {
				s.ask(f.Type)
			}
		}
	}
}

// of is the schema of a type, which may be a reference.
func (s *schemas) of(t reflect.Type) object {
	switch {
	case t == reflect.TypeFor[time.Time]():
		return object{"type": "string", "format": "date-time"}
	case t == reflect.TypeFor[time.Duration]():
		return object{"type": "integer", "description": "Nanoseconds."}
	case t == reflect.TypeFor[adminapi.Duration]():
		return object{"type": "string", "description": "A duration such as 1h30m."}
	case t == reflect.TypeFor[json.RawMessage]():
		return object{}
	case t == reflect.TypeFor[guard.Number]():
		return object{"type": []string{"number", "string", "null"}}
	case t.Implements(reflect.TypeFor[encoding.TextMarshaler]()):
		return object{"type": "string"}
	case t.Implements(reflect.TypeFor[json.Marshaler]()) || reflect.PointerTo(t).Implements(reflect.TypeFor[json.Marshaler]()):
		s.t.Fatalf("%v writes itself: say how in of", t)
	}
	switch t.Kind() {
	case reflect.String:
		return s.word(t)
	case reflect.Bool:
		return object{"type": "boolean"}
	case reflect.Float32, reflect.Float64:
		return object{"type": "number"}
	case reflect.Pointer:
		return s.of(t.Elem())
	case reflect.Interface:
		return object{}
	case reflect.Struct:
		return s.reference(t)
	case reflect.Map:
		return object{"type": "object", "additionalProperties": s.of(t.Elem())}
	case reflect.Slice, reflect.Array:
		if t.Elem().Kind() == reflect.Uint8 {
			return object{"type": "string", "contentEncoding": "base64"}
		}
		return object{"type": "array", "items": s.of(t.Elem())}
	default:
		return object{"type": "integer"}
	}
}

func (s *schemas) word(t reflect.Type) object {
	out := object{"type": "string"}
	s.source.load(t.PkgPath())
	if words := s.source.words[t.PkgPath()+"."+t.Name()]; len(words) > 0 {
		out["description"] = "One of " + strings.Join(words, ", ") + "."
	}
	return out
}

// reference puts a struct among the schemas.
func (s *schemas) reference(t reflect.Type) object {
	name := componentName(t)
	if other, ok := s.types[name]; ok && other != t {
		s.t.Fatalf("%v and %v would both be called %s", t, other, name)
	}
	if _, ok := s.types[name]; !ok {
		s.types[name] = t // types that hold themselves end here
		s.source.load(t.PkgPath())
		properties, required := object{}, []string{}
		s.fields(t, properties, &required)
		out := object{"type": "object", "properties": properties}
		if text := s.source.comments[t.PkgPath()+"."+t.Name()]; text != "" {
			out["description"] = text
		}
		if s.asked[t] {
			out["additionalProperties"] = false
		} else if len(required) > 0 {
			out["required"] = required
		}
		s.made[name] = out
	}
	return object{"$ref": "#/components/schemas/" + name}
}

func (s *schemas) fields(t reflect.Type, properties object, required *[]string) {
	for f := range t.Fields() {
		name, options, _ := strings.Cut(f.Tag.Get("json"), ",")
		switch {
		case f.Anonymous && name == "":
			s.source.load(f.Type.PkgPath())
			s.fields(f.Type, properties, required)
			continue
		case name == "-" || !f.IsExported():
			continue
		case name == "":
			s.t.Errorf("%v.%s has no name in JSON", t, f.Name)
		}
		left := strings.Contains(options, "omit")
		p := s.of(f.Type)
		if k := f.Type.Kind(); !left && (k == reflect.Pointer || k == reflect.Slice || k == reflect.Map) {
			p = orNull(p)
		}
		if text := s.source.comments[t.PkgPath()+"."+t.Name()+"."+f.Name]; text != "" {
			if more, ok := p["description"].(string); ok {
				text = strings.TrimSuffix(text, ".") + ". " + more
			}
			p["description"] = text
		}
		properties[name] = p
		if !left {
			*required = append(*required, name)
		}
	}
}

func orNull(p object) object {
	switch kind, ok := p["type"].(string); {
	case ok:
		p["type"] = []string{kind, "null"}
	case p["$ref"] != nil:
		return object{"anyOf": []any{p, object{"type": "null"}}}
	}
	return p
}

// componentName is the type's own name, behind the name of a package that is not
// the contract's.
func componentName(t reflect.Type) string {
	pkg := t.PkgPath()[strings.LastIndex(t.PkgPath(), "/")+1:]
	switch pkg {
	case "bezoar", "adminapi":
		return t.Name()
	case "flowapi":
		pkg = "flow"
	}
	return strings.ToUpper(pkg[:1]) + pkg[1:] + t.Name()
}
