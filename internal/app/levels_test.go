package app_test

import (
	"net/http"
	"slices"
	"strings"
	"testing"

	"github.com/bezoar-dev/bezoar"
	"github.com/bezoar-dev/bezoar/internal/control/adminapi"
)

// A verdict is on one variant: it says so to whom it refuses, and to operators why.
// Another variant of the URL that kills has a letter of its own, and what a letter
// lacks is said when it is sent again.
func TestVerdictsLettersAndRedrivesAreOfVariants(t *testing.T) {
	t.Parallel()
	r := run(t, setup{Replicas: 4})
	ctx := t.Context()
	plain, secret := map[string]string{"X-Theme": "neon"}, map[string]string{"X-Theme": "dark", "Cookie": "a=1"}
	var refused []answer
	for _, header := range []map[string]string{plain, secret} {
		for range 4 {
			a := r.sendWith("GET", "/search?q=crash", "", header)
			if a.status == http.StatusServiceUnavailable && strings.Contains(a.body, `"scope":"variant"`) {
				refused = append(refused, a)
				break
			}
			r.until("the fleet is whole", func() bool { return r.serving() == 4 })
		}
	}
	if len(refused) != 2 {
		t.Fatalf("%d of 2 variants are refused: %+v", len(refused), r.convicts())
	}
	for _, a := range refused {
		checkRefusal(t, a)
	}
	var letters []bezoar.Letter
	r.until("both letters are written", func() bool {
		ls, err := r.admin.Letters(ctx, adminapi.LetterQuery{})
		letters = ls
		return err == nil && len(ls) == 2
	})
	if letters[0].Fingerprint != letters[1].Fingerprint || letters[0].Variant == letters[1].Variant || letters[0].Variant.IsZero() {
		t.Errorf("the letters are of %v %v and %v %v", letters[0].Fingerprint, letters[0].Variant, letters[1].Fingerprint, letters[1].Variant)
	}
	verdicts := map[string]bezoar.Verdict{}
	for _, v := range r.convicts() {
		whole, err := r.admin.Verdict(ctx, v.ID)
		if err != nil || whole.Scope != bezoar.ScopeVariant || len(whole.Why) < 3 || adminapi.HeldText(&whole) != "variant of GET /search?q=crash" {
			t.Errorf("verdict %+v, %v", whole, err)
		}
		verdicts[v.ID] = whole
	}
	for _, l := range letters {
		v, ok := verdicts[l.Verdict]
		if !ok || v.Variant != l.Variant {
			t.Errorf("letter %s of variant %v names %q, which is about %v", l.ID, l.Variant, l.Verdict, v.Variant)
		}
		var missing []string
		if l.Request.Header["Cookie"] != nil {
			missing = []string{"Cookie"}
		}
		out, err := r.admin.Redrive(ctx, l.ID)
		if err != nil || out.Outcome != adminapi.Crashed || !slices.Equal(out.Missing, missing) {
			t.Errorf("the redrive of %v is %+v, %v", l.Request.Header, out, err)
		}
		if says := strings.Contains(out.Reason, "without Cookie, which is redacted: it may not have been the same request"); says != (missing != nil) {
			t.Errorf("the redrive says %q", out.Reason)
		}
		if same := out.Verdict == l.Verdict; same != (missing == nil) {
			t.Errorf("the redrive of %v counts against %s; its letter names %s", l.Request.Header, out.Verdict, l.Verdict)
		}
		r.until("the fleet is whole", func() bool { return r.serving() == 4 })
	}
}

// A route that only reports says what it would have done, and does nothing of it.
func TestARouteThatOnlyReports(t *testing.T) {
	t.Parallel()
	r := run(t, setup{Replicas: 4, Report: true})
	const copies = 4
	for i := range copies {
		if a := r.get("/search?q=crash"); a.status != http.StatusBadGateway {
			t.Errorf("copy %d got %d %s, want 502", i, a.status, a.body)
		}
		r.until("it is replaced", func() bool { return r.serving() == 4 })
	}
	vs := r.convicts()
	if r.deaths() != copies || len(vs) != 1 || !vs[0].ReportOnly || vs[0].Refused == 0 {
		t.Fatalf("%d deaths, verdicts %+v", r.deaths(), vs)
	}
	fleets, err := r.admin.Fleets(t.Context())
	if err != nil || fleets[0].Counters["would_refuse"] != vs[0].Refused || fleets[0].Counters["would_isolate"] == 0 || fleets[0].Counters["refused"] != 0 {
		t.Errorf("it counts %+v, %v", fleets, err)
	}
}
