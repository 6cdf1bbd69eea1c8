package main

import (
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"io"
	"path/filepath"
	"strings"
)

// raced leaves the packages in which something runs at once, and names the others.
func raced(all []listed, stdout io.Writer) (some []listed, err error) {
	left := map[string]bool{}
	var names []string
	for _, p := range all {
		if !p.ordinary() {
			continue
		}
		at, err := runsAtOnce(p)
		if err != nil {
			return nil, err
		}
		if !at {
			left[p.ImportPath] = true
			names = append(names, p.ImportPath)
		}
	}
	for _, p := range all {
		if !left[strings.TrimSuffix(p.ImportPath, ".test")] {
			some = append(some, p)
		}
	}
	if len(names) > 0 {
		fmt.Fprintf(stdout, "not under the race detector, because nothing in them runs at once:\n  %s\n", strings.Join(names, "\n  "))
	}
	return some, nil
}

// runsAtOnce reports whether goroutines meet in a package: one of its files,
// tests aside, has a go statement, calls AfterFunc, or imports sync, sync/atomic
// or net/http, whose handlers run at once. A program is not such a package: its
// tests run the built program, which has no race detector in it. What a package
// without goroutines does in those of others is seen by the tests of those others,
// since all that a test binary is made of is watched.
func runsAtOnce(p listed) (bool, error) {
	if p.Name == "main" {
		return false, nil
	}
	for _, name := range p.GoFiles {
		file, err := parser.ParseFile(token.NewFileSet(), filepath.Join(p.Dir, name), nil, parser.SkipObjectResolution)
		if err != nil {
			return true, nil //nolint:nilerr // the compiler says it better
		}
		if startsOrShares(file) {
			return true, nil
		}
	}
	return false, nil
}

func startsOrShares(file *ast.File) (found bool) {
	for _, imported := range file.Imports {
		switch imported.Path.Value {
		case `"sync"`, `"sync/atomic"`, `"net/http"`:
			return true
		}
	}
	ast.Inspect(file, func(n ast.Node) bool {
		switch n := n.(type) {
		case *ast.GoStmt:
			found = true
		case *ast.SelectorExpr:
			found = found || n.Sel.Name == "AfterFunc"
		}
		return !found
	})
	return found
}
