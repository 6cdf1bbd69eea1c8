package graphql_test

import (
	"math"
	"strings"
	"testing"

	"github.com/vektah/gqlparser/v2/ast"
	"github.com/vektah/gqlparser/v2/parser"

	"github.com/bezoar-dev/bezoar/guard/cost"
	"github.com/bezoar-dev/bezoar/guard/graphql"
)

// FuzzAsAnother has documents read by another parser, which builds a tree. Both
// must take the same, and count the same.
func FuzzAsAnother(f *testing.F) {
	for _, seed := range differing {
		f.Add(seed.text)
	}
	for _, seed := range []string{
		`{a}`, `query Q($n: [Int!]! = [1, {a: 2}] @d) @e { a: b(first: $n, x: {y: [1, -2.5e3, "s\u00e4", E, null]}) @f { ...F ... on T { c } } } fragment F on T { d }`,
		`"""d""" query A { a } mutation B { b(first: 3, limit: 9) { c(limit: 9) } } subscription C { c }`, `fragment A on T { ...B ...B } fragment B on T { c: c }{ ...A }`,
		`{ __schema { types { fields { type { fields { type { fields { name } } } } } } } }`, "\ufeff{ a # b\n\ufeff }", `{ a(b: """ \""" """, paging: {first: 7, x: {first: 9}}) { edges { node } } }`,
		`query($p: P = {limit: 5} $n: Int) { a(options: $p) { b } c(options: {take: $n}) ...@include(if: true) { d } }`,
	} {
		f.Add(seed)
	}
	f.Fuzz(asAnother)
}

// own are the reasons for which the guard alone refuses: they are about what a
// document means, or about how servers read it in two ways.
var own = []string{"no operation", "two fragments", "does not exist", "spreads itself", "too many quotes", "deeper than the limit"}

func asAnother(t *testing.T, text string) {
	if strings.Trim(text, " \t\r\n\ufeff") == "" {
		return // no document, and the guard says so
	}
	list, fault := read(t, cost.Query{Body: []byte(text), ContentType: "application/graphql"}, cost.Options{})
	tree, err := parser.ParseQuery(&ast.Source{Input: text})
	switch {
	case fault != nil && fault.Predictor == cost.GQLTokens:
		return
	case fault != nil:
		for _, reason := range own {
			if strings.Contains(fault.Reason, reason) {
				return
			}
		}
		if err == nil {
			t.Errorf("refused, and the other takes it: %v\n%q", fault, text)
		}
		return
	case err != nil:
		if !tolerated(text, err) {
			t.Errorf("taken, and the other refuses it: %v\n%q", err, text)
		}
		return
	}
	counts(t, text, tree, list)
}

// tolerated is what the guard takes and the other parser does not: characters
// that the language allows in comments and strings since 2021, and values for a
// fragment's own variables, which some servers know.
func tolerated(text string, err error) bool {
	control := func(r rune) bool { return r < ' ' && r != '\t' && r != '\n' && r != '\r' }
	return strings.ContainsFunc(text, control) || strings.Contains(err.Error(), "found (") || strings.Contains(err.Error(), "nesting depth")
}

// counts compares what the reader measures with what the tree holds.
func counts(t *testing.T, text string, tree *ast.QueryDocument, list []cost.Measure) {
	t.Helper()
	m := newModel(tree)
	var most total
	roots := 0.0
	for _, op := range tree.Operations {
		o := m.operation(op)
		o.sum = 2 + 1.5*o.sum
		roots = max(roots, o.roots)
		most.sum, most.nodes, most.aliases = max(most.sum, o.sum), max(most.nodes, o.nodes), max(most.aliases, o.aliases)
		most.directives, most.intros, most.depth = max(most.directives, o.directives), max(most.intros, o.intros), max(most.depth, o.depth)
		most.longest, most.circles = max(most.longest, o.longest), max(most.circles, o.circles)
	}
	if m.fields > maxModel {
		return
	}
	want := map[cost.Predictor]float64{
		cost.GQLTokens: float64(tokens(text)), cost.GQLDepth: float64(most.depth), cost.GQLAliases: most.aliases,
		cost.GQLDirectives: most.directives, cost.ExpensiveClass: most.intros, cost.GQLRootFields: roots, cost.GQLIntrospection: most.circles,
	}
	if !m.unsure {
		want[cost.GQLCost], want[cost.GQLNodes], want[cost.GQLList] = most.sum, most.nodes, most.longest
	}
	for p, value := range want {
		if got := find(list, p); math.Abs(got.Value-value) > 1e-9*value {
			t.Errorf("%s is %v, want %v\n%q", p, got.Value, value, text)
		}
	}
}

// differing are documents of which parsers are known to think differently.
var differing = []struct {
	text string
	ok   bool
}{
	{`{ a(b: 1.) }`, false},
	{`{ a(b: 01) }`, false},
	{`{ a(b: -) }`, false},
	{`{ a(b: 1e) }`, false},
	{`{ a(b: 0.5e-3, c: -0) }`, true},
	{`{ a(b: 1c: 2) }`, true}, // one more token than it looks
	{`{ a(b: "\q") }`, false},
	{`{ a(b: "\u00e") }`, false},
	{`{ a(b: "\u{1F600} \ud83d\ude00 \/") }`, true},
	{`{ a(b: "\u{110000}") }`, false},
	{`{ a(b: "\u{}") }`, false},
	{`{ a(b: "\`, false},
	{`{ a(b: "\u`, false},
	{"{ a(b: \"\n\") }", false},
	{`"x" { a }`, false},
	{`"x" query { a }`, true},
	{`query($a: [Int) { a }`, false},
	{`query($a: Int]) { a }`, false},
	{`query($a: Int!!) { a }`, false},
	{`query($a: [[Int!]!]!) { a }`, true},
	{`query($a: []) { a }`, false},
	{`query($a: Int = $b) { a }`, false},
	{`query($a: [Int] = [1, $b]) { a }`, false},
	{`query() { a }`, false},
	{`{ a() }`, false},
	{`{ a {} }`, false},
	{`{}`, false},
	{"{ a\ufeff }", true},
	{`{ a b`, false},
	{`{ a } }`, false},
	{`{ ... }`, false},
	{`{ ...on }`, false},
	{`{ ...on on { on } }`, true},
	{`{ ... @a { b } }`, true},
	{`{ ..a }`, false},
	{`fragment on on T { a } { a }`, false},
	{`fragment a on T { b }`, false}, // nothing to run
	{`{ a @b(c: 1) @d, @e }`, true},
	{`{ a: b: c }`, false},
	{`{ a(b: {c: 1, d: [2 3]}) }`, true},
	{`{ a(b: {c}) }`, false},
	{`type T { a: Int }`, false},
	{`schema { query: Q }`, false},
	{`{ a(b: ') }`, false},
	{`query query on @a { on }`, false},
	{`query query @a { on }`, true},
	{`{ true false null }`, true},
	{`{ a(b: true c: null d: E) }`, true},
	{`{ a & b }`, false},
	{`{ é }`, false},
}

func TestAsAnother(t *testing.T) {
	var r graphql.Reader
	for _, c := range differing {
		asAnother(t, c.text)
		if _, err := r.Read(nil, cost.Query{Body: []byte(c.text), ContentType: "application/graphql"}, cost.Options{}); (err == nil) != c.ok {
			t.Errorf("%s: %v", c.text, err)
		}
	}
}
