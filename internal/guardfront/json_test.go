package guardfront

import (
	"encoding/json"
	"slices"
	"testing"

	"pgregory.net/rapid"
)

// The search finds what a full decoding finds, and does not fall over anything.
func TestTextsAtAgreesWithDecoding(t *testing.T) {
	leaf := rapid.OneOf(rapid.Just[any](nil), rapid.Just[any](true), rapid.Map(rapid.Float64Range(-1e9, 1e9), func(f float64) any { return f }),
		rapid.Map(rapid.StringMatching(`[ab"\\{}\[\],: é]{0,6}`), func(s string) any { return s }))
	var value func(depth int) *rapid.Generator[any]
	value = func(depth int) *rapid.Generator[any] {
		if depth == 0 {
			return leaf
		}
		below := rapid.Deferred(func() *rapid.Generator[any] { return value(depth - 1) })
		return rapid.OneOf(leaf,
			rapid.Map(rapid.SliceOfN(below, 0, 4), func(l []any) any { return l }),
			rapid.Map(rapid.MapOfN(rapid.SampledFrom([]string{"a", "b", `c"d`}), below, 0, 3), func(m map[string]any) any { return m }))
	}
	rapid.Check(t, func(t *rapid.T) {
		doc := value(4).Draw(t, "doc")
		text, err := json.MarshalIndent(doc, "", rapid.SampledFrom([]string{"", " ", "\t"}).Draw(t, "indent"))
		if err != nil {
			t.Fatal(err)
		}
		names := rapid.SliceOfN(rapid.SampledFrom([]string{"a", "b", "", `c"d`}), 1, 3).Draw(t, "names")
		var want []string
		var find func(v any, names []string)
		find = func(v any, names []string) {
			switch v := v.(type) {
			case string:
				if len(names) == 0 {
					want = append(want, v)
				}
			case []any:
				for _, e := range v {
					if _, isList := e.([]any); len(names) == 0 && !isList {
						find(e, nil)
					} else if len(names) > 0 && names[0] == "" {
						find(e, names[1:])
					}
				}
			case map[string]any:
				if len(names) > 0 && names[0] != "" {
					if e, ok := v[names[0]]; ok {
						find(e, names[1:])
					}
				}
			}
		}
		find(doc, names)
		if found := textsAt(nil, text, names); !slices.Equal(found, want) && len(want) <= maxTexts {
			t.Fatalf("%s at %q: %q, want %q", text, names, found, want)
		}
	})
}
