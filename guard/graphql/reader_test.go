package graphql_test

import (
	"errors"
	"fmt"
	"math"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/bezoar-dev/bezoar/guard/cost"
	"github.com/bezoar-dev/bezoar/guard/graphql"
)

// read gives all measures by their predictors, and fails when a second pass
// that explains gives others.
func read(t *testing.T, q cost.Query, o cost.Options) ([]cost.Measure, *cost.Unreadable) {
	t.Helper()
	var r graphql.Reader
	plain, err := r.Read(nil, q, o)
	o.Explain = true
	list, again := r.Read(nil, q, o)
	if fmt.Sprint(err) != fmt.Sprint(again) || len(plain) != len(list) {
		t.Fatalf("%d measures and %v; explained %d and %v", len(plain), err, len(list), again)
	}
	for i, m := range list {
		p := plain[i]
		if p.Path != "" || p.Detail != "" {
			t.Errorf("explained without having been asked: %+v", p)
		}
		if m.Path == "" || m.Offset < -1 || m.Offset > len(q.Body) {
			t.Errorf("no place: %+v", m)
		}
		m.Path, m.Detail = "", ""
		if m != p {
			t.Errorf("measure %d is %+v, explained %+v", i, p, list[i])
		}
	}
	var fault *cost.Unreadable
	if err != nil && !errors.As(err, &fault) {
		t.Fatalf("%T is no Unreadable", err)
	}
	return list, fault
}

func find(list []cost.Measure, p cost.Predictor) cost.Measure {
	for _, m := range list {
		if m.Predictor == p {
			return m
		}
	}
	return cost.Measure{Offset: -2}
}

func TestMeasures(t *testing.T) {
	inf := math.Inf(1)
	for _, c := range []struct {
		name, document string
		p              cost.Predictor
		value          float64
		path           string
	}{
		{"tokens", `query A($x: [Int!]! = 5) { a(b: "c, d") ...F } fragment F on T { c # d` + "\n}", cost.GQLTokens, 31, "document"},
		{"a leaf", `{ a }`, cost.GQLCost, 2 + 1.5, "query.a"},
		{"an object", `{ a { b c } }`, cost.GQLCost, 2 + 1.5*(2+1.5*2), "query.a"},
		{"a list", `{ a(first: 10) { b } }`, cost.GQLCost, 2 + 1.5*10*3.5, "query.a"},
		{"a list of leaves", `{ a(limit: 10) }`, cost.GQLCost, 2 + 1.5*10, "query.a"},
		{"nested lists", `{ a(first: 10) { b(last: 20) { c } } }`, cost.GQLCost, 2 + 1.5*10*(2+1.5*20*3.5), "query.a.b"},
		{"as the guide reckons", `query($n: Int = 100) { search(first: $n) { edges { node { name } } } }`, cost.GQLCost, 1933.25, "query.search"},
		{"the greatest of several", `{ a(first: 3, last: 7, x: 90) }`, cost.GQLNodes, 7, "query.a"},
		{"paging", `{ a(pagination: {x: {limit: 99}, pageSize: 7}) }`, cost.GQLNodes, 7, "query.a"},
		{"not paging", `{ a(where: {limit: 7}) }`, cost.GQLNodes, 0, ""},
		{"a default", `query($n: Int = 40) { a(first: $n) }`, cost.GQLNodes, 40, "query.a"},
		{"a default of an object", `query($n: P = {take: 40}) { a(paging: $n) }`, cost.GQLNodes, 40, "query.a"},
		{"a variable without value", `query($n: Int) { a(first: $n) }`, cost.GQLNodes, graphql.DefaultList, "query.a"},
		{"a connection", `{ a { edges { node { id } } } }`, cost.GQLNodes, graphql.DefaultList, "query.a"},
		{"a connection in a fragment", `{ a { ...F } } fragment F on T { ... { nodes { id } } }`, cost.GQLNodes, graphql.DefaultList, "query.a"},
		{"nothing and less", `{ a(first: 0) { nodes { x } } b(first: -5) { nodes { y } } }`, cost.GQLNodes, 20, "query.a"},
		{
			"as GitHub counts", `{ v { r(first: 50) { edges { x: node { p(first: 20) { edges { node { l(last: 10) { n } } } } i(first: 20) { t } } } } f(last: 10) { e } } }`,
			cost.GQLNodes, 50 + 50*20 + 50*20*10 + 50*20 + 10, "query.v.r.edges.node.p.edges.node.l",
		},
		{"huge", `{ a(first: 1e400) { b(first: 99999999999999999999) } }`, cost.GQLCost, inf, "query.a.b"},
		{"another name of a length", `{ a(itemsPerPage: 7) b(count: 9) }`, cost.GQLNodes, 16, "query.b"},
		{"the last million, as some servers read it", `{ a(take: -1000000) { x } }`, cost.GQLNodes, 1e6, "query.a"},
		{"all there are, as some servers read it", `{ a(limit: -1) { x } }`, cost.GQLNodes, graphql.DefaultList, "query.a"},
		{"a mutation writes limits", `mutation { setLimit(limit: 50000, input: {first: 9}) { ok } }`, cost.GQLCost, 2 + 1.5*3.5, "mutation.setLimit"},
		{"but asks for lists below", `mutation { a { b(limit: 5) { c } } }`, cost.GQLNodes, 5, "mutation.a.b"},
		{"depth", `{ a { b { c } } d }`, cost.GQLDepth, 3, "query.a.b.c"},
		{"depth through fragments", `query Q { a { ...F } } fragment F on T { ... on U { ... @skip(if: $s) { b { c } } } }`, cost.GQLDepth, 3, "query.a.b.c"},
		{"aliases at each use", `{ a: x b { ...F } c { ...F } } fragment F on T { d: y e: z }`, cost.GQLAliases, 5, "query"},
		{"directives at each use", `query @q($a: Int) { x }`, cost.GQLDirectives, 0, ""},
		{"directives", `query($a: Int @v) @q { x @a(b: 1) @b ...F @c ...F } fragment F on T @f { y @d }`, cost.GQLDirectives, 9, "query"},
		{"introspection", `{ __schema { types { name fields { name args { name } type { kind ofType { ofType { ofType { name } } } } } } } }`, cost.GQLDepth, 0, "query.__schema"},
		{"introspection is told", `{ __schema { types { name } } __type(name: "A") { name } __typename }`, cost.ExpensiveClass, 2, "query"},
		{"introspection in circles", `{ __schema { types { fields { type { fields { type { fields { name } } } } } } } }`, cost.GQLDepth, 8, "query.__schema.types.fields.type.fields.type.fields.name"},
		{"the worst of several operations", `query A { a } subscription B { a { b } } fragment F on T { c { d { e } } }`, cost.GQLDepth, 2, "subscription.a.b"},
		{"root fields", `{ a b ...F ... { c } } fragment F on T { d { e f } }`, cost.GQLRootFields, 4, "query"},
		{"a description", `"""who""" query A("what" $x: Int) { a }`, cost.GQLDepth, 1, "query.a"},
		{"values of a fragment's variables", `{ ...F(n: 30) } fragment F($n: Int = 5) on T { a(first: $n) }`, cost.GQLNodes, 30, "query.a"},
	} {
		t.Run(c.name, func(t *testing.T) {
			list, fault := read(t, cost.Query{Body: []byte(c.document)}, cost.Options{})
			if c.value == 0 && c.path == "" {
				if m := find(list, c.p); m.Offset != -2 {
					t.Errorf("%+v", m)
				}
				return
			}
			if fault != nil {
				t.Fatal(fault)
			}
			if m := find(list, c.p); m.Value != c.value || m.Path != c.path {
				t.Errorf("%s is %v at %s, want %v at %s: %s", c.p, m.Value, m.Path, c.value, c.path, m.Detail)
			}
		})
	}
}

func TestRefuses(t *testing.T) {
	for _, c := range []struct {
		name, contentType, body string
		p                       cost.Predictor
		at                      int
		reason                  string
	}{
		{"nothing", "", "", cost.Unparsable, -1, "no query"},
		{"only space", "", " # a", cost.Unparsable, 0, "no operation"},
		{"only fragments", "", "fragment F on T { a }", cost.Unparsable, 0, "no operation"},
		{"a cycle", "", "{ ...A } fragment A on T { ...B } fragment B on T { a { ...A } }", cost.Unparsable, 56, "spreads itself"},
		{"a cycle that nobody uses", "", "{ a } fragment A on T { ...A }", cost.Unparsable, 24, "spreads itself"},
		{"no such fragment", "", "{ a { ...A } }", cost.Unparsable, 6, "does not exist"},
		{"a fragment twice", "", "{ ...A } fragment A on T { a } fragment A on T { b }", cost.Unparsable, 40, "the same name"},
		{"an end too early", "", "{ a { b }", cost.Unparsable, 9, "ends within"},
		{"too many ends", "", "{ a } }", cost.Unparsable, 6, "expected an operation or a fragment"},
		{"a schema", "", "type A { a: Int }", cost.Unparsable, 0, "expected an operation or a fragment"},
		{"no selections", "", "{ a { } }", cost.Unparsable, 6, "expected selections"},
		{"no arguments", "", "{ a() }", cost.Unparsable, 4, "expected an argument"},
		{"a string over lines", "", "{ a(b: \"\n\") }", cost.Unparsable, 7, "does not end on its line"},
		{"a string that servers end in two ways", "", `{ a(b: [""""""" ]) { c { d } } # """]) }`, cost.Unparsable, 8, "too many quotes"},
		{"brackets that cross", "", "{ a(b: [{c: 1]}) }", cost.Unparsable, 13, "expected the name of a member"},
		{"an odd character", "", "{ a% }", cost.Unparsable, 3, "unexpected character"},
		{"deep selections", "", strings.Repeat("{a", 1000), cost.BodyDepth, 1000, "nested deeper"},
		{"deep values", "", "{ a(b: " + strings.Repeat("[", 1000), cost.BodyDepth, 507, "nested deeper"},
		{"many tokens", "", "{" + strings.Repeat("a,", 60_000) + "}", cost.GQLTokens, 99_999, "more tokens"},
		{"no JSON", "application/json", "{ a }", cost.Unparsable, 2, "expected a string"},
		{"no query", "", `{"variables": {}}`, cost.Unparsable, -1, "no query"},
		{"a query that is no text", "", `{"query": {}}`, cost.Unparsable, 10, "expected a string"},
		{"a query twice", "", `{"query": "{a}", "query": "{b}"}`, cost.Unparsable, 25, "duplicate"},
		{"a query twice, in another case", "", `{"query": "{a}", "QU\u0065RY": "{b}"}`, cost.Unparsable, 30, "duplicate"},
		{"more than JSON", "", `{"query": "{a}"} {}`, cost.Unparsable, 17, "after the value"},
		{"a fault in a text with escapes", "", `{"query": "{\n\u0061 % }"}`, cost.Unparsable, 21, "unexpected character"},
		{"variables that are no object", "", `{"query": "query($n:Int){a(first:$n)}", "variables": [1]}`, cost.Unparsable, 53, "expected an object"},
		{"deep JSON", "", `{"x": ` + strings.Repeat("[", 1000), cost.BodyDepth, 506, "nested deeper"},
		{"an empty batch", "", `[]`, cost.Unparsable, 0, "empty batch"},
		{"a large batch", "", `[` + strings.Repeat(`{"query":"{a}"},`, 1000) + `{"query":"{a}"}]`, cost.Batch, 16_001, "more members"},
		{"a member that is none", "", `[{"query":"{a}"}, 1]`, cost.Unparsable, 18, "expected an object"},
		{"a form without boundary", "multipart/form-data", "--x\r\n", cost.Unparsable, -1, "boundary"},
		{"a form without operations", "multipart/form-data; boundary=x", "--x\r\nContent-Disposition: form-data; name=\"map\"\r\n\r\n{}\r\n--x--", cost.Unparsable, -1, "operations"},
		{"a parameter twice", "application/x-www-form-urlencoded", "query={a}&query={b}", cost.Unparsable, -1, "duplicate"},
	} {
		t.Run(c.name, func(t *testing.T) {
			_, fault := read(t, cost.Query{ContentType: c.contentType, Body: []byte(c.body)}, cost.Options{})
			if fault == nil {
				t.Fatal("it was read")
			}
			got := *fault
			if got.Predictor == 0 {
				got.Predictor = cost.Unparsable
			}
			if got.Predictor != c.p || got.Offset != c.at || !strings.Contains(got.Reason, c.reason) {
				t.Errorf("%s at %d: %s; want %s at %d: %s", got.Predictor, got.Offset, got.Reason, c.p, c.at, c.reason)
			}
		})
	}
	if _, fault := read(t, cost.Query{ContentEncoding: "gzip", Body: []byte("{a}")}, cost.Options{}); fault == nil || fault.Predictor != cost.Encoding {
		t.Errorf("gzip: %v", fault)
	}
	if _, fault := read(t, cost.Query{Body: []byte("{ a }")}, cost.Options{MaxBytes: 4}); fault == nil || fault.Predictor != cost.BodyBytes {
		t.Errorf("more than MaxBytes: %v", fault)
	}
}

// One is not several.
func TestDetailsCount(t *testing.T) {
	for document, want := range map[string]string{
		`{ a: b(first: 1) @c { d } }`:                "1 alias, 1 directive, 1 item requested, 1 field of the root",
		`{ a { __typename } }`:                       "2 levels of fields",
		`{ __schema { types { fields { name } } } }`: "1 introspection: the server describes its schema, 1 list of an introspection",
		`[{"query": "{a}"}]`:                         "1 request in a batch, 1 level of fields",
	} {
		var r graphql.Reader
		list, err := r.Read(nil, cost.Query{Body: []byte(document)}, cost.Options{Explain: true})
		if err != nil {
			t.Fatal(err)
		}
		var details []string
		for _, m := range list {
			details = append(details, m.Detail)
		}
		for part := range strings.SplitSeq(want, ", ") {
			if !slices.Contains(details, part) {
				t.Errorf("%s: no %q in %q", document, part, details)
			}
		}
	}
}

type fakeHints map[string]cost.FieldHint

func (h fakeHints) Field(index, field string) (cost.FieldHint, bool) {
	f, ok := h[index+"."+field]
	return f, ok
}
func (fakeHints) Index(string) (cost.IndexHint, bool) { return cost.IndexHint{}, false }
func (fakeHints) Age() time.Duration                  { return 0 }

func TestHintsKnowLists(t *testing.T) {
	o := cost.Options{Hints: fakeHints{"graphql.users": {Cardinality: 5000}, "graphql.one": {Cardinality: 1}}}
	for document, want := range map[string]float64{
		`{ users { id } }`:                 5000,
		`{ users(first: 5) { id } }`:       5,
		`{ a { users { id one { a } } } }`: 5000,
		`{ users }`:                        0,
	} {
		list, _ := read(t, cost.Query{Body: []byte(document)}, o)
		if got := find(list, cost.GQLNodes).Value; got != want {
			t.Errorf("%s: %v nodes, want %v", document, got, want)
		}
	}
}
