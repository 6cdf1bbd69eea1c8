package arch

import (
	"fmt"
	"go/ast"
)

// checkPurity holds policies to being step functions: no goroutine, no
// channel, no clock, no global randomness.
func checkPurity(p *pkg, _ *reasons) (out []string) {
	if !matches("policy/*", p.dir) {
		return nil
	}
	for _, f := range p.prod() {
		say := func(n ast.Node, what string) {
			out = append(out, fmt.Sprintf("%s: a policy %s", f.line(n.Pos()), what))
		}
		clock, random := f.localName("time"), f.localName("math/rand/v2")
		ast.Inspect(f.ast, func(n ast.Node) bool {
			switch n := n.(type) {
			case *ast.GoStmt:
				say(n, "starts no goroutine: the engine owns them")
			case *ast.ChanType, *ast.SelectStmt, *ast.SendStmt:
				say(n, "has no channel: it decides, others wait")
			case *ast.SelectorExpr:
				x, ok := n.X.(*ast.Ident)
				if !ok || x.Obj != nil {
					return true
				}
				if x.Name == clock && clock != "" && readsClock(n.Sel.Name) {
					say(n, "reads no clock: it takes now as an argument")
				}
				if x.Name == random && random != "" && drawsGlobal(n.Sel.Name) {
					say(n, "draws from no global source: it takes randomness as an argument")
				}
			}
			return true
		})
	}
	return out
}

func readsClock(name string) bool {
	switch name {
	case "Now", "Since", "Until", "After", "AfterFunc", "Sleep", "Tick", "NewTimer", "NewTicker":
		return true
	}
	return false
}

// drawsGlobal knows the types and constructors of math/rand/v2; what is left
// uses the global source.
func drawsGlobal(name string) bool {
	switch name {
	case "Rand", "Source", "PCG", "ChaCha8", "Zipf", "New", "NewPCG", "NewChaCha8", "NewZipf":
		return false
	}
	return true
}
