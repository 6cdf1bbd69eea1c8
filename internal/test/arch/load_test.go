package arch

import (
	"errors"
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"path"
	"slices"
	"strconv"
	"strings"
)

const module = "github.com/bezoar-dev/bezoar"

// pkg is one folder of Go source.
type pkg struct {
	dir   string // "." or "policy/blame"
	files []*file
}

// file is one parsed source file.
type file struct {
	path    string // from the module's root
	test    bool
	ast     *ast.File
	fset    *token.FileSet
	imports []string
	lines   int
}

// line says where p is, as path:line.
func (f *file) line(p token.Pos) string {
	return f.path + ":" + strconv.Itoa(f.fset.Position(p).Line)
}

// prod returns the files that go into a binary.
func (p *pkg) prod() []*file {
	return slices.DeleteFunc(slices.Clone(p.files), func(f *file) bool { return f.test })
}

// load parses every Go file of the module in tree. Folders with a go.mod of
// their own, testdata and hidden folders are somebody else's.
func load(tree fs.FS) ([]*pkg, error) {
	byDir := map[string]*pkg{}
	err := fs.WalkDir(tree, ".", func(name string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		base := path.Base(name)
		if d.IsDir() {
			if name == "." {
				return nil
			}
			_, nested := fs.Stat(tree, path.Join(name, "go.mod"))
			if base == "testdata" || base == "node_modules" || base[0] == '.' || base[0] == '_' || nested == nil {
				return fs.SkipDir
			}
			return nil
		}
		if !strings.HasSuffix(base, ".go") || base[0] == '.' || base[0] == '_' {
			return nil
		}
		f, err := parse(tree, name)
		if err != nil {
			return err
		}
		dir := path.Dir(name)
		if byDir[dir] == nil {
			byDir[dir] = &pkg{dir: dir}
		}
		byDir[dir].files = append(byDir[dir].files, f)
		return nil
	})
	if err != nil {
		return nil, err
	}
	if len(byDir) == 0 {
		return nil, errors.New("no Go files found")
	}
	out := make([]*pkg, 0, len(byDir))
	for _, p := range byDir {
		out = append(out, p)
	}
	slices.SortFunc(out, func(a, b *pkg) int { return strings.Compare(a.dir, b.dir) })
	return out, nil
}

func parse(tree fs.FS, name string) (*file, error) {
	src, err := fs.ReadFile(tree, name)
	if err != nil {
		return nil, err
	}
	f := &file{path: name, test: strings.HasSuffix(name, "_test.go"), fset: token.NewFileSet()}
	f.ast, err = parser.ParseFile(f.fset, name, src, parser.ParseComments)
	if err != nil {
		return nil, err
	}
	f.lines = strings.Count(string(src), "\n")
	for _, spec := range f.ast.Imports {
		p, err := strconv.Unquote(spec.Path.Value)
		if err != nil {
			return nil, err
		}
		f.imports = append(f.imports, p)
	}
	return f, nil
}

// localName returns the name under which f uses the import, or "".
func (f *file) localName(imp string) string {
	for _, spec := range f.ast.Imports {
		if p, _ := strconv.Unquote(spec.Path.Value); p == imp {
			if spec.Name != nil {
				return spec.Name.Name
			}
			if base := path.Base(imp); base != "v2" {
				return base
			}
			return path.Base(path.Dir(imp))
		}
	}
	return ""
}

// inModule returns an import's folder when it is the module's own.
func inModule(imp string) (string, bool) {
	if imp == module {
		return ".", true
	}
	return strings.CutPrefix(imp, module+"/")
}

// matches reports whether a folder fits a pattern of the tables.
func matches(pattern, dir string) bool {
	if pattern == "..." || pattern == dir {
		return true
	}
	parent, ok := strings.CutSuffix(pattern, "/*")
	return ok && path.Dir(dir) == parent
}

// importMatches reports whether an import fits the right side of a ban.
// "vendor/..." stands for everything outside the standard library.
func importMatches(pattern, imp string) bool {
	prefix, ok := strings.CutSuffix(pattern, "/...")
	if !ok {
		return pattern == imp
	}
	if prefix == "vendor" {
		first, _, _ := strings.Cut(imp, "/")
		_, ours := inModule(imp)
		return strings.Contains(first, ".") && !ours
	}
	return imp == prefix || strings.HasPrefix(imp, prefix+"/")
}
