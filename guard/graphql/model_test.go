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
	unsure   bool // a length is written in a way that the model does not read
	fields   int  // and other selections, so far, with those of fragments
}

var (
	lengths = set("first", "last", "limit", "take", "count", "pageSize", "page_size", "perPage", "per_page", "itemsPerPage",
		"items_per_page", "hitsPerPage", "resultsPerPage", "maxResults", "max_results", "maxItems")
	holders = set("pagination", "paging", "page", "paginate", "options")
)

// maxModel bounds how many selections a model goes through.
const maxModel = 20_000

// operation is what one operation holds.
func (m *model) operation(op *ast.OperationDefinition) total {
	t := m.set(op.SelectionSet, op.Operation == ast.Mutation)
	t.directives += float64(len(op.Directives))
	for _, v := range op.VariableDefinitions {
		t.directives += float64(len(v.Directives))
	}
	return t
}

type total struct {
	circles, longest, sum, nodes, aliases, directives, roots, intros float64
	depth, lists                                                     int
	connected                                                        bool
}

func (m *model) set(list ast.SelectionSet, strict bool) total {
	var t total
	add := func(u total) {
		t.sum += u.sum
		t.nodes += u.nodes
		t.aliases += u.aliases
		t.directives += u.directives
		t.roots += u.roots
		t.intros += u.intros
		t.depth = max(t.depth, u.depth)
		t.longest = max(t.longest, u.longest)
		t.circles = max(t.circles, u.circles)
		t.lists = max(t.lists, u.lists)
		t.connected = t.connected || u.connected
	}
	for _, s := range list {
		if m.fields++; m.fields > maxModel {
			break
		}
		switch s := s.(type) {
		case *ast.Field:
			add(m.field(s, strict))
		case *ast.InlineFragment:
			u := m.set(s.SelectionSet, false)
			u.directives += float64(len(s.Directives))
			add(u)
		case *ast.FragmentSpread:
			f := m.document.Fragments.ForName(s.Name)
			u := m.set(f.SelectionSet, false)
			u.directives += float64(len(s.Directives) + len(f.Directives))
			for _, v := range f.VariableDefinition {
				u.directives += float64(len(v.Directives))
			}
			add(u)
		}
	}
	return t
}

func (m *model) field(f *ast.Field, strict bool) total {
	t := m.set(f.SelectionSet, false)
	connected := t.connected
	t.roots, t.connected = 1, f.SelectionSet != nil && (f.Name == "edges" || f.Name == "nodes")
	t.directives += float64(len(f.Directives))
	if f.Alias != f.Name || aliased(f) {
		t.aliases++
	}
	switch f.Name {
	case "fields", "interfaces", "possibleTypes", "inputFields":
		t.lists++
	case "__schema", "__type":
		t.circles = max(t.circles, float64(t.lists))
		if t.intros++; t.lists < 3 {
			return total{circles: t.circles, roots: 1, aliases: t.aliases, directives: t.directives, intros: t.intros}
		}
	}
	times, list := m.times(f, connected, strict)
	own := 1.0
	if f.SelectionSet != nil {
		own = 2 + 1.5*t.sum
	}
	if list {
		t.nodes = times * (1 + t.nodes)
		t.longest = max(t.longest, times)
	}
	t.sum = own * times
	t.depth++
	return t
}

func (m *model) times(f *ast.Field, connected, strict bool) (float64, bool) {
	most, asked := 0.0, false
	take := func(v *ast.Value, within bool) {
		if v.Kind == ast.Variable {
			asked = true
			if v = m.defaults[v.Raw]; v == nil {
				return
			}
		}
		if !within {
			most = max(most, m.length(v))
			return
		}
		if v.Kind == ast.ObjectValue {
			for _, c := range v.Children {
				if lengths[c.Name] && c.Value.Kind != ast.Variable {
					most = max(most, m.length(c.Value))
				}
			}
		}
	}
	for _, a := range f.Arguments {
		switch {
		case strict && a.Name != "first" && a.Name != "last":
		case lengths[a.Name]:
			take(a.Value, false)
		case holders[a.Name]:
			take(a.Value, true)
			if a.Value.Kind == ast.ObjectValue {
				for _, c := range a.Value.Children {
					if lengths[c.Name] && c.Value.Kind == ast.Variable {
						take(c.Value, false)
					}
				}
			}
		}
	}
	switch {
	case most > 0:
		return max(most, 1), true
	case asked || connected:
		return graphql.DefaultList, true
	}
	return 1, false
}

// aliased reports whether a field is written with an alias, which the tree hides
// when it is the field's own name.
func aliased(f *ast.Field) bool {
	l := lexer.New(&ast.Source{Input: string([]rune(f.Position.Src.Input)[f.Position.Start:])})
	for n := 0; ; {
		token, err := l.ReadToken()
		if err != nil || token.Kind == lexer.EOF {
			return false
		}
		if token.Kind == lexer.Comment {
			continue
		}
		if n++; n == 2 {
			return token.Kind == lexer.Colon
		}
	}
}

// length reads whole numbers; what else may be one makes the model unsure.
func (m *model) length(v *ast.Value) float64 {
	switch v.Kind {
	case ast.IntValue:
		n, err := strconv.ParseFloat(v.Raw, 64)
		switch {
		case err == nil && n < 0 && n > -1e15:
			return max(-n, graphql.DefaultList)
		case err == nil && n < 1e15:
			return n
		}
		m.unsure = true
	case ast.FloatValue, ast.StringValue, ast.BlockValue:
		m.unsure = true
	default:
	}
	return 0
}

func set(names ...string) map[string]bool {
	all := map[string]bool{}
	for _, n := range names {
		all[n] = true
	}
	return all
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
		m := newModel(document)
		want := m.operation(document.Operations[0])
		if m.fields > maxModel { // it has not gone through all
			t.Skip("written out it is too large")
		}

		var r graphql.Reader
		list, err := r.Read(nil, cost.Query{Body: []byte(text)}, cost.Options{Explain: true})
		if err != nil {
			t.Fatalf("%v\n%s", err, text)
		}
		for p, value := range map[cost.Predictor]float64{
			cost.GQLTokens: float64(tokens(text)), cost.GQLDepth: float64(want.depth), cost.GQLCost: 2 + 1.5*want.sum, cost.GQLNodes: want.nodes,
			cost.GQLAliases: want.aliases, cost.GQLDirectives: want.directives, cost.ExpensiveClass: want.intros, cost.GQLRootFields: want.roots, cost.GQLList: want.longest, cost.GQLIntrospection: want.circles,
		} {
			if got := find(list, p); math.Abs(got.Value-value) > 1e-9*value {
				t.Errorf("%s is %v at %s, want %v\n%s", p, got.Value, got.Path, value, text)
			}
		}
	})
}

// tokens counts those before the first that is none.
func tokens(text string) (n int) {
	l := lexer.New(&ast.Source{Input: text})
	for {
		token, err := l.ReadToken()
		if err != nil || token.Kind == lexer.EOF {
			return n
		}
		if token.Kind != lexer.Comment {
			n++
		}
	}
}

// newModel takes the defaults of variables from all operations, as the reader
// does.
func newModel(d *ast.QueryDocument) *model {
	m := &model{document: d, defaults: map[string]*ast.Value{}}
	for _, op := range d.Operations {
		for _, v := range op.VariableDefinitions {
			m.unsure = m.unsure || m.defaults[v.Variable] != nil
			m.defaults[v.Variable] = v.DefaultValue
		}
	}
	for _, f := range d.Fragments {
		m.unsure = m.unsure || len(f.VariableDefinition) > 0
	}
	return m
}
