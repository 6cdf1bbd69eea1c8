package apidoc_test

import (
	"go/ast"
	"go/parser"
	"go/token"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"unicode"
	"unicode/utf8"
)

const module = "github.com/bezoar-dev/bezoar"

// source is what the Go source says of types, read package by package.
type source struct {
	t        *testing.T
	comments map[string]string   // by PKGPATH.Type and PKGPATH.Type.Field
	words    map[string][]string // the constants of a type that is a string, by PKGPATH.Type
	read     map[string]bool     // packages
}

func newSource(t *testing.T) *source {
	return &source{t, map[string]string{}, map[string][]string{}, map[string]bool{}}
}

// load reads a package of the module, once.
func (s *source) load(pkg string) {
	s.t.Helper()
	dir, ours := strings.CutPrefix(pkg, module)
	if s.read[pkg] || !ours {
		return
	}
	s.read[pkg] = true
	names, err := filepath.Glob(filepath.Join("../../..", dir, "*.go"))
	if err != nil {
		s.t.Fatal(err)
	}
	for _, name := range names {
		if strings.HasSuffix(name, "_test.go") {
			continue
		}
		file, err := parser.ParseFile(token.NewFileSet(), name, nil, parser.ParseComments|parser.SkipObjectResolution)
		if err != nil {
			s.t.Fatal(err)
		}
		for _, d := range file.Decls {
			if decl, ok := d.(*ast.GenDecl); ok && decl.Tok == token.TYPE {
				s.types(pkg, decl)
			} else if ok && decl.Tok == token.CONST {
				s.constants(pkg, decl)
			}
		}
	}
}

func (s *source) types(pkg string, decl *ast.GenDecl) {
	for _, spec := range decl.Specs {
		is := spec.(*ast.TypeSpec)
		name := pkg + "." + is.Name.Name
		doc := is.Doc.Text()
		if doc == "" {
			doc = decl.Doc.Text()
		}
		s.comments[name] = sentence(strings.TrimPrefix(withoutName(doc, is.Name.Name), is.Name.Name+" "))
		st, ok := is.Type.(*ast.StructType)
		if !ok {
			continue
		}
		for _, f := range st.Fields.List {
			text := f.Comment.Text()
			if text == "" {
				text = f.Doc.Text()
			}
			for _, id := range f.Names {
				s.comments[name+"."+id.Name] = sentence(withoutName(text, id.Name))
			}
		}
	}
}

func (s *source) constants(pkg string, decl *ast.GenDecl) {
	for _, spec := range decl.Specs {
		is := spec.(*ast.ValueSpec)
		typ, ok := is.Type.(*ast.Ident)
		if !ok || len(is.Values) != 1 {
			continue
		}
		if lit, ok := is.Values[0].(*ast.BasicLit); ok && lit.Kind == token.STRING {
			if word, err := strconv.Unquote(lit.Value); err == nil {
				s.words[pkg+"."+typ.Name] = append(s.words[pkg+"."+typ.Name], word)
			}
		}
	}
}

// withoutName drops "Name is" from the start of a comment: readers of the API do not know
// the names in Go.
func withoutName(text, name string) string {
	for _, verb := range []string{" is ", " are "} {
		if rest, ok := strings.CutPrefix(text, name+verb); ok {
			return rest
		}
	}
	return text
}

// sentence makes one line of a comment, without the brackets of links.
func sentence(text string) string {
	text = strings.NewReplacer("[", "", "]", "").Replace(strings.Join(strings.Fields(text), " "))
	first, size := utf8.DecodeRuneInString(text)
	if size == 0 {
		return ""
	}
	return string(unicode.ToUpper(first)) + text[size:]
}
