package app_test

import (
	"errors"
	"fmt"
	"net/http"
	"os"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/bezoar-dev/bezoar/internal/control/adminapi"
	"github.com/bezoar-dev/bezoar/internal/control/live"
	"github.com/bezoar-dev/bezoar/policy/breaker"
)

// steered is a Bezoar that a test steers through its admin API.
func steered(t *testing.T) (r *reloaded, text string) {
	t.Helper()
	text = fmt.Sprintf(`
listen: 127.0.0.1:0
admin: 127.0.0.1:0
store: 'memory:'
node: here
fleets:
  app: {command: [%q], env: {%s: worker}, replicas: 2, health: {path: /healthz}, shard: {size: 1}, concurrency: {limit: 9, per_caller: 5}}
routes:
  - {match: {path: /*}, fleet: app, client: "header:X-Api-Key", breaker: on, limits: [{rate: 100000/s}]}
`, os.Getenv(workVar), roleVar)
	r = follow(t, text)
	r.serving("app", 2)
	return r, text
}

// as sends a request of a caller.
func (r *reloaded) as(caller, target string) int {
	r.t.Helper()
	req, err := http.NewRequestWithContext(r.t.Context(), http.MethodGet, r.url+target, nil)
	if err != nil {
		r.t.Fatal(err)
	}
	req.Header.Set("X-Api-Key", caller)
	res, err := r.http.Do(req)
	if err != nil {
		r.t.Fatal(err)
	}
	defer res.Body.Close()
	return res.StatusCode
}

func TestOverridesThroughTheAPI(t *testing.T) {
	t.Parallel()
	r, _ := steered(t)
	ctx := t.Context()
	o, err := r.admin.SetOverride(ctx, adminapi.SetOverride{Caller: "thief", What: live.Deny, For: adminapi.Duration(time.Hour), Reason: "stolen key"})
	if err != nil || !strings.HasPrefix(o.By, "test") || time.Until(o.Until) < 59*time.Minute {
		t.Fatalf("%+v, %v", o, err)
	}
	if got := r.as("thief", "/"); got < 400 {
		t.Errorf("who is denied got %d", got)
	}
	if got := r.as("acme", "/"); got != http.StatusOK {
		t.Errorf("somebody else got %d", got)
	}
	if all, err := r.admin.Overrides(ctx); err != nil || len(all) != 1 || all[0].Reason != "stolen key" {
		t.Errorf("%+v, %v", all, err)
	}
	if err := r.admin.LiftOverride(ctx, o.ID); err != nil {
		t.Fatal(err)
	}
	if got := r.as("thief", "/"); got != http.StatusOK {
		t.Errorf("after it was lifted: %d", got)
	}
	wantProblem(t, r.admin.LiftOverride(ctx, o.ID), adminapi.CodeNotFound)
	if _, err := r.admin.SetOverride(ctx, adminapi.SetOverride{Caller: "2001:db8::7", What: live.Deny, For: adminapi.Duration(time.Hour)}); err != nil {
		t.Fatal(err)
	}
	for caller, want := range map[string]bool{"2001:db8::/64": true, "2001:db8:0:1::/64": false} { // as routes call them
		if got := r.as(caller, "/"); (got == http.StatusForbidden) != want {
			t.Errorf("%s got %d after one of its addresses was denied", caller, got)
		}
	}
	_, err = r.admin.SetOverride(ctx, adminapi.SetOverride{Route: "/none", What: live.Rate, For: adminapi.Duration(time.Hour)})
	wantProblem(t, err, adminapi.CodeInvalid)
}

func wantProblem(t *testing.T, err error, code string) {
	t.Helper()
	var p *adminapi.Problem
	if !errors.As(err, &p) || p.Code != code {
		t.Errorf("%v, want a problem %s", err, code)
	}
}

func TestBreakersThroughTheAPI(t *testing.T) {
	t.Parallel()
	r, _ := steered(t)
	ctx := t.Context()
	const name = "app /*"
	b, err := r.admin.ForceBreaker(ctx, name, adminapi.ForceBreaker{State: breaker.Open, For: adminapi.Duration(time.Hour)})
	if err != nil || b.State != breaker.Open || b.Forced == nil || !strings.HasPrefix(b.Forced.By, "test") || !b.Told {
		t.Fatalf("%+v, %v", b, err)
	}
	if got := r.as("acme", "/"); got != http.StatusServiceUnavailable {
		t.Errorf("behind an open breaker: %d", got)
	}
	if all, err := r.admin.Breakers(ctx); err != nil || len(all) != 1 || all[0].Name != name || all[0].State != breaker.Open {
		t.Errorf("%+v, %v", all, err)
	}
	if b, err = r.admin.ResetBreaker(ctx, name); err != nil || b.State != breaker.Closed || b.Forced != nil {
		t.Errorf("%+v, %v", b, err)
	}
	if got := r.as("acme", "/"); got != http.StatusOK {
		t.Errorf("after the reset: %d", got)
	}
	_, err = r.admin.ResetBreaker(ctx, "none")
	wantProblem(t, err, adminapi.CodeNotFound)
	r.audited("breaker.force breaker app /*", "breaker.reset breaker app /*", "breaker.reset breaker none")
}

// audited wants that these were written down, each with who did it.
func (r *reloaded) audited(want ...string) {
	r.t.Helper()
	entries, err := r.admin.Audit(r.t.Context(), 0, 100)
	if err != nil {
		r.t.Fatal(err)
	}
	var got []string
	for _, e := range entries {
		got = append(got, e.Action+" "+e.Object)
		if !strings.HasPrefix(e.Actor, "test from 127.0.0.1:") {
			r.t.Errorf("%s %s was done by %q", e.Action, e.Object, e.Actor)
		}
	}
	for _, w := range want {
		if !slices.Contains(got, w) {
			r.t.Errorf("the audit log has no %q, only %q", w, got)
		}
	}
}

func TestSettingsThroughTheAPI(t *testing.T) {
	t.Parallel()
	r, text := steered(t)
	ctx := t.Context()
	narrow := strings.Replace(text, "path: /*", "path: /only/*", 1)
	done, err := r.admin.PutSettings(ctx, adminapi.PutSettings{Text: []byte(narrow), Note: "only a part"})
	if err != nil || !done.New || done.Before != 1 || done.Version.Number != 2 || done.Error != "" || len(done.NextStart) != 0 {
		t.Fatalf("%+v, %v", done, err)
	}
	if all, one := r.as("a", "/x"), r.as("a", "/only/x"); all != http.StatusNotFound || one != http.StatusOK {
		t.Errorf("after the put: %d and %d", all, one)
	}
	if d, err := r.admin.Diff(ctx, 0, 0); err != nil || d.From != 1 || d.To != 2 || !strings.Contains(d.Text, "\n+  - {match: {path: /only/*}") {
		t.Errorf("%+v, %v", d, err)
	}
	base := int64(1)
	_, err = r.admin.PutSettings(ctx, adminapi.PutSettings{Text: []byte(text), Base: &base})
	wantProblem(t, err, adminapi.CodeConflict)
	_, err = r.admin.PutSettings(ctx, adminapi.PutSettings{Text: []byte(strings.Replace(text, "fleet: app", "fleet: ap", 1))})
	wantProblem(t, err, adminapi.CodeInvalidSettings)
	_, err = r.admin.PutSettings(ctx, adminapi.PutSettings{Text: []byte("  \n")})
	wantProblem(t, err, adminapi.CodeInvalidSettings)
	if v, err := r.admin.Version(ctx, 0); err != nil || v.Number != 2 || string(v.Text) != narrow || v.Note != "only a part" {
		t.Errorf("%+v, %v", v, err)
	}
	if done, err = r.admin.Rollback(ctx, 0); err != nil || done.Version.Number != 3 {
		t.Fatalf("%+v, %v", done, err)
	}
	if got := r.as("a", "/x"); got != http.StatusOK {
		t.Errorf("after the rollback: %d", got)
	}
	st, err := r.admin.Settings(ctx)
	if err != nil || st.Running.Number != 3 || st.File.Path != r.file {
		t.Errorf("%+v, %v", st, err)
	}
	r.audited("settings.put settings version 2", "settings.put settings", "settings.rollback settings version 3")
}

// A version that is kept and does not run here is no success, and no failure
// after which nothing has changed.
func TestAVersionThatCannotRunHere(t *testing.T) {
	t.Parallel()
	r, text := steered(t)
	gone := text[:strings.Index(text, "routes:")] + "routes: []\n"
	done, err := r.admin.PutSettings(t.Context(), adminapi.PutSettings{Text: []byte(gone)})
	if err != nil || done.Version.Number != 2 || !strings.Contains(done.Error, "version 2 cannot be applied: routes: none is left") {
		t.Fatalf("%+v, %v", done, err)
	}
	if st, err := r.admin.Settings(t.Context()); err != nil || st.Running.Number != 1 || st.Wanted.Number != 2 || st.Error == "" {
		t.Errorf("%+v, %v", st, err)
	}
	if got := r.as("a", "/x"); got != http.StatusOK {
		t.Errorf("what ran does not run on: %d", got)
	}
}

func TestFleetsShowTheirProtection(t *testing.T) {
	t.Parallel()
	r, _ := steered(t)
	if got := r.as("a", "/"); got != http.StatusOK {
		t.Fatal(got)
	}
	fleets, err := r.admin.Fleets(t.Context())
	if err != nil || len(fleets) != 1 {
		t.Fatal(fleets, err)
	}
	f := fleets[0]
	if p := f.Pool; p == nil || p.Limit != 9 || p.Adaptive || len(p.Classes) != 4 || p.Classes[1].Priority != "critical" || p.Classes[1].Admitted < 1 {
		t.Errorf("pool %+v", f.Pool)
	}
	if s := f.Shard; s == nil || s.Size != 1 || s.Whole != 0.5 || s.Overflow != "down" {
		t.Errorf("shard %+v", f.Shard)
	}
	for _, w := range f.Workers {
		if w.Held != nil || w.Share != 1 {
			t.Errorf("%s: %+v, share %g", w.Name, w.Held, w.Share)
		}
	}
	if report, err := r.admin.Health(t.Context()); err != nil || !strings.Contains(string(report), `"name":"fleet:app"`) {
		t.Errorf("%s, %v", report, err)
	}
}
