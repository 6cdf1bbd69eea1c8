package arch

import (
	"fmt"
	"go/ast"
	"go/token"
	"slices"
	"strings"
)

// checkGlobals wants package variables to be constants in all but name:
// sentinels, compiled expressions, embedded files, tables nobody writes to.
func checkGlobals(p *pkg, r *reasons) (out []string) {
	files := p.prod()
	written := writes(files)
	for _, f := range files {
		for _, d := range f.ast.Decls {
			decl, ok := d.(*ast.GenDecl)
			if !ok || decl.Tok != token.VAR {
				continue
			}
			for _, s := range decl.Specs {
				spec := s.(*ast.ValueSpec)
				for i, name := range spec.Names {
					if name.Name == "_" {
						continue
					}
					var value ast.Expr
					if i < len(spec.Values) {
						value = spec.Values[i]
					}
					if why := mutable(name, decl, spec, value, written); why != "" && !r.excepted("global", p.dir+"."+name.Name) {
						out = append(out, fmt.Sprintf("%s: package variable %s %s: two instances could not share a process",
							f.line(name.Pos()), name.Name, why))
					}
				}
			}
		}
	}
	return out
}

// mutable says why a package variable is no constant, or "".
func mutable(name *ast.Ident, decl *ast.GenDecl, spec *ast.ValueSpec, value ast.Expr, written map[string]bool) string {
	if value == nil {
		if embedded(decl, spec) {
			return ""
		}
		return "begins empty, so something fills it"
	}
	if written[name.Name] {
		return "is written to"
	}
	switch v := value.(type) {
	case *ast.CallExpr:
		if !constructs(v) {
			return "holds what a call returned"
		}
	case *ast.UnaryExpr:
		return "is a pointer to shared state"
	case *ast.CompositeLit, *ast.BasicLit, *ast.SelectorExpr, *ast.FuncLit, *ast.BinaryExpr, *ast.Ident:
	}
	return ""
}

// embedded reports whether a variable has a //go:embed line.
func embedded(decl *ast.GenDecl, spec *ast.ValueSpec) bool {
	for _, doc := range []*ast.CommentGroup{decl.Doc, spec.Doc} {
		if doc != nil && slices.ContainsFunc(doc.List, func(c *ast.Comment) bool { return strings.HasPrefix(c.Text, "//go:embed ") }) {
			return true
		}
	}
	return false
}

// constructs reports whether a call makes an immutable value.
func constructs(call *ast.CallExpr) bool {
	sel, ok := call.Fun.(*ast.SelectorExpr)
	if !ok {
		_, conversion := call.Fun.(*ast.ArrayType)
		return conversion
	}
	x, ok := sel.X.(*ast.Ident)
	return ok && slices.Contains([]string{
		"errors.New", "fmt.Errorf", "regexp.MustCompile", "template.Must", "strings.NewReplacer",
		"netip.MustParsePrefix", "netip.MustParseAddr", "reflect.TypeFor", "big.NewInt", "must.Get",
	}, x.Name+"."+sel.Sel.Name)
}

// writes finds the names of package variables that a package changes or lends
// out by address.
func writes(files []*file) map[string]bool {
	out := map[string]bool{}
	for _, f := range files {
		note := func(e ast.Expr) {
			// What a file does not resolve, or resolves to its own top
			// level, is a package's.
			if id := root(e); id != nil && (id.Obj == nil || f.ast.Scope.Lookup(id.Name) == id.Obj) {
				out[id.Name] = true
			}
		}
		ast.Inspect(f.ast, func(n ast.Node) bool {
			switch n := n.(type) {
			case *ast.AssignStmt:
				for _, l := range n.Lhs {
					if n.Tok != token.DEFINE {
						note(l)
					}
				}
			case *ast.IncDecStmt:
				note(n.X)
			case *ast.UnaryExpr:
				if n.Op == token.AND {
					note(n.X)
				}
			case *ast.CallExpr:
				if id, ok := n.Fun.(*ast.Ident); ok && (id.Name == "delete" || id.Name == "clear") && len(n.Args) > 0 {
					note(n.Args[0])
				}
			}
			return true
		})
	}
	return out
}

// root returns x of x, x.f, x[i] and *x.
func root(e ast.Expr) *ast.Ident {
	for {
		switch x := e.(type) {
		case *ast.Ident:
			return x
		case *ast.SelectorExpr:
			e = x.X
		case *ast.IndexExpr:
			e = x.X
		case *ast.StarExpr:
			e = x.X
		case *ast.ParenExpr:
			e = x.X
		default:
			return nil
		}
	}
}
