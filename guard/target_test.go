package guard_test

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"github.com/bezoar-dev/bezoar/guard"
)

func judgeBatch(t *testing.T, limits, body string) *guard.Verdict {
	t.Helper()
	l, err := guard.ParseLimits("test.yaml", []byte(limits))
	if err != nil {
		t.Fatal(err)
	}
	g, err := guard.New(guard.Config{Limits: l})
	if err != nil {
		t.Fatal(err)
	}
	var v guard.Verdict
	g.Check(&guard.Query{Kind: guard.Elasticsearch, Method: "POST", Path: "/_msearch", Body: []byte(body)}, &v)
	return &v
}

// Names that come last in a list do not decide for those before them, and what a
// verdict says of them stays short.
func TestListsOfIndices(t *testing.T) {
	const looser = `rules: [{predictor: result_window, limit: 50000, action: reject, index: "small-*"}]`
	const search = "\n{\"query\":{\"term\":{\"a\":1}},\"size\":20000}\n"
	for header, want := range map[string]guard.Outcome{
		`{"index":"small-1"}`:                                guard.Accepted,
		`{"index":["small-1","small-2"]}`:                    guard.Accepted,
		`{"index":["big","small-1"]}`:                        guard.Rejected,
		`{"index":["small-1","big"]}`:                        guard.Rejected,
		`{"index":"big,small-1"}`:                            guard.Rejected,
		`{"index":"` + strings.Repeat("big,", 1000) + `a*"}`: guard.Rejected,
	} {
		v := judgeBatch(t, looser, header+search)
		window := false
		for _, f := range v.Findings {
			window = window || f.Predictor == "result_window"
		}
		if window != (want == guard.Rejected) {
			t.Errorf("%.60s: %s, %+v", header, v.Verdict, v.Findings)
		}
	}
	var many strings.Builder
	for i := range 50_000 {
		fmt.Fprintf(&many, "i%d*,", i)
	}
	v := judgeBatch(t, looser, `{"index":"`+many.String()+`a"}`+search)
	text, err := json.Marshal(v)
	if err != nil || v.Verdict != guard.Rejected || len(text) > 16<<10 {
		t.Errorf("%s in %d bytes: %v", v.Verdict, len(text), err)
	}
}
