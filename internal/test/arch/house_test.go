package arch

import (
	"fmt"
	"go/ast"
	"path"
	"strings"
)

// The sizes at which review asks, and at which nothing helps.
const (
	askFile, maxFile         = 400, 600
	askFunc, maxFunc         = 80, 120
	askTestFile, maxTestFile = 800, 1200
)

// checkSizes wants files and functions that fit into a head.
func checkSizes(p *pkg, r *reasons) (out []string) {
	for _, f := range p.files {
		ask, limit := askFile, maxFile
		if f.test {
			ask, limit = askTestFile, maxTestFile
		}
		if f.lines > limit || f.lines > ask && !r.excepted("size", f.path) {
			out = append(out, fmt.Sprintf("%s has %d lines, more than %d: which two things is it? (%d at most, with a reason)",
				f.path, f.lines, ask, limit))
		}
		for _, d := range f.ast.Decls {
			fn, ok := d.(*ast.FuncDecl)
			if !ok {
				continue
			}
			n := f.fset.Position(fn.End()).Line - f.fset.Position(fn.Pos()).Line + 1
			name := f.path + ":" + fn.Name.Name
			ask, limit := askFunc, maxFunc
			if f.test { // tables of cases are long and simple
				ask, limit = 2*askFunc, 2*maxFunc
			}
			if n > limit || n > ask && !r.excepted("size", name) {
				out = append(out, fmt.Sprintf("%s has %d lines, more than %d (%d at most, with a reason)", name, n, ask, limit))
			}
		}
	}
	return out
}

// checkDocs wants one package comment, in doc.go or the only file, that begins
// as godoc does.
func checkDocs(p *pkg, _ *reasons) (out []string) {
	files := p.prod()
	if len(files) == 0 {
		return nil
	}
	name := files[0].ast.Name.Name
	var with []*file
	for _, f := range files {
		if f.ast.Doc != nil {
			with = append(with, f)
		}
	}
	want := "Package " + name + " "
	if name == "main" {
		want = "" // commands and examples begin as they like
	}
	switch {
	case len(with) == 0:
		out = append(out, p.dir+": no package comment: what does it guarantee, and what not?")
	case len(with) > 1:
		out = append(out, fmt.Sprintf("%s: package comments in %s and %s", p.dir, with[0].path, with[1].path))
	case !strings.HasPrefix(with[0].ast.Doc.Text(), want):
		out = append(out, fmt.Sprintf("%s: the package comment does not begin with %q", with[0].path, want))
	case name != "main" && len(files) > 1 && path.Base(with[0].path) != "doc.go":
		out = append(out, fmt.Sprintf("%s: the package comment belongs into doc.go, where it is looked for", with[0].path))
	}
	return out
}

// checkInit wants no work at import, and no test that waits by sleeping. In a
// synctest bubble sleeping is free and exact.
func checkInit(p *pkg, r *reasons) (out []string) {
	for _, f := range p.files {
		for _, d := range f.ast.Decls {
			if fn, ok := d.(*ast.FuncDecl); ok && fn.Recv == nil && fn.Name.Name == "init" {
				out = append(out, f.line(fn.Pos())+": an init function works behind the importer's back")
			}
		}
		clock := f.localName("time")
		if !f.test || clock == "" || f.localName("testing/synctest") != "" {
			continue
		}
		ast.Inspect(f.ast, func(n ast.Node) bool {
			if isCall(n, clock, "Sleep") && !r.excepted("sleep", f.path) {
				out = append(out, f.line(n.Pos())+": a test waits for a condition, not for time to pass")
			}
			return true
		})
	}
	return out
}

func isCall(n ast.Node, pkgName, fn string) bool {
	call, ok := n.(*ast.CallExpr)
	if !ok {
		return false
	}
	sel, ok := call.Fun.(*ast.SelectorExpr)
	if !ok {
		return false
	}
	x, ok := sel.X.(*ast.Ident)
	return ok && x.Obj == nil && x.Name == pkgName && sel.Sel.Name == fn
}
