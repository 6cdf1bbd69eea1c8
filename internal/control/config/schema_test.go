package config

import (
	"bytes"
	"encoding/json"
	"net/netip"
	"path/filepath"
	"reflect"
	"strings"
	"testing"
	"time"

	"github.com/santhosh-tekuri/jsonschema/v6"
	"go.yaml.in/yaml/v4"

	"github.com/bezoar-dev/bezoar/internal/test/golden"
)

type object = map[string]any

func TestSchemaIsMadeFromTheTypes(t *testing.T) {
	w := schemaWriter{comments: comments(t), examples: examples(t), defs: object{}}
	c := Default()
	root := w.structure(reflect.ValueOf(&c).Elem(), "")
	root["$schema"] = "https://json-schema.org/draft/2020-12/schema"
	root["title"] = "Settings of Bezoar"
	root["$defs"] = w.defs
	out, err := json.MarshalIndent(root, "", " ")
	if err != nil {
		t.Fatal(err)
	}
	golden.File(t, "settings.schema.json", append(out, '\n'))
}

type schemaWriter struct {
	comments, examples map[string]string
	defs               object // one for each struct type
}

func (w *schemaWriter) structure(v reflect.Value, path string) object {
	properties := object{}
	for _, f := range fieldsOf(v.Type()) {
		sf := v.Type().Field(f.index)
		p := w.value(v.Field(f.index), join(path, f.key))
		if text := w.comments[v.Type().Name()+"."+sf.Name]; text != "" {
			p["description"] = strings.TrimSuffix(text, ".") + ". Since " + sinceOf(sf, firstVersion) + "."
		}
		if e, ok := w.examples[v.Type().Name()+"."+sf.Name]; ok && isScalar(sf.Type) {
			p["examples"] = []any{asRead(sf.Type, e)}
		}
		properties[f.key] = p
	}
	return object{"type": "object", "additionalProperties": false, "properties": properties}
}

func (w *schemaWriter) value(v reflect.Value, path string) object {
	switch {
	case isScalar(v.Type()):
		s := scalarSchema(v.Type())
		if !v.IsZero() || v.Kind() == reflect.Bool {
			s["default"] = asRead(v.Type(), textOf(v))
		}
		return s
	case v.Kind() == reflect.Pointer:
		return w.value(filled(v.Type().Elem()), path)
	case v.Kind() == reflect.Struct:
		return w.reference(v, path)
	case v.Kind() == reflect.Map:
		return object{"type": []string{"object", "null"}, "additionalProperties": w.value(filled(v.Type().Elem()), path)}
	default:
		return object{"type": []string{"array", "null"}, "items": w.value(filled(v.Type().Elem()), path)}
	}
}

// reference puts a struct among the definitions.
func (w *schemaWriter) reference(v reflect.Value, path string) object {
	name := v.Type().Name()
	if _, ok := w.defs[name]; !ok {
		w.defs[name] = nil // types that hold themselves end here
		s := w.structure(v, path)
		if _, ok := reflect.TypeAssert[shorthand](v.Addr()); ok {
			s = object{"anyOf": []any{object{"type": []string{"string", "boolean", "number"}}, s}}
		} else {
			s["type"] = []string{"object", "null"}
		}
		w.defs[name] = s
	}
	return object{"$ref": "#/$defs/" + name}
}

func scalarSchema(t reflect.Type) object {
	switch t {
	case reflect.TypeFor[time.Duration]():
		return object{"type": []string{"string", "number"}, "pattern": `^(0|-?([0-9.]+ *(ns|us|µs|ms|s|m|h|d) *)+)$`}
	case reflect.TypeFor[Size]():
		return object{"type": []string{"string", "number"}, "pattern": `^(0|[0-9.]+ *(B|KiB|MiB|GiB|TiB))$`}
	case reflect.TypeFor[Ratio]():
		return object{"type": "string", "pattern": `^[0-9.]+ *%$`}
	case reflect.TypeFor[netip.Prefix]():
		return object{"type": "string"}
	case reflect.TypeFor[Replay]():
		return object{"enum": []string{string(ReplayIdempotent), string(ReplayAll), string(ReplayNone)}}
	}
	switch t.Kind() {
	case reflect.Bool:
		return object{"enum": []any{true, false, "yes", "no", "on", "off"}}
	case reflect.Int, reflect.Int64:
		return object{"type": []string{"integer", "string"}}
	default:
		return object{"type": []string{"string", "number", "boolean"}}
	}
}

// asRead is a word as YAML reads it.
func asRead(t reflect.Type, word string) any {
	var out any
	if k := t.Kind(); (k == reflect.Bool || k == reflect.Int) && yaml.Load([]byte(word), &out) == nil {
		return out
	}
	return word
}

func TestSchemaTakesWhatIsAcceptedAndRefusesUnknownKeys(t *testing.T) {
	doc, err := jsonschema.UnmarshalJSON(bytes.NewReader(Schema()))
	if err != nil {
		t.Fatal(err)
	}
	compiler := jsonschema.NewCompiler()
	if err := compiler.AddResource("settings.json", doc); err != nil {
		t.Fatal(err)
	}
	compiled, err := compiler.Compile("settings.json")
	if err != nil {
		t.Fatal(err)
	}
	for _, path := range files(t, "testdata/good/*.yaml") {
		if err := compiled.Validate(asJSON(t, read(t, path))); err != nil {
			t.Errorf("%s: %v", filepath.Base(path), err)
		}
	}
	for _, bad := range []string{"listn: x", "fleets: {a: {replica: 3}}", "routes: [{mach: {}}]", "store_wait: 3 parsecs", "buffer_total: 64K", "live: {watch: perhaps}"} {
		if compiled.Validate(asJSON(t, []byte(bad))) == nil {
			t.Errorf("%s is accepted", bad)
		}
	}
}

func asJSON(t *testing.T, data []byte) any {
	t.Helper()
	root, fault := load(data, MaxFileSize)
	if fault != nil {
		t.Fatal(fault)
	}
	if root == nil {
		return object{}
	}
	var doc any
	if err := root.Decode(&doc); err != nil {
		t.Fatal(err)
	}
	text, err := json.Marshal(doc)
	if err != nil {
		t.Fatal(err)
	}
	out, err := jsonschema.UnmarshalJSON(strings.NewReader(string(text)))
	if err != nil {
		t.Fatal(err)
	}
	return out
}
