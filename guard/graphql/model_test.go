package graphql_test

import (
	"fmt"
	"math"
	"strconv"
	"strings"
	"testing"

	"github.com/vektah/gqlparser/v2/ast"
	"github.com/vektah/gqlparser/v2/lexer"
	"github.com/vektah/gqlparser/v2/parser"
	"pgregory.net/rapid"

	"github.com/bezoar-dev/bezoar/guard/cost"
	"github.com/bezoar-dev/bezoar/guard/graphql"
)

// model reckons on the tree of another parser, by recursion, with every
// fragment written out where it is spread.
type model struct {
	document *ast.QueryDocument
	defaults map[string]*ast.Value
}

type total struct {
	sum, nodes, aliases, directives, roots, intros float64
	depth, lists                                   int
	connected                                      bool
}

func (m *model) set(list ast.SelectionSet) total {
	var t total
	add := func(u total) {
		t.sum += u.sum
		t.nodes += u.nodes
		t.aliases += u.aliases
		t.directives += u.directives
		t.roots += u.roots
		t.intros += u.intros
		t.depth = max(t.depth, u.depth)
		t.lists = max(t.lists, u.lists)
		t.connected = t.connected || u.connected
	}
	for _, s := range list {
		switch s := s.(type) {
		case *ast.Field:
			add(m.field(s))
		case *ast.InlineFragment:
			u := m.set(s.SelectionSet)
			u.directives += float64(len(s.Directives))
			add(u)
		case *ast.FragmentSpread:
			f := m.document.Fragments.ForName(s.Name)
			u := m.set(f.SelectionSet)
			u.directives += float64(len(s.Directives) + len(f.Directives))
			add(u)
		}
	}
	return t
}

func (m *model) field(f *ast.Field) total {
	t := m.set(f.SelectionSet)
	connected := t.connected
	t.roots, t.connected = 1, f.SelectionSet != nil && (f.Name == "edges" || f.Name == "nodes")
	t.directives += float64(len(f.Directives))
	if f.Alias != f.Name {
		t.aliases++
	}
	switch f.Name {
	case "fields", "interfaces", "possibleTypes", "inputFields":
		t.lists++
	case "__schema", "__type":
		if t.intros++; t.lists < 3 {
			return total{roots: 1, aliases: t.aliases, directives: t.directives, intros: t.intros}
		}
	}
	times, list := m.times(f, connected)
	own := 1.0
	if f.SelectionSet != nil {
		own = 2 + 1.5*t.sum
	}
	if list {
		t.nodes = times * (1 + t.nodes)
	}
	t.sum = own * times
	t.depth++
	return t
}

func (m *model) times(f *ast.Field, connected bool) (float64, bool) {
	most, asked := 0.0, false
	for _, a := range f.Arguments {
		if a.Name != "first" && a.Name != "limit" {
			continue
		}
		v := a.Value
		if v.Kind == ast.Variable {
			asked = true
			if v = m.defaults[v.Raw]; v == nil {
				continue
			}
		}
		if n, err := strconv.Atoi(v.Raw); err == nil && v.Kind == ast.IntValue {
			most = max(most, float64(n))
		}
	}
	switch {
	case most > 0:
		return most, true
	case asked || connected:
		return graphql.DefaultList, true
	}
	return 1, false
}

// documents draws texts of documents. Fragments spread only those after them.
func documents() *rapid.Generator[string] {
	return rapid.Custom(func(t *rapid.T) string {
		g := &writer{t: t, fragments: rapid.IntRange(0, 4).Draw(t, "fragments")}
		g.print("query Q($v: Int = %d, $w: [Int!]!)", g.upTo(40))
		g.directives()
		g.set(0, -1)
		for i := range g.fragments {
			g.print(" fragment F%d on T", i)
			g.directives()
			g.set(0, i)
		}
		return g.b.String()
	})
}

type writer struct {
	t         *rapid.T
	b         strings.Builder
	fragments int
}

func (g *writer) print(format string, args ...any) { fmt.Fprintf(&g.b, format, args...) }
func (g *writer) upTo(n int) int                   { return rapid.IntRange(0, n).Draw(g.t, "n") }
func (g *writer) pick(list ...string) string       { return rapid.SampledFrom(list).Draw(g.t, "one") }

func (g *writer) directives() {
	for range g.upTo(3) / 2 {
		g.print(" @d%s", g.pick("", `(a: "x", b: [1, {c: $v}])`))
	}
}

func (g *writer) set(depth, fragment int) {
	g.print(" {%s", g.pick("", "\n", " # note {\n", ","))
	for range 1 + g.upTo(3) {
		switch kind := g.upTo(9); {
		case kind == 0 && depth < 4:
			g.print(" ...%s", g.pick("", " on T"))
			g.directives()
			g.set(depth+1, fragment)
		case kind == 1 && fragment+1 < g.fragments:
			g.print(" ...F%d", fragment+1+g.upTo(g.fragments-fragment-2))
			g.directives()
		default:
			g.field(depth, fragment)
		}
	}
	g.print("}")
}

func (g *writer) field(depth, fragment int) {
	if g.upTo(5) == 0 {
		g.print(" alias:")
	}
	g.print(" %s", g.pick("a", "b", "on", "edges", "nodes", "fields", "interfaces", "__schema", "__typename", "query", "fragment"))
	if g.upTo(2) == 0 {
		g.print("(x: %s", g.pick(`"s\"x"`, `"""b " \""" """`, "ENUM", "null", "-1.5e3", "[]", "{}", "[[{y: {}}], $v]"))
		for range g.upTo(2) {
			g.print(" %s: %s", g.pick("first", "limit"), g.pick("$v", "$w", "0", "-3", "7", "null", "100000"))
		}
		g.print(")")
	}
	g.directives()
	if depth < 5 && g.upTo(1) == 0 {
		g.set(depth+1, fragment)
	}
}

// TestAsRecursionWould holds the one pass against a model on another parser.
func TestAsRecursionWould(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		text := documents().Draw(t, "document")
		document, err := parser.ParseQuery(&ast.Source{Input: text})
		if err != nil {
			t.Fatalf("the other parser: %v\n%s", err, text)
		}
		op := document.Operations[0]
		m := &model{document: document, defaults: map[string]*ast.Value{}}
		for _, v := range op.VariableDefinitions {
			m.defaults[v.Variable] = v.DefaultValue
		}
		want := m.set(op.SelectionSet)
		want.directives += float64(len(op.Directives))

		var r graphql.Reader
		list, err := r.Read(nil, cost.Query{Body: []byte(text)}, cost.Options{Explain: true})
		if err != nil {
			t.Fatalf("%v\n%s", err, text)
		}
		for p, value := range map[cost.Predictor]float64{
			cost.GQLTokens: tokens(t, text), cost.GQLDepth: float64(want.depth), cost.GQLCost: 2 + 1.5*want.sum, cost.GQLNodes: want.nodes,
			cost.GQLAliases: want.aliases, cost.GQLDirectives: want.directives, cost.ExpensiveClass: want.intros, cost.GQLRootFields: want.roots,
		} {
			if got := find(list, p); math.Abs(got.Value-value) > 1e-9*value {
				t.Errorf("%s is %v at %s, want %v\n%s", p, got.Value, got.Path, value, text)
			}
		}
	})
}

func tokens(t *rapid.T, text string) float64 {
	l := lexer.New(&ast.Source{Input: text})
	n := 0.0
	for {
		token, err := l.ReadToken()
		if err != nil {
			t.Fatal(err)
		}
		switch token.Kind {
		case lexer.EOF:
			return n
		case lexer.Comment:
		default:
			n++
		}
	}
}
