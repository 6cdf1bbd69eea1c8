package cost_test

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/bezoar-dev/bezoar/guard/cost"
)

func TestEveryPredictorHasOneName(t *testing.T) {
	seen := map[string]cost.Predictor{}
	for _, p := range cost.Predictors() {
		name := p.String()
		if strings.Contains(name, "(") || name == "" {
			t.Errorf("predictor %d has no name", uint8(p))
		}
		if other, ok := seen[name]; ok {
			t.Errorf("predictors %d and %d are both called %s", uint8(p), uint8(other), name)
		}
		seen[name] = p
		if got, err := cost.ParsePredictor(name); err != nil || got != p {
			t.Errorf("ParsePredictor(%q) = %v, %v; want %v", name, got, err, p)
		}
	}
	for _, name := range []string{"", "size", "predictor(0)", "RESULT_WINDOW"} {
		if p, err := cost.ParsePredictor(name); err == nil {
			t.Errorf("ParsePredictor(%q) = %v, want an error", name, p)
		}
	}
}

func TestPredictorsAreTextInJSON(t *testing.T) {
	out, err := json.Marshal(map[cost.Predictor]cost.Predictor{cost.InList: cost.OffsetRows})
	if err != nil || string(out) != `{"in_list":"offset"}` {
		t.Fatalf("Marshal = %s, %v", out, err)
	}
	var back map[cost.Predictor]cost.Predictor
	if err := json.Unmarshal(out, &back); err != nil || back[cost.InList] != cost.OffsetRows {
		t.Fatalf("Unmarshal = %v, %v", back, err)
	}
	if err := json.Unmarshal([]byte(`{"in_list":"many"}`), &back); err == nil {
		t.Fatal("an unknown name was read")
	}
}

func TestUnreadableSaysWhere(t *testing.T) {
	for _, c := range []struct {
		err  cost.Unreadable
		want string
	}{
		{cost.Unreadable{Reason: "no value", Offset: 7}, "cannot read the query: at byte 7: no value"},
		{cost.Unreadable{Reason: "CBOR", Offset: -1}, "cannot read the query: CBOR"},
	} {
		if got := c.err.Error(); got != c.want {
			t.Errorf("%q, want %q", got, c.want)
		}
	}
}
