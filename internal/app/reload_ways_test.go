package app_test

import (
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/bezoar-dev/bezoar/internal/app"
	"github.com/bezoar-dev/bezoar/internal/control/live"
)

// Every way in which a file may change is noticed by itself: written in place,
// renamed over, and swapped as a ConfigMap is.
func TestTheFileIsFollowed(t *testing.T) {
	t.Parallel()
	mark := t.TempDir()
	r := follow(t, different(mark, 0).text())
	r.serving("app", 2)
	l := r.load(4, "/short/")
	text := func(i int) string { g := different(mark, i); g.build, g.replicas = 0, 2; return g.text() }

	r.write(text(1))
	r.runs(text(1))
	if err := os.WriteFile(r.file, []byte(text(2)), 0o600); err != nil {
		t.Fatal(err)
	}
	r.runs(text(2))

	// kubelet: a folder for each version, ..data points to it, the file into ..data.
	dir := filepath.Dir(r.file)
	publish := func(version, content string) {
		folder := filepath.Join(dir, "..v"+version)
		if err := os.Mkdir(folder, 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(filepath.Join(folder, "bezoar.yaml"), []byte(content), 0o600); err != nil {
			t.Fatal(err)
		}
		if err := os.Symlink("..v"+version, filepath.Join(dir, "..data_tmp")); err != nil {
			t.Fatal(err)
		}
		if err := os.Rename(filepath.Join(dir, "..data_tmp"), filepath.Join(dir, "..data")); err != nil {
			t.Fatal(err)
		}
	}
	publish("1", text(3))
	if err := os.Symlink(filepath.Join("..data", "bezoar.yaml"), r.file+".link"); err != nil {
		t.Fatal(err)
	}
	if err := os.Rename(r.file+".link", r.file); err != nil {
		t.Fatal(err)
	}
	r.runs(text(3))
	publish("2", text(4))
	r.runs(text(4))
	publish("3", text(5))
	r.runs(text(5))
	l.stop()
	if st := r.live().Status(); !st.File.Notified || st.Error != "" {
		t.Errorf("status %+v", st)
	}
}

// What is invalid changes nothing, and says where the fault is.
func TestAnInvalidFileChangesNothing(t *testing.T) {
	t.Parallel()
	mark := t.TempDir()
	good := different(mark, 0).text()
	r := follow(t, good)
	r.serving("app", 2)
	l := r.load(4, "/short/")
	for _, bad := range []struct{ text, what string }{
		{strings.Replace(good, "replicas: 2", "replicas: two", 1), "replicas"},
		{good + "  - {match: {path: /x}, fleet: nobody}\n", "nobody"},
		{"fleets: [", ""},
		{strings.Replace(good, "grace: 2s", "grace: 2s, workers: ['http://127.0.0.1:1']", 1), "workers"},
	} {
		r.write(bad.text)
		_, err := r.live().Reload(t.Context())
		if err == nil || !strings.Contains(err.Error(), bad.what) {
			t.Errorf("%q was read: %v", bad.text, err)
		}
		st := r.live().Status()
		if st.File.Error == "" || !strings.Contains(st.File.Error, bad.what) || st.Running.Sum != live.Sum([]byte(good)) {
			t.Errorf("the status does not tell what is wrong with %q: %+v", bad.text, st)
		}
		if !located(st.File.Error) {
			t.Errorf("%q has no line and column", st.File.Error)
		}
		if log := r.log.String(); !strings.Contains(log, "the settings file is invalid") || !strings.Contains(log, "level=ERROR") {
			t.Errorf("the log does not tell what is wrong with %q", bad.text)
		}
	}
	// A hang-up finds the same, and serves on.
	r.hangUp <- struct{}{}
	r.until("the hang-up is answered", func() bool { return strings.Contains(r.log.String(), "the old ones stay in force") })
	r.reload(good)
	l.stop()
	if st := r.live().Status(); st.File.Error != "" {
		t.Errorf("with the good file back: %+v", st)
	}
}

// located reports whether a fault names a line and a column: file:LINE:COLUMN.
func located(text string) bool {
	var line, column int
	for _, word := range strings.FieldsFunc(text, func(r rune) bool { return r == ' ' || r == '\n' }) {
		if i := strings.Index(word, ":"); i > 0 {
			if n, _ := fmt.Sscanf(word[i:], ":%d:%d", &line, &column); n == 2 {
				return true
			}
		}
	}
	return false
}

func TestRollback(t *testing.T) {
	t.Parallel()
	mark := t.TempDir()
	r := follow(t, different(mark, 0).text())
	r.serving("app", 2)
	l := r.load(4, "/short/")
	first := r.live().Status().Running.Number
	r.reload(different(mark, 1).text())
	r.serving("app", 4)
	v, err := r.live().Rollback(t.Context(), first, "ann")
	if err != nil || v.Number <= first || v.Source != live.FromRollback {
		t.Fatalf("%+v, %v", v, err)
	}
	r.serving("app", 2)
	l.stop()
	if st := r.live().Status(); st.Running.By != "ann" || st.Running.Sum != live.Sum([]byte(different(mark, 0).text())) {
		t.Errorf("status %+v", st)
	}
	if _, err := r.live().Rollback(t.Context(), 99, "ann"); err == nil {
		t.Error("there is no version 99, and it was gone back to")
	}
}

// One caller is tightened for a while: at once, nobody else, and it ends by
// itself.
func TestOverrideForOneCaller(t *testing.T) {
	t.Parallel()
	r := follow(t, fmt.Sprintf(`
listen: 127.0.0.1:0
admin: 127.0.0.1:0
store: 'memory:'
fleets: {app: {command: [%q], env: {%s: worker}, replicas: 1}}
routes:
  - {match: {path: /*}, fleet: app, client: "header:X-Api-Key", limits: [{rate: 100000/s}]}
`, os.Getenv(workVar), roleVar))
	r.serving("app", 1)
	refused := func(caller string) (n int) {
		for range 20 {
			if r.status(caller) == http.StatusTooManyRequests {
				n++
			}
		}
		return n
	}
	if n := refused("greedy"); n != 0 {
		t.Fatalf("%d refused before", n)
	}
	until := time.Now().Add(3 * time.Second)
	if _, err := r.live().Override(t.Context(), live.Override{Caller: "greedy", What: live.Rate, Factor: 0.00001, Until: until, By: "ann", Reason: "too much"}); err != nil {
		t.Fatal(err)
	}
	if n := refused("greedy"); n < 18 && time.Now().Before(until) {
		t.Errorf("%d of 20 refused, want nearly all", n)
	}
	if n := refused("modest"); n != 0 {
		t.Errorf("%d of somebody else were refused", n)
	}
	if n := len(r.live().Status().Overrides); n != 1 && time.Now().Before(until) {
		t.Errorf("%d overrides are in force", n)
	}
	r.until("it is over", func() bool { return len(r.live().Status().Overrides) == 0 })
	if time.Now().Before(until) {
		t.Errorf("it ended %v too early", time.Until(until))
	}
	r.until("the caller is served again", func() bool { return r.status("greedy") == http.StatusOK })
}

// SIGHUP reads the file again; without a file, it is a rolling restart.
func TestHangUp(t *testing.T) {
	t.Parallel()
	mark := t.TempDir()
	r := follow(t, different(mark, 0).text())
	r.serving("app", 2)
	r.write(different(mark, 1).text())
	r.hangUp <- struct{}{}
	r.serving("app", 4)
	r.stop()

	hangUp := make(chan struct{})
	r = &reloaded{node: serveWith(t, different(mark, 0).text(), app.Options{Restart: hangUp}), log: new(syncBuffer)}
	r.serving("app", 2)
	was := marked(t, mark)
	l := r.load(4, "/short/")
	hangUp <- struct{}{}
	r.until("there are only new processes", func() bool {
		now := marked(t, mark)
		for pid := range now {
			if _, old := was[pid]; old {
				return false
			}
		}
		return len(now) == 2
	})
	l.stop()
}

// What outlives reloads does not grow with them.
func TestReloadsLeaveNothingBehind(t *testing.T) {
	t.Parallel()
	mark := t.TempDir()
	settings := func(i int) string {
		g := different(mark, 0)
		g.path = fmt.Sprintf("/unique%d/*", i)
		text := strings.Replace(g.text(), "breaker: on", "breaker: on, retry: {per_caller: 10%}", 1)
		return strings.Replace(text, "rate: 50000/s", fmt.Sprintf("rate: %d/s", 60_000+i), 2)
	}
	r := follow(t, settings(0))
	r.serving("app", 2)
	kept := func() []int {
		quotas, breakers, budgets, pools := r.app.Kept()
		return []int{quotas, breakers, budgets, pools}
	}
	r.reload(settings(1))
	r.reload(settings(2))
	before := kept()
	for i := 3; i < 40; i++ {
		r.reload(settings(i))
		if err := r.ask("/", http.NoBody); err != nil {
			t.Fatal(err)
		}
	}
	if after := kept(); !slices.Equal(before, after) {
		t.Errorf("quotas, breakers, budgets and pools were %v and are %v", before, after)
	}
}

// self is the test's own program.
func self(t *testing.T) string {
	t.Helper()
	exe, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	return exe
}
