package schema_test

import (
	"fmt"
	"runtime"
	"strings"
	"sync"
	"testing"
	"time"

	"go.uber.org/goleak"

	"github.com/bezoar-dev/bezoar/internal/queue/schema"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

const order = `{
	"$schema": "https://json-schema.org/draft/2020-12/schema",
	"type": "object",
	"required": ["id", "items"],
	"properties": {
		"id": {"type": "string", "pattern": "^o-[0-9]+$"},
		"items": {"type": "array", "minItems": 1, "items": {"$ref": "#/$defs/item"}},
		"pay": {"oneOf": [{"const": "card"}, {"const": "cash"}]}
	},
	"additionalProperties": false,
	"$defs": {"item": {"type": "object", "properties": {"n": {"type": "integer", "minimum": 1}, "an odd name": {"type": "null"}}}}
}`

func compile(t testing.TB, text string) *schema.Schema {
	t.Helper()
	s, err := schema.Compile(text)
	if err != nil {
		t.Fatal(err)
	}
	return s
}

func TestViolationsNameRuleAndPath(t *testing.T) {
	s := compile(t, order)
	for _, tc := range []struct{ body, want, where string }{
		{`{"id":"o-1","items":[{"n":1}],"pay":"cash"}`, "", ""},
		{`{"id":"o-1","items":[{"n":1.0}]}`, "", ""}, // an integer by its value
		{`{"id":"o-1","items":[{"n":1},{"n":0},{"n":-1}]}`, `minimum at $.items[1].n: minimum: got 0, want 1`, "$.items[*].n"},
		{`{"id":"secret","items":[{}]}`, `pattern at $.id: does not match "^o-[0-9]+$"`, "$.id"},
		{`{"items":[]}`, `required at $: missing property 'id'`, "$"},
		{`{"id":"o-1","items":[]}`, `minItems at $.items: minItems: got 0, want 1`, "$.items"},
		{`{"id":"o-1","items":[{}],"pay":"iou"}`, `oneOf at $.pay: 'oneOf' failed, none matched`, "$.pay"},
		{`{"id":"o-1","items":[{}],"secret":1,"other":2}`, `additionalProperties at $: has 2 properties that are not allowed`, "$"},
		{`{"id":"o-1","items":[{"an odd name":1}]}`, `type at $.items[0]["an odd name"]: got number, want null`, `$.items[*]["an odd name"]`},
		{`[]`, `type at $: got array, want object`, "$"},
		{`{"id":` + "\n" + `"o-1",}`, `json at $: the body is not JSON: line 2, column 7: invalid character '}' looking for beginning of object key string`, "$"},
		{`{} {}`, `json at $: the body is not JSON: line 1, column 4: something follows the value`, "$"},
		{``, `json at $: the body is not JSON: it ends too early`, "$"},
		{`{"id":"o-1","items":[{"n":1e1000000000}]}`, `number at $: has a number beyond 400 digits or the power of ten 400`, "$"},
		{`{"id":"o-1","items":[{"n":` + strings.Repeat("1", 401) + `}]}`, `number at $: has a number beyond 400 digits or the power of ten 400`, "$"},
		{strings.Repeat("[", 200) + strings.Repeat("]", 200), `depth at $: nests deeper than 128`, "$"},
		{"[" + strings.Repeat("1,", 100_000) + "1]", `size at $: has more than 100000 values`, "$"},
	} {
		got := ""
		v := s.Check([]byte(tc.body))
		if v != nil {
			got = v.Error()
		}
		if got != tc.want {
			t.Errorf("%.80s:\n%s, want\n%s", tc.body, got, tc.want)
		} else if v != nil && v.Where != tc.where {
			t.Errorf("%.80s: where is %s, want %s", tc.body, v.Where, tc.where)
		}
	}
}

// Objects have no order, but of two things that are wrong always the same one
// is reported.
func TestTheSameBodyAlwaysHasTheSameViolation(t *testing.T) {
	s := compile(t, `{"additionalProperties": {"type": "string"}, "properties": {"z": {"type": "null", "minimum": 3}}}`)
	for range 50 {
		if v := s.Check([]byte(`{"z":1,"d":2,"c":3,"b":4,"e":5}`)); v == nil || v.Error() != "type at $.b: got number, want string" {
			t.Fatalf("got %v", v)
		}
	}
}

func TestSchemasAtFaultAreRefusedWithThePlace(t *testing.T) {
	for name, tc := range map[string]struct{ text, want string }{
		"no JSON":         {`{"type": }`, "the schema is not JSON: line 1, column 10"},
		"no schema":       {`{"properties": {"a": {"type": "strong"}}}`, "the schema at $.properties.a.type: "},
		"not an object":   {`[]`, "the schema at $: "},
		"a bad pattern":   {`{"properties": {"a": {"pattern": "("}}}`, "pattern"},
		"lookahead":       {`{"pattern": "(?=a)"}`, "pattern"},
		"remote":          {`{"$ref": "https://example.com/x.json"}`, "a schema has to contain all that it refers to"},
		"a file":          {`{"$ref": "file:///etc/passwd"}`, "a schema has to contain all that it refers to"},
		"nowhere":         {`{"$ref": "#/$defs/x"}`, "#/$defs/x"},
		"an old draft":    {`{"$schema": "http://json-schema.org/draft-07/schema#"}`, "is not the draft 2020-12"},
		"nested draft":    {`{"$defs": {"a": {"$id": "a", "$schema": "https://example.com/meta"}}}`, "a schema has to contain all that it refers to"},
		"too long":        {`{"title": "` + strings.Repeat("x", schema.MaxBytes) + `"}`, "more than 65536"},
		"too deep":        {strings.Repeat(`{"not":`, 200) + "{}" + strings.Repeat("}", 200), "deeper than 128"},
		"too many":        {`{"anyOf": [` + strings.Repeat("{},", 5000) + `{}]}`, "more than 4096"},
		"huge pattern":    {`{"pattern": "` + strings.Repeat("x", 2000) + `"}`, "more than 1024"},
		"huge number":     {`{"minimum": 1e999999999}`, "the power of ten 400"},
		"a blown pattern": {`{"pattern": "((a{100}){100}){100}"}`, "pattern"},
	} {
		_, err := schema.Compile(tc.text)
		if err == nil || !strings.Contains(err.Error(), tc.want) {
			t.Errorf("%s: %v, want %q in it", name, err, tc.want)
		}
		if err != nil && len(err.Error()) > 1000 {
			t.Errorf("%s: an error of %d bytes", name, len(err.Error()))
		}
	}
}

// What schema and body make of each other may be exponential; a check is not.
func TestHostileSchemasTakeABoundedTime(t *testing.T) {
	for name, tc := range map[string]struct{ text, body, rule string }{
		"with depth":   {`{"anyOf": [{"properties": {"a": {"$ref": "#"}}, "minProperties": 9}, {"properties": {"a": {"$ref": "#"}}, "minProperties": 9}]}`, strings.Repeat(`{"a":`, 100) + "{}" + strings.Repeat("}", 100), "cost"},
		"by a pattern": {`{"pattern": "(x+x+){30}y"}`, `"` + strings.Repeat("x", 1<<20-2) + `"`, "cost"},
		"in a circle":  {`{"$ref": "#"}`, `{}`, "$ref"},
		"of a list":    {`{"items": {"enum": [` + strings.Repeat(`"a long one", `, 1000) + `"b"]}}`, "[" + strings.Repeat(`"c",`, 30_000) + `"c"]`, "enum"},
	} {
		began := time.Now()
		v := compile(t, tc.text).Check([]byte(tc.body))
		if v == nil || v.Rule != tc.rule {
			t.Errorf("%s: %v, want rule %s", name, v, tc.rule)
		}
		if took := time.Since(began); took > 2*time.Minute {
			t.Errorf("%s took %v", name, took)
		} else {
			t.Logf("%s took %v", name, took)
		}
	}
}

// doubling is a schema in which each of n alternatives refers twice to the next.
func doubling(n int, list string) string {
	defs := make([]string, n)
	for i := range defs {
		defs[i] = fmt.Sprintf(`"d%d": {%q: [{"$ref": "#/$defs/d%d"}, {"$ref": "#/$defs/d%d"}]}`, i, list, i+1, i+1)
	}
	return fmt.Sprintf(`{"properties": {"a": {"items": {"$ref": "#/$defs/d0"}}}, "$defs": {%s, "d%d": {"type": "string", "minLength": 3}}}`, strings.Join(defs, ","), n)
}

// A few references to references are half a million ways to hold one value against
// a schema. That is known before there is a body.
func TestSchemasThatMultiplyAreRefused(t *testing.T) {
	for _, list := range []string{"anyOf", "allOf", "oneOf"} {
		for _, n := range []int{12, 18, 60, 500} {
			if _, err := schema.Compile(doubling(n, list)); err == nil || !strings.Contains(err.Error(), "references multiply") {
				t.Errorf("%s, %d times: %v", list, n, err)
			}
		}
		compile(t, doubling(8, list))
	}
	wide := `{"anyOf": [` + strings.Repeat(`{"$ref": "#/$defs/a"},`, 1000) + `{"$ref": "#/$defs/a"}], "$defs": {"a": {"type": "object", "properties": {"a": {"$ref": "#"}}}}}`
	compile(t, wide)
}

// What a check leaves behind depends on the body, not on how cunning the schema is.
// Descriptions of APIs and pipelines have schemas as costly as honest ones get: what
// may be a reference or the thing itself, at each level.
func TestHonestSchemasOfLargeBodiesPass(t *testing.T) {
	s := compile(t, `{
		"$ref": "#/$defs/thing",
		"$defs": {
			"ref": {"type": "object", "required": ["$ref"], "properties": {"$ref": {"type": "string", "format": "uri-reference"}}, "additionalProperties": false},
			"either": {"oneOf": [{"$ref": "#/$defs/thing"}, {"$ref": "#/$defs/ref"}]},
			"thing": {
				"type": "object",
				"properties": {
					"type": {"enum": ["array", "object", "string", "number", "boolean"]},
					"title": {"type": "string", "maxLength": 80},
					"properties": {"type": "object", "additionalProperties": {"$ref": "#/$defs/either"}},
					"items": {"$ref": "#/$defs/either"},
					"allOf": {"type": "array", "items": {"$ref": "#/$defs/either"}}
				},
				"patternProperties": {"^x-": {}},
				"additionalProperties": false
			}
		}
	}`)
	thing := `{"type": "string", "title": "a name"}`
	for range 6 {
		thing = fmt.Sprintf(`{"type": "object", "x-order": 1, "properties": {"a": %[1]s, "b": {"type": "array", "items": {"$ref": "#/things/b"}}, "c": %[1]s, "d": %[1]s}}`, thing)
	}
	if v := s.Check([]byte(thing)); v != nil {
		t.Errorf("%d bytes are refused: %v", len(thing), v)
	}
}

func TestSmallBodiesAreCheckedInLittleMemory(t *testing.T) {
	s := compile(t, `{"anyOf": [{"properties": {"a": {"$ref": "#"}}, "minProperties": 9}, {"properties": {"a": {"$ref": "#"}}, "minProperties": 9}]}`)
	body := []byte(strings.Repeat(`{"a":`, 24) + "{}" + strings.Repeat("}", 24))
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	v := s.Check(body)
	runtime.ReadMemStats(&after)
	if took := after.TotalAlloc - before.TotalAlloc; v == nil || v.Rule != "cost" || took > 32<<20 {
		t.Errorf("%v, with %d bytes for a body of %d", v, took, len(body))
	}
}

func TestChecksGoOnAtTheSameTime(t *testing.T) {
	s := compile(t, order)
	var all sync.WaitGroup
	for i := range 16 {
		all.Go(func() {
			for range 200 {
				if v := s.Check(fmt.Appendf(nil, `{"id":"o-%d","items":[{"n":%d}]}`, i, i%2)); (v == nil) != (i%2 == 1) {
					t.Errorf("body %d: %v", i, v)
					return
				}
			}
		})
	}
	all.Wait()
}

func FuzzCheck(f *testing.F) {
	f.Add(order, `{"id":"o-1","items":[{"n":1}]}`)
	f.Add(`{"$dynamicRef": "#x", "$dynamicAnchor": "x"}`, `[[1e5]]`)
	f.Add(`{"unevaluatedProperties": false, "if": {"multipleOf": 0.1}, "else": {"not": true}}`, `{"a": null}`)
	f.Add(`{"uniqueItems": true, "contains": {"const": {}}}`, `[1, 1.0, 1e0]`)
	f.Fuzz(func(t *testing.T, text, body string) {
		s, err := schema.Compile(text)
		if err != nil {
			return
		}
		one, two := s.Check([]byte(body)), s.Check([]byte(body))
		if (one == nil) != (two == nil) || one != nil && (one.Rule != two.Rule || one.Path != two.Path) {
			t.Fatalf("%v, then %v", one, two)
		}
		if one != nil && (one.Rule == "" || one.Path == "" || len(one.Error()) > 1000) {
			t.Fatalf("%q explains nothing", one.Error())
		}
	})
}

func BenchmarkCheck(b *testing.B) {
	s := compile(b, order)
	body := []byte(`{"id":"o-1","items":[{"n":1},{"n":2},{"n":3}],"pay":"cash"}`)
	b.ReportAllocs()
	for b.Loop() {
		if v := s.Check(body); v != nil {
			b.Fatal(v)
		}
	}
}
