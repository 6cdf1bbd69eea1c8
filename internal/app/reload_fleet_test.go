package app_test

import (
	"fmt"
	"maps"
	"net/http"
	"net/http/httptest"
	"os"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/bezoar-dev/bezoar/internal/control/live"
	"github.com/bezoar-dev/bezoar/internal/test/pace"
)

// Workers that run elsewhere come and go, with work in flight on all of them.
func TestWorkersElsewhereComeAndGo(t *testing.T) {
	t.Parallel()
	var urls []string
	for range 4 {
		s := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) {
			<-time.After(20 * time.Millisecond)
		}))
		t.Cleanup(s.Close)
		urls = append(urls, s.URL)
	}
	settings := func(i int) string {
		var list []string
		for k := range 2 + i%2 {
			list = append(list, urls[(i+k)%len(urls)])
		}
		return fmt.Sprintf(`
listen: 127.0.0.1:0
admin: 127.0.0.1:0
store: 'memory:'
fleets: {app: {workers: [%s], health: {path: /, interval: %dms}, max_in_flight: %d}}
routes: [{match: {path: /*}, fleet: app}]
`, strings.Join(list, ", "), 100+i, 8+i%3)
	}
	r := follow(t, settings(0))
	r.serving("app", 2)
	l := r.load(8, "/")
	for i := 1; i <= 40 && l.fails.Load() == 0; i++ {
		text := settings(i)
		r.reload(text)
		sent := l.sent.Load()
		r.until("some are served", func() bool { return l.sent.Load() > sent+8 })
	}
	r.serving("app", 2)
	l.stop()
}

// A command that cannot start takes nothing down: the old processes serve, also
// when one of them dies.
func TestACommandThatCannotStart(t *testing.T) {
	t.Parallel()
	mark := t.TempDir()
	good := different(mark, 0)
	r := follow(t, good.text())
	r.serving("app", 2)
	l := r.load(6, "/short/")
	r.reload(strings.Replace(good.text(), os.Getenv(workVar), "/nowhere/at/all", 1))
	r.until("the log says so", func() bool { return strings.Contains(r.log.String(), "rolling restart stopped") })
	r.serving("app", 2)
	victim := slices.Collect(maps.Keys(marked(t, mark)))[0]
	_ = syscall.Kill(victim, syscall.SIGKILL)
	r.until("it is dead", func() bool { _, there := marked(t, mark)[victim]; return !there })
	r.serving("app", 2)
	good.build = 1
	r.reload(good.text())
	r.until("the new build runs", func() bool {
		now := slices.Collect(maps.Values(marked(t, mark)))
		return len(now) == 2 && !slices.ContainsFunc(now, func(b string) bool { return b != "1" })
	})
	l.stop()
}

// A fleet whose replacement does not start is not replaced: what ran, runs.
func TestAFleetThatCannotStartIsNotAdded(t *testing.T) {
	t.Parallel()
	mark := t.TempDir()
	good := different(mark, 0)
	r := follow(t, good.text())
	r.serving("app", 2)
	l := r.load(4, "/short/")
	for command, why := range map[string]string{
		"/nowhere/at/all":                      "no such file",
		"/bin/sh, -c, 'echo oops >&2; exit 3'": "oops",
	} {
		r.write(strings.Replace(good.text(), "routes:\n", "  broken: {command: ["+command+"]}\nroutes:\n", 1))
		_, err := r.live().Reload(t.Context())
		if err == nil || !strings.Contains(err.Error(), "broken") || !strings.Contains(err.Error(), why) {
			t.Fatalf("%v", err)
		}
		if st := r.live().Status(); st.Running.Sum != live.Sum([]byte(good.text())) || !strings.Contains(st.Error, "broken") {
			t.Errorf("status %+v", st)
		}
	}
	l.stop()
	if err := r.ask("/short/", http.NoBody); err != nil {
		t.Error(err)
	}
}

// Replaces what a fleet is: refused, and said.
func TestWhatAFleetCannotBecome(t *testing.T) {
	t.Parallel()
	mark := t.TempDir()
	good := different(mark, 0)
	r := follow(t, good.text())
	r.serving("app", 2)
	r.write(`
listen: 127.0.0.1:0
admin: 127.0.0.1:0
store: 'memory:'
fleets: {app: {workers: ["http://127.0.0.1:1"]}, aaa: {workers: ["http://127.0.0.1:1"]}}
routes: [{match: {path: /*}, fleet: app}]
`)
	if _, err := r.live().Reload(t.Context()); err == nil || !strings.Contains(err.Error(), "another name") {
		t.Errorf("%v", err)
	}
	if err := r.ask("/short/", http.NoBody); err != nil {
		t.Error(err)
	}
}

// The end may come in the middle of anything that a reload has begun.
func TestTheEndInTheMiddleOfAReload(t *testing.T) {
	t.Parallel()
	mark := t.TempDir()
	for i := range pace.Rounds(6, 3) {
		r := follow(t, different(mark, 4).text()) // with a second fleet
		r.serving("app", 4)
		l := r.load(4, "/short/", "/extra/")
		r.until("the load is on", func() bool { return l.sent.Load() > 8 })
		l.stop()
		next := different(mark, 25+i)
		next.extra = i%2 == 0
		next.extraName = "other"
		r.write(next.text())
		reloaded := make(chan struct{})
		go func() {
			defer close(reloaded)
			_, _ = r.live().Reload(t.Context()) // it may be cut short
		}()
		if i%3 > 0 {
			<-reloaded
		}
		r.stop()
		<-reloaded
		if left := marked(t, mark); len(left) > 0 {
			t.Errorf("processes are left: %v", left)
		}
	}
}
