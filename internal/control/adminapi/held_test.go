package adminapi_test

import (
	"encoding/json"
	"testing"

	"github.com/bezoar-dev/bezoar"
	"github.com/bezoar-dev/bezoar/internal/control/adminapi"
)

func TestWhatARedriveIsSentWithout(t *testing.T) {
	for want, missing := range map[string][]string{
		"Cookie, which is redacted":                                  {"Cookie"},
		"Authorization and Cookie, which are redacted":               {"Authorization", "Cookie"},
		"A, Cookie and parameters of the target, which are redacted": {"A", "Cookie", "target"},
		"parameters of the target, which are redacted":               {"target"},
	} {
		if got := adminapi.WithoutText(missing); got != want {
			t.Errorf("%v is %q, want %q", missing, got, want)
		}
	}
}

// Scripts read these names.
func TestTheNamesOfAVerdictAreStable(t *testing.T) {
	fp := bezoar.Fingerprint{1}
	text, err := json.Marshal(bezoar.Verdict{
		Variant: fp, Client: fp, Features: []string{"f"}, FeatureHashes: []uint64{1}, Killers: 1, Successes: 1, Pace: 1, SidePace: 1, Late: true, Why: []string{"w"}, ReportOnly: true,
	})
	if err != nil {
		t.Fatal(err)
	}
	var names map[string]any
	if err := json.Unmarshal(text, &names); err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{
		"id", "scope", "state", "fingerprint", "variant", "client", "shape", "features", "feature_hashes", "killers", "successes", "pace", "side_pace", "late", "why", "report_only",
	} {
		if _, ok := names[name]; !ok {
			t.Errorf("a verdict has no %s: %s", name, text)
		}
	}
}

func TestWhatIsHeldInWords(t *testing.T) {
	fp, caller := bezoar.Fingerprint{0xab}, bezoar.Fingerprint{0xcd}
	for want, v := range map[string]bezoar.Verdict{
		"variant of GET /x":                {Scope: bezoar.ScopeVariant, Sample: "GET /x"},
		"variant of ab000000…":             {Scope: bezoar.ScopeVariant, Fingerprint: fp},
		"GET /x":                           {Scope: bezoar.ScopeWork, Sample: "GET /x"},
		"GET /x with header X-Theme: neon": {Scope: bezoar.ScopeFeature, Sample: "GET /x", Features: []string{"header X-Theme: neon"}},
		"GET /x with header X-Theme and cookie a": {
			Scope: bezoar.ScopeFeature, Sample: "GET /x", Features: []string{"header X-Theme", "cookie a"},
		},
		"GET /x from caller cd000000…":                      {Scope: bezoar.ScopeFeature, Sample: "GET /x", Client: caller},
		"GET /x with something that killers have in common": {Scope: bezoar.ScopeFeature, Sample: "GET /x"},
		"caller ab000000…: lane only, 0.25/s":               {Scope: bezoar.ScopeClient, State: bezoar.Laned, Fingerprint: fp, Pace: 0.25},
		"shape ab000000…, such as GET /x: lane only":        {Scope: bezoar.ScopeShape, State: bezoar.Laned, Fingerprint: fp, Sample: "GET /x"},
		"shape ab000000…":                                   {Scope: bezoar.ScopeShape, State: bezoar.Quarantined, Fingerprint: fp},
	} {
		if got := adminapi.HeldText(&v); got != want {
			t.Errorf("%+v is %q, want %q", v, got, want)
		}
	}
}
