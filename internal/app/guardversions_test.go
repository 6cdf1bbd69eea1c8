package app_test

import (
	"errors"
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/bezoar-dev/bezoar/internal/control/adminapi"
	"github.com/bezoar-dev/bezoar/internal/control/config"
	"github.com/bezoar-dev/bezoar/internal/control/live"
)

// limited are settings of which limits are in a file, and those of another route
// in a block.
func limited(store, worker, file string) string {
	return fmt.Sprintf(`listen: 127.0.0.1:0
admin: 127.0.0.1:0
store: %q
live: {poll: 20ms}
fleets:
  search: {%s}
routes:
  - {match: {path: /*}, fleet: search, guard: {query: elasticsearch, limits: %q}}
  - match: {path: /own/*}
    fleet: search
    guard:
      query: elasticsearch
      rules: |
        rules:
          - {predictor: result_window, limit: 1000}
`, store, worker, file)
}

func (r *reloaded) version() int64 { return r.live().Status().Running.Number }

// problem is what a call was refused with.
func problem(t *testing.T, err error) *adminapi.Problem {
	t.Helper()
	p, ok := errors.AsType[*adminapi.Problem](err)
	if !ok {
		t.Fatalf("%v is no problem", err)
	}
	return p
}

// Limits are settings, whether a file or the API changes them: they have a
// history, differences, and a way back, and no request is lost on it.
func TestLimitsAreVersionedSettings(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	file := filepath.Join(dir, "guard.yaml")
	put(t, file, window(1000, "reject"))
	e := newElastic(t)
	r := follow(t, limited("sqlite:"+filepath.Join(dir, "b.db"), e.worker(), file))
	stop := r.traffic(3)
	ctx := t.Context()

	put(t, file, window(100, "reject"))
	r.searches(500, 400)
	history, err := r.admin.Versions(ctx, 0)
	if err != nil || len(history) != 2 || history[0].Source != live.FromFile || history[0].Note != file {
		t.Fatalf("%+v, %v", history, err)
	}
	d, err := r.admin.Diff(ctx, 0, 0)
	if err != nil || !strings.Contains(d.Text, "-  - {predictor: result_window, limit: 1000") || !strings.Contains(d.Text, "+  - {predictor: result_window, limit: 100,") {
		t.Errorf("%s, %v", d.Text, err)
	}
	if _, err := r.admin.Rollback(ctx, 0); err != nil {
		t.Fatal(err)
	}
	r.searches(500, 200)
	st, err := r.admin.Settings(ctx)
	if err != nil || st.File.Runs || len(st.File.Files) != 1 || st.File.Files[0].Runs || st.File.Files[0].Path != file {
		t.Errorf("%+v, %v", st.File, err)
	}
	r.hangUp <- struct{}{} // undoes no rollback
	put(t, file, window(200, "reject"))
	r.searches(500, 400)
	put(t, file, "rules: [{predictor: result_widow, limit: 1}]\n")
	r.until("it is said what is wrong with the file", func() bool {
		f := r.live().Status().File
		return strings.Contains(f.Error, "guard.yaml:1:") && !f.ErrorAt.IsZero() && r.version() == 4
	})
	r.limitsByAPI(t, file)
	if sent := stop(); sent < 10 {
		t.Errorf("only %d queries were sent", sent)
	}
}

// limitsByAPI changes limits alone; version 4 runs.
func (r *reloaded) limitsByAPI(t *testing.T, file string) {
	ctx := t.Context()
	l, err := r.admin.GuardLimits(ctx, "/*")
	if err != nil || l.File != file || l.Version != 4 || string(l.Text) != window(200, "reject") || len(l.Routes) != 1 {
		t.Fatalf("%+v, %v", l, err)
	}
	done, err := r.admin.PutGuardLimits(ctx, "/*", adminapi.PutGuardLimits{Text: []byte(window(600, "reject")), Base: &l.Version, Note: "too tight"})
	if err != nil || !done.New || done.Version.Number != 5 || done.Version.Note != "too tight" {
		t.Fatalf("%+v, %v", done, err)
	}
	if a := r.search(500, "/shop/_search", ""); a.status != 200 {
		t.Errorf("after the limits were put: %d %s", a.status, a.body)
	}
	_, err = r.admin.PutGuardLimits(ctx, "/*", adminapi.PutGuardLimits{Text: []byte(window(1, "reject")), Base: &l.Version})
	if p := problem(t, err); p.Status != http.StatusConflict {
		t.Errorf("on an old base: %+v", p)
	}
	_, err = r.admin.PutGuardLimits(ctx, "/*", adminapi.PutGuardLimits{Text: []byte("rules:\n  - {predictor: result_widow, limit: 1}\n")})
	if p := problem(t, err); p.Status != http.StatusUnprocessableEntity || len(p.Faults) != 1 || p.Faults[0].Line != 2 || p.Faults[0].Column == 0 {
		t.Errorf("of what is invalid: %+v", p)
	}
	_, err = r.admin.PutGuardLimits(ctx, "/none", adminapi.PutGuardLimits{Text: []byte("dial: 1")})
	if p := problem(t, err); p.Status != http.StatusNotFound {
		t.Errorf("of no route: %+v", p)
	}
	// In a block, whose lines are those of the settings.
	before, err := r.live().Version(ctx, 0)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := r.admin.PutGuardLimits(ctx, "/own/*", adminapi.PutGuardLimits{Text: []byte("# ours\n" + window(50, "reject"))}); err != nil {
		t.Fatal(err)
	}
	if a := r.search(60, "/own/_search", ""); a.status != 400 {
		t.Errorf("after the rules were put: %d %s", a.status, a.body)
	}
	after, err := r.live().Version(ctx, 0)
	want := strings.Replace(string(before.Text), "        rules:\n          - {predictor: result_window, limit: 1000}\n",
		"        # ours\n        rules:\n          - {predictor: result_window, limit: 50, action: reject}\n", 1)
	if err != nil || string(after.Text) != want {
		t.Errorf("the settings are\n%s%v", after.Text, err)
	}
	bad := strings.Replace(want, "predictor: result_window, limit: 50", "predictor: result_widow, limit: 50", 1)
	_, err = r.admin.PutSettings(ctx, adminapi.PutSettings{Text: []byte(bad)})
	if p := problem(t, err); p.Status != http.StatusUnprocessableEntity || len(p.Faults) != 1 || p.Faults[0].Line != 16 || p.Faults[0].File != "settings" {
		t.Errorf("of settings whose rules are invalid: %+v", p.Faults)
	}
	if n := r.version(); n != 6 {
		t.Errorf("version %d runs", n)
	}
}

// Nodes of one store have the same limits, wherever these come from, and those
// that do not have the file.
func TestNodesShareLimits(t *testing.T) {
	t.Parallel()
	server := os.Getenv("BEZOAR_TEST_POSTGRES")
	if server == "" {
		t.Skip("no PostgreSQL: run make test, or export BEZOAR_TEST_POSTGRES=$(scripts/postgres start)")
	}
	url, file := newDatabase(t, server), filepath.Join(t.TempDir(), "guard.yaml")
	put(t, file, window(1000, "reject"))
	e := newElastic(t)
	node := func() *reloaded {
		dir := t.TempDir()
		return followEdited(t, limited(url, e.worker(), file), func(c *config.Config) { c.StateDir = dir })
	}
	nodes := []*reloaded{node(), node()}
	var stops []func() int64
	both := func(status int) {
		t.Helper()
		for _, n := range nodes {
			n.searches(500, status)
		}
	}
	for _, n := range nodes {
		stops = append(stops, n.traffic(2))
	}
	both(200)
	put(t, file, window(100, "reject"))
	both(400)
	if _, err := nodes[1].admin.Rollback(t.Context(), 1); err != nil {
		t.Fatal(err)
	}
	both(200)
	if err := os.Remove(file); err != nil {
		t.Fatal(err)
	}
	if _, err := nodes[0].admin.PutGuardLimits(t.Context(), "/*", adminapi.PutGuardLimits{Text: []byte(window(300, "reject"))}); err != nil {
		t.Fatal(err)
	}
	both(400)
	nodes = append(nodes, node()) // it starts without the file
	both(400)
	if _, err := nodes[2].admin.Rollback(t.Context(), 0); err != nil {
		t.Fatal(err)
	}
	both(200)
	for _, stop := range stops {
		if sent := stop(); sent < 10 {
			t.Errorf("only %d queries were sent", sent)
		}
	}
	history, err := nodes[0].admin.Versions(t.Context(), 0)
	if err != nil || len(history) != 5 {
		t.Errorf("%+v, %v", history, err)
	}
}

// What is shown of settings has no secret, and shows that one has changed.
func TestNoSecretOfSettingsIsShown(t *testing.T) {
	t.Parallel()
	e := newElastic(t)
	text := func(secret string) string {
		more := fmt.Sprintf("}\n  side: {command: [%q], env: {%s: worker, DB_PASSWORD: %s}, replicas: 1", os.Getenv(workVar), roleVar, secret)
		return "# the api_key: hunter2-comment\n" + guardSettings(e.worker(), more, "rules: \"dial: 1\"")
	}
	r := follow(t, text("hunter2-old"))
	ctx := t.Context()
	if _, err := r.admin.PutSettings(ctx, adminapi.PutSettings{Text: []byte(text("hunter2-new"))}); err != nil {
		t.Fatal(err)
	}
	d, err := r.admin.Diff(ctx, 1, 2)
	if err != nil || strings.Contains(d.Text, "hunter2") || strings.Count(d.Text, "(secret; 11 bytes; ") != 2 {
		t.Errorf("%s, %v", d.Text, err)
	}
	v, err := r.admin.Version(ctx, 2)
	if err != nil || strings.Contains(string(v.Text), "hunter2") || v.Sum != live.Sum([]byte(text("hunter2-new"))) {
		t.Errorf("%s, %v", v.Text, err)
	}
	d, err = r.admin.Compare(ctx, adminapi.Compare{Name: "new.yaml", Text: []byte(text("hunter2-third"))})
	if err != nil || strings.Contains(d.Text, "hunter2") || !strings.Contains(d.Text, "+++ new.yaml") || !strings.Contains(d.Text, "(secret; 13 bytes; ") {
		t.Errorf("%s, %v", d.Text, err)
	}
	if d, err = r.admin.Compare(ctx, adminapi.Compare{Text: []byte(text("hunter2-new"))}); err != nil || d.Text != "" {
		t.Errorf("%s, %v", d.Text, err)
	}
	would, err := r.admin.TrySettings(ctx, adminapi.PutSettings{Text: []byte(text("hunter2-third"))})
	if err != nil || !would.New || would.Before != 2 || strings.Contains(would.Diff, "hunter2") || !strings.Contains(would.Diff, "(secret; 13 bytes; ") || r.version() != 2 {
		t.Errorf("%+v, %v", would, err)
	}
	// What is shown cannot come back in the place of the secrets.
	_, err = r.admin.PutSettings(ctx, adminapi.PutSettings{Text: v.Text})
	if p := problem(t, err); p.Status != http.StatusUnprocessableEntity || r.version() != 2 {
		t.Errorf("%+v", p)
	}
}
