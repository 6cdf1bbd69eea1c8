package app_test

import (
	"context"
	"fmt"
	"io"
	"log/slog"
	"maps"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/bezoar-dev/bezoar/internal/app"
	"github.com/bezoar-dev/bezoar/internal/control/config"
	"github.com/bezoar-dev/bezoar/internal/control/live"
)

// reloaded is a Bezoar whose settings file a test writes.
type reloaded struct {
	*node

	file   string
	hangUp chan struct{} // as SIGHUP
	log    *syncBuffer
}

// follow runs Bezoar with settings that it follows.
func follow(t *testing.T, settings string) *reloaded { return followEdited(t, settings, nil) }

// followEdited changes what the settings say, as flags do.
func followEdited(t *testing.T, settings string, edit func(*config.Config)) *reloaded {
	t.Helper()
	r := &reloaded{file: filepath.Join(t.TempDir(), "bezoar.yaml"), hangUp: make(chan struct{}), log: new(syncBuffer)}
	if err := os.WriteFile(r.file, []byte(settings), 0o600); err != nil {
		t.Fatal(err)
	}
	r.node = serveWith(t, settings, app.Options{Settings: app.Settings{Path: r.file, Edit: edit}, Restart: r.hangUp, Log: slog.New(slog.NewTextHandler(r.log, nil))})
	r.until("the settings run", func() bool { return r.live().Status().Running.Number > 0 })
	return r
}

func (r *reloaded) live() *live.Live { return r.app.Live() }

// write puts text in the place of the settings file at once, as editors do.
func (r *reloaded) write(text string) {
	r.t.Helper()
	beside := r.file + ".new"
	if err := os.WriteFile(beside, []byte(text), 0o600); err != nil {
		r.t.Fatal(err)
	}
	if err := os.Rename(beside, r.file); err != nil {
		r.t.Fatal(err)
	}
}

// reload writes text and has it read now.
func (r *reloaded) reload(text string) {
	r.t.Helper()
	r.write(text)
	ctx, cancel := context.WithTimeout(r.t.Context(), patience)
	defer cancel()
	if _, err := r.live().Reload(ctx); err != nil {
		r.t.Fatalf("%v\n%s", err, text)
	}
}

// runs waits until text is what runs.
func (r *reloaded) runs(text string) {
	r.t.Helper()
	r.until("the new text runs", func() bool { return r.live().Status().Running.Sum == live.Sum([]byte(text)) })
}

// serving waits until the fleet has so many workers, and all of them serve.
func (r *reloaded) serving(fleet string, want int) {
	r.t.Helper()
	r.until(fmt.Sprintf("%d workers of %s serve", want, fleet), func() bool { return r.workers(fleet, "ready") == want && r.workers(fleet, "") == want })
}

// workers counts those of a fleet in a state; "" means any.
func (r *reloaded) workers(fleet, state string) (n int) {
	r.t.Helper()
	all, err := r.admin.Fleets(r.t.Context())
	if err != nil {
		r.t.Fatal(err)
	}
	for _, f := range all {
		for _, w := range f.Workers {
			if f.Name == fleet && (state == "" || w.State == state) {
				n++
			}
		}
	}
	return n
}

// load is steady traffic, every request of which must be answered 200.
type load struct {
	stop  func()
	sent  atomic.Int64
	fails atomic.Int64
}

// load keeps callers busy: short requests, slow ones, ones on new connections,
// and bodies that take a while to come in.
func (r *reloaded) load(callers int, paths ...string) *load {
	ctx, cancel := context.WithCancel(context.Background())
	l := &load{}
	var wg sync.WaitGroup
	for i := range callers {
		wg.Go(func() {
			beat := time.NewTicker(think)
			defer beat.Stop()
			for k := 0; ctx.Err() == nil; k++ {
				<-beat.C
				target := fmt.Sprintf("%s%d?id=%d", paths[k%len(paths)], i, k)
				l.sent.Add(1)
				var err error
				switch i % 4 {
				case 1:
					err = r.ask(target+"&slow=1", http.NoBody)
				case 2:
					err = r.ask(target, &drip{parts: 6})
				default:
					err = r.ask(target, http.NoBody)
				}
				if err != nil && l.fails.Add(1) < 10 {
					r.t.Errorf("%s: %v", target, err)
				}
			}
		})
	}
	l.stop = sync.OnceFunc(func() { cancel(); wg.Wait() })
	r.t.Cleanup(l.stop)
	return l
}

// ask sends one request, whose answer must be 200.
func (r *reloaded) ask(target string, body io.Reader) error {
	req, err := http.NewRequestWithContext(context.Background(), http.MethodPost, r.url+target, body)
	if err != nil {
		return err
	}
	req.Header.Set("Idempotency-Key", target)
	res, err := r.http.Do(req)
	if err != nil {
		return err
	}
	defer res.Body.Close()
	text, err := io.ReadAll(res.Body)
	if err == nil && res.StatusCode != http.StatusOK {
		err = fmt.Errorf("answered %s: %.300s", res.Status, text)
	}
	return err
}

// drip is a body that comes in slowly.
type drip struct{ parts int }

func (d *drip) Read(p []byte) (int, error) {
	if d.parts == 0 {
		return 0, io.EOF
	}
	d.parts--
	<-time.After(10 * time.Millisecond)
	return copy(p, "drop "), nil
}

// generation is one of many different settings for the same service.
type generation struct {
	replicas, inFlight int
	mark               string // of all its processes
	build              int    // of the command
	extra              bool   // a fleet of its own for /extra/
	extraName          string
	fallback           string
	limit              int // how often a second anybody may call; none is reached
	path               string
	balance            string
}

func (g generation) text() string {
	exe := os.Getenv(workVar)
	var b strings.Builder
	fmt.Fprintf(&b, "listen: 127.0.0.1:0\nadmin: 127.0.0.1:0\nstore: 'memory:'\nfleets:\n")
	fleet := func(name string, replicas int, more string) {
		fmt.Fprintf(&b, "  %s: {command: [%q], env: {%s: worker, %s: %q, BUILD: \"%d\"}, replicas: %d, health: {path: /healthz}, grace: 2s, %s}\n",
			name, exe, roleVar, markVar, g.mark, g.build, replicas, more)
	}
	fleet("app", g.replicas, fmt.Sprintf("max_in_flight: %d, concurrency: {limit: %d, queue: 512, wait: 20s}%s", g.inFlight, 8*g.replicas, g.balance))
	if g.extra {
		fleet(g.extraName, 1, "drain: 10s")
	}
	fmt.Fprintf(&b, "routes:\n")
	route := func(path, fleet, more string) {
		if fleet == "app" && strings.Contains(g.fallback, "fleet: app") {
			g.fallback = "" // none falls back on itself
		}
		fmt.Fprintf(&b, "  - {match: {path: %q}, fleet: %s, client: ip, limits: [{rate: %d/s}], fallback: [%s]%s}\n", path, fleet, g.limit, g.fallback, more)
	}
	if g.extra {
		route("/extra/*", g.extraName, "")
	}
	route("/*", "app", "")
	route(g.path, "app", ", breaker: on")
	return b.String()
}

// different makes the i-th of settings that change everything now and then.
func different(mark string, i int) generation {
	g := generation{
		mark:     mark,
		replicas: []int{2, 4, 3}[i%3], inFlight: 4 + i%5, build: i / 25, limit: 50_000 + i, path: fmt.Sprintf("/path%d/*", i%7),
		extra: i/4%2 == 1, extraName: []string{"extra", "other"}[i/16%2],
	}
	g.fallback = []string{
		"{static: {status: 200, body: gone}, on: [open]}", "{stale: 1m, on: [open]}", "",
	}[i%3]
	if i%2 == 1 {
		g.balance = ", balance: {slow_start: 50ms}, shard: {size: 2, overflow: busy}"
	}
	if g.extra && i%3 == 2 {
		g.fallback = "{fleet: app, on: [open, unavailable]}"
	}
	return g
}

// markVar marks the processes of one test.
const markVar = "APP_TEST_MARK"

// marked finds processes by their mark, and says in which build each is.
func marked(t *testing.T, mark string) map[int]string {
	t.Helper()
	out := map[int]string{}
	all, err := os.ReadDir("/proc")
	if err != nil {
		t.Fatal(err)
	}
	for _, e := range all {
		pid, err := strconv.Atoi(e.Name())
		if err != nil {
			continue
		}
		environ, _ := os.ReadFile("/proc/" + e.Name() + "/environ")
		vars := strings.Split(string(environ), "\x00")
		if !slices.Contains(vars, markVar+"="+mark) {
			continue
		}
		for _, v := range vars {
			if build, ok := strings.CutPrefix(v, "BUILD="); ok {
				out[pid] = build
			}
		}
	}
	return out
}

// The law of reloads: whatever changes, whoever is being served notices nothing.
func TestHundredsOfReloadsDropNoRequest(t *testing.T) {
	t.Parallel()
	reloads := 32 // of 32 in a row each is of another kind, and the last has no fleet beside app
	if os.Getenv("BEZOAR_SOAK") != "" {
		reloads = 400
	}
	mark := t.TempDir()
	r := follow(t, different(mark, 0).text())
	r.serving("app", 2)
	l := r.load(12, "/short/", "/path3/", "/extra/")
	r.until("the load is on", func() bool { return l.sent.Load() > 50 })
	for i := 1; i <= reloads && l.fails.Load() == 0; i++ {
		r.reload(different(mark, i).text())
	}
	last := different(mark, reloads)
	r.serving("app", last.replicas)
	r.until("no process but those of the last settings runs", func() bool {
		builds := slices.Collect(maps.Values(marked(t, mark)))
		return len(builds) == last.replicas && !slices.ContainsFunc(builds, func(b string) bool { return b != strconv.Itoa(last.build) })
	})
	l.stop()
	t.Logf("%d requests over %d reloads", l.sent.Load(), reloads)
	for line := range strings.SplitSeq(r.log.String(), "\n") {
		if strings.Contains(line, "level=ERROR") {
			t.Errorf("in the log: %s", line)
		}
	}
	r.stop()
	if left := marked(t, mark); len(left) > 0 {
		t.Errorf("processes are left: %v", left)
	}
}
