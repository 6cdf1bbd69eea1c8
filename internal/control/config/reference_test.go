package config

import (
	"bytes"
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"net/netip"
	"path/filepath"
	"reflect"
	"strings"
	"testing"
	"time"
	"unicode"
	"unicode/utf8"

	"go.yaml.in/yaml/v4"

	"github.com/bezoar-dev/bezoar/internal/test/golden"
)

// The settings reference and the JSON Schema are made from the types, their
// comments, tags and defaults, and from the files that the tests accept.
// Regenerate them with go test ./internal/control/config -run Reference -update.

// setting is one key of the file.
type setting struct {
	path    string // fleets.NAME.health.path
	kind    string
	initial string // default
	bounds  string
	text    string
	example string
	since   string // version
	scalar  bool
}

func TestReferenceOfSettings(t *testing.T) {
	var page bytes.Buffer
	page.WriteString(referenceHead)
	section := "none"
	for _, s := range allSettings(t) {
		if top, _, _ := strings.Cut(s.path, "."); s.heads() != section {
			section = s.heads()
			if section == "" {
				page.WriteString("\n## The process\n\n")
			} else {
				fmt.Fprintf(&page, "\n## %s\n\n", strings.TrimSuffix(top, "[]"))
			}
			page.WriteString("| key | type | default | meaning | example | since |\n|---|---|---|---|---|---|\n")
		}
		if s.text == "" {
			t.Errorf("%s has no comment that says what it means", s.path)
		}
		if s.scalar && s.example == "" {
			t.Errorf("%s has no example in testdata/good", s.path)
		}
		kind := s.kind
		if s.bounds != "" {
			kind += " " + strings.Replace(s.bounds, "..", " to ", 1)
		}
		fmt.Fprintf(&page, "| %s | %s | %s | %s | %s | %s |\n", code(s.path), cell(kind), code(s.initial), cell(s.text), code(s.example), s.since)
	}
	golden.File(t, filepath.Join("..", "..", "..", "docs", "settings.md"), page.Bytes())
}

const referenceHead = `# Settings

This page lists every key of the settings file. It is made from the code. The glossary explains words such as
[quarantine](glossary.md#quarantine), [suspect](glossary.md#suspect), [dead letter](glossary.md#dead-letter),
[redrive](glossary.md#redrive), [fingerprint](glossary.md#fingerprint) and [verdict](glossary.md#verdict).

- ` + "`NAME`" + ` stands for a name of your own, and ` + "`[]`" + ` for an item of a list.
- A part without a default is off until you write its key. The defaults below it apply from then on.
- Durations are written as ` + "`1m30s`" + `, sizes as ` + "`64KiB`" + ` and shares as ` + "`20%`" + `.
- ` + "`bezoar config check FILE`" + ` names every fault with its line, column and fix. ` + "`bezoar config show FILE`" + ` prints the file with all defaults.
- ` + "`bezoar config schema`" + ` prints a JSON Schema for editors. In VS Code with the YAML extension, save it as ` + "`bezoar.schema.json`" + `
  and put ` + "`# yaml-language-server: $schema=bezoar.schema.json`" + ` on the first line of the file.
- The last column is the version in which a key came. An older Bezoar refuses the key.
`

// heads is the section that a key is listed in: its first part, or "" for the
// keys of the process.
func (s setting) heads() string {
	top, _, below := strings.Cut(s.path, ".")
	if !below && !strings.HasSuffix(top, "[]") && s.scalar {
		return ""
	}
	return strings.TrimSuffix(top, "[]")
}

func code(s string) string {
	if s == "" {
		return ""
	}
	return "`" + strings.ReplaceAll(s, "|", "\\|") + "`"
}

func cell(s string) string { return strings.ReplaceAll(s, "|", "\\|") }

// allSettings lists every key, those of the process first.
func allSettings(t *testing.T) (all []setting) {
	w := walker{comments: comments(t), examples: examples(t)}
	c := Default()
	w.structure(reflect.ValueOf(&c).Elem(), "", firstVersion)
	var parts []setting
	for _, s := range w.all {
		if s.heads() == "" {
			all = append(all, s)
		} else {
			parts = append(parts, s)
		}
	}
	return append(all, parts...)
}

type walker struct {
	comments map[string]string // by Type.Field
	examples map[string]string // by path
	all      []setting
}

// structure lists the keys of a struct that came in version since.
func (w *walker) structure(v reflect.Value, path, since string) {
	for _, f := range fieldsOf(v.Type()) {
		at := join(path, f.key)
		of := v.Type().Field(f.index)
		name := v.Type().Name() + "." + of.Name
		w.value(v.Field(f.index), setting{
			path: at, bounds: f.bounds, text: w.comments[name], example: w.example(at, name), since: sinceOf(of, since),
		})
	}
}

// example is that of the path, or of the same field elsewhere.
func (w *walker) example(path, field string) string {
	if e, ok := w.examples[path]; ok {
		return e
	}
	return w.examples[field]
}

func (w *walker) value(v reflect.Value, s setting) {
	switch {
	case isScalar(v.Type()):
		s.kind, s.scalar = kindName(v.Type()), true
		if !v.IsZero() || v.Kind() == reflect.Bool {
			s.initial = textOf(v)
		}
		w.all = append(w.all, s)
	case v.Kind() == reflect.Pointer:
		w.value(filled(v.Type().Elem()), s)
	case v.Kind() == reflect.Struct:
		s.kind = "keys below"
		if _, ok := reflect.TypeAssert[shorthand](v.Addr()); ok {
			s.kind = "a word, or keys below"
		}
		if s.text == "" {
			s.text = w.comments[v.Type().Name()]
		}
		w.all = append(w.all, s)
		w.structure(v, s.path, s.since)
	case v.Kind() == reflect.Map:
		w.items(v.Type().Elem(), s, ".NAME", "mapping")
	default:
		w.items(v.Type().Elem(), s, "[]", "list")
	}
}

// items are the values of a mapping or a list.
func (w *walker) items(elem reflect.Type, s setting, suffix, kind string) {
	if isScalar(elem) {
		s.kind, s.scalar = kind+" of "+plural(kindName(elem)), true
		s.example = w.examples[s.path+suffix]
		if kind == "list" && s.example != "" {
			s.example = "[" + s.example + "]"
		} else if s.example != "" {
			s.example = "{" + s.example + "}"
		}
		w.all = append(w.all, s)
		return
	}
	s.path += suffix
	w.value(filled(elem), s)
}

// filled is a value of t with its defaults.
func filled(t reflect.Type) reflect.Value {
	v := reflect.New(t)
	if d, ok := reflect.TypeAssert[defaulter](v); ok {
		d.setDefaults()
	}
	return v.Elem()
}

func kindName(t reflect.Type) string {
	switch t {
	case reflect.TypeFor[time.Duration]():
		return "duration"
	case reflect.TypeFor[Size]():
		return "size"
	case reflect.TypeFor[Ratio]():
		return "share"
	case reflect.TypeFor[netip.Prefix]():
		return "network"
	}
	switch t.Kind() {
	case reflect.Bool:
		return "true or false"
	case reflect.Int, reflect.Int64:
		return "number"
	default:
		return "text"
	}
}

func plural(kind string) string {
	if kind == "text" {
		return "texts"
	}
	return kind + "s"
}

// comments reads what the source says of each type and field.
func comments(t *testing.T) map[string]string {
	out := map[string]string{}
	for _, path := range files(t, "*.go") {
		file, err := parser.ParseFile(token.NewFileSet(), path, nil, parser.ParseComments|parser.SkipObjectResolution)
		if err != nil {
			t.Fatal(err)
		}
		ast.Inspect(file, func(n ast.Node) bool {
			decl, ok := n.(*ast.GenDecl)
			if !ok || decl.Tok != token.TYPE {
				return true
			}
			for _, spec := range decl.Specs {
				spec := spec.(*ast.TypeSpec)
				name := spec.Name.Name
				out[name] = sentence(strings.TrimPrefix(decl.Doc.Text(), name+" "))
				if st, ok := spec.Type.(*ast.StructType); ok {
					fieldComments(out, name, st)
				}
			}
			return false
		})
	}
	return out
}

func fieldComments(out map[string]string, name string, st *ast.StructType) {
	for _, f := range st.Fields.List {
		text := f.Comment.Text()
		if text == "" {
			text = f.Doc.Text()
		}
		for _, id := range f.Names {
			out[name+"."+id.Name] = sentence(text)
		}
	}
}

// sentence makes one line of a comment.
func sentence(text string) string {
	text = strings.Join(strings.Fields(text), " ")
	if text == "" {
		return ""
	}
	first, size := utf8.DecodeRuneInString(text)
	return string(unicode.ToUpper(first)) + text[size:]
}

// examples takes the first value of each key from the files that are accepted.
func examples(t *testing.T) map[string]string {
	out := map[string]string{}
	for _, path := range files(t, "testdata/good/*.yaml") {
		root, fault := load(read(t, path), MaxFileSize)
		if fault != nil {
			t.Fatalf("%s: %v", path, fault)
		}
		if root != nil {
			gather(out, root, reflect.TypeFor[Config](), "")
		}
	}
	return out
}

func gather(out map[string]string, n *yaml.Node, typ reflect.Type, path string) {
	if n.Kind == yaml.AliasNode {
		n = n.Alias
	}
	if typ.Kind() == reflect.Pointer {
		typ = typ.Elem()
	}
	switch {
	case n.Kind == yaml.ScalarNode:
		if _, ok := out[path]; !ok && len(n.Value) < 80 {
			out[path], _, _ = strings.Cut(n.Value, "\n")
		}
	case typ.Kind() == reflect.Struct:
		for i := 0; i+1 < len(n.Content); i += 2 {
			for _, f := range fieldsOf(typ) {
				if f.key == n.Content[i].Value {
					field := typ.Field(f.index)
					gather(out, n.Content[i+1], field.Type, join(path, f.key))
					if e, ok := out[join(path, f.key)]; ok {
						out[typ.Name()+"."+field.Name] = e
					}
				}
			}
		}
	case typ.Kind() == reflect.Map:
		for i := 0; i+1 < len(n.Content); i += 2 {
			key, value := n.Content[i], n.Content[i+1]
			if value.Kind == yaml.ScalarNode && isScalar(typ.Elem()) {
				value = &yaml.Node{Kind: yaml.ScalarNode, Value: key.Value + ": " + value.Value}
			}
			gather(out, value, typ.Elem(), path+".NAME")
		}
	case typ.Kind() == reflect.Slice:
		for _, item := range n.Content {
			gather(out, item, typ.Elem(), path+"[]")
		}
	}
}
