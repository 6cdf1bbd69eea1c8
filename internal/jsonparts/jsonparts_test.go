package jsonparts_test

import (
	"encoding/json"
	"reflect"
	"testing"

	"github.com/bezoar-dev/bezoar/internal/jsonparts"
)

// build makes the value that parts and texts say.
func build(t *testing.T, value []byte) any {
	switch value[0] {
	case '{':
		object := map[string]any{}
		for name, part := range jsonparts.Of(value) {
			object[string(jsonparts.Text(name))] = build(t, part)
		}
		return object
	case '[':
		list := []any{}
		for name, part := range jsonparts.Of(value) {
			if name != nil {
				t.Fatalf("an element of %s has the name %s", value, name)
			}
			list = append(list, build(t, part))
		}
		return list
	case '"':
		return string(jsonparts.Text(value))
	}
	for _, part := range jsonparts.Of(value) {
		t.Fatalf("%s has the part %s", value, part)
	}
	var plain any
	if err := json.Unmarshal(value, &plain); err != nil {
		t.Fatalf("%q: %v", value, err)
	}
	return plain
}

// FuzzParts: the parts of a text are those that the standard library reads.
func FuzzParts(f *testing.F) {
	for _, s := range []string{
		`{"a":1,"b":[true,null,{}],"c\"":"\\"}`, ` [ [ ] , "]" , -1.5e3 ] `, `"\ud83d\ude00"`, `{"a":1,"a":{"b" : 2}}`, "\"\xff\"", "12 ", "", "{", `{"\xff":0}`, "\t{\r\n\"a\"\t:\n1 }\n",
	} {
		f.Add([]byte(s))
	}
	f.Fuzz(func(t *testing.T, text []byte) {
		value := jsonparts.Valid(text)
		var want any
		if json.Unmarshal(text, &want) != nil {
			if value != nil {
				var syntax json.RawMessage
				if json.Unmarshal(text, &syntax) != nil {
					t.Fatalf("%q is no JSON", text)
				}
			}
			return
		}
		if got := build(t, value); !reflect.DeepEqual(got, want) && !repeats(value) {
			t.Fatalf("%q: %v, want %v", text, got, want)
		}
	})
}

// repeats reports whether an object within the value has a name twice. The standard library merges such members.
func repeats(value []byte) bool {
	seen := map[string]bool{}
	for name, part := range jsonparts.Of(value) {
		if name != nil && seen[string(jsonparts.Text(name))] || repeats(part) {
			return true
		}
		if name != nil {
			seen[string(jsonparts.Text(name))] = true
		}
	}
	return false
}
