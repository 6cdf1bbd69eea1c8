package app_test

import (
	"context"
	"fmt"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/bezoar-dev/bezoar/internal/app"
	"github.com/bezoar-dev/bezoar/internal/control/adminapi"
	"github.com/bezoar-dev/bezoar/internal/control/config"
	"github.com/bezoar-dev/bezoar/internal/process/watchdog"
)

// leakVar is how many MiB a leaky worker takes when it starts.
const leakVar = "APP_TEST_LEAK"

// watched runs a fleet of leaky workers under a watchdog.
func watched(t *testing.T, n, leak int, w config.Watchdog) (*rig, *app.App) {
	t.Helper()
	cfg := setup{Replicas: n, Health: "/healthz"}.config()
	f := cfg.Fleets["app"]
	f.Env = map[string]string{roleVar: "leaky", leakVar: strconv.Itoa(leak)}
	f.Health.Interval = 100 * time.Millisecond
	f.Watchdog = &w
	cfg.Fleets["app"] = f
	ctx, cancel := context.WithCancel(t.Context())
	a, err := app.New(ctx, cfg, app.Options{})
	if err != nil {
		t.Fatal(err)
	}
	done := make(chan error, 1)
	go func() { done <- a.Run(ctx) }()
	t.Cleanup(func() {
		cancel()
		if err := ended(done); err != nil {
			t.Errorf("Run: %v", err)
		}
	})
	return open(t, a.Addr(), a.AdminAddr(), n), a
}

func (r *rig) watchdog(a *app.App) watchdog.Status {
	r.t.Helper()
	st, ok := a.Watchdog("app")
	if !ok {
		r.t.Fatal("the fleet has no watchdog")
	}
	return st
}

// dogEvents collects what the event stream says of the watchdog.
func (r *rig) dogEvents() func() string {
	var mu sync.Mutex
	var said []string
	ctx, cancel := context.WithCancel(r.t.Context())
	done := make(chan struct{})
	go func() {
		defer close(done)
		_ = r.admin.Events(ctx, func(e adminapi.Event) bool {
			mu.Lock()
			defer mu.Unlock()
			if e.Kind == "watchdog" && e.Fleet == "app" {
				said = append(said, e.Text)
			}
			return true
		})
	}()
	r.t.Cleanup(func() { cancel(); <-done })
	return func() string {
		mu.Lock()
		defer mu.Unlock()
		return strings.Join(said, "\n")
	}
}

// Workers that leak are replaced one at a time, under load, and nobody notices.
func TestLeakingWorkersAreReplaced(t *testing.T) {
	t.Parallel()
	r, a := watched(t, 3, 0, config.Watchdog{Memory: 192 << 20, For: time.Second, Share: 0.25, PerHour: 100})
	said := r.dogEvents()
	c := r.crowd(4)
	defer c.end()
	old := r.pids()
	for _, w := range r.fleet().Workers {
		r.direct(w.Addr, "/leak?mib=200")
	}
	most, serving := 0, 3 // replaced at a time, and the fewest that serve
	r.until("all were replaced", func() bool {
		st := r.watchdog(a)
		busy := 0
		for _, w := range st.Workers {
			if w.State == watchdog.Restarting {
				busy++
			}
		}
		most, serving = max(most, busy), min(serving, r.serving())
		return st.Restarts == 3 && st.State == watchdog.OK && !slices.ContainsFunc(st.Workers, func(w watchdog.WorkerStatus) bool {
			return w.State != watchdog.OK || w.Restarts != 1 || w.Sample.Memory == 0
		})
	})
	if most != 1 || serving < 2 {
		t.Errorf("%d at a time, and at one moment %d of 3 served", most, serving)
	}
	for _, pid := range r.pids() {
		if slices.Contains(old, pid) {
			t.Errorf("process %d is still there", pid)
		}
	}
	st := r.watchdog(a)
	if st.Failed != 0 || st.Useless != 0 || st.Alarm != "" || st.Recent != 3 {
		t.Errorf("%+v", st)
	}
	if n := r.deaths(); n != 0 {
		t.Errorf("%d deaths: a restart is no crash", n)
	}
	for _, w := range r.fleet().Workers {
		if w.LastEnd == nil || !w.LastEnd.Planned || !strings.Contains(w.LastEnd.Detail, "watchdog: memory is ") {
			t.Errorf("%s ended: %+v", w.Name, w.LastEnd)
		}
	}
	for _, want := range []string{"is restarted: its memory is ", "above 192 MiB for ", "was restarted"} {
		if !strings.Contains(said(), want) {
			t.Errorf("the events lack %q:\n%s", want, said())
		}
	}
	if s := st.Workers[0].Sample; s.Threads == 0 || s.Descriptors == 0 {
		t.Errorf("%+v: everything was to be looked at", s)
	}
}

// direct sends a request past Bezoar.
func (r *rig) direct(addr, target string) {
	r.t.Helper()
	req, err := http.NewRequestWithContext(r.t.Context(), http.MethodGet, "http://"+addr+target, http.NoBody)
	if err != nil {
		r.t.Fatal(err)
	}
	res, err := r.http.Do(req)
	if err != nil {
		r.t.Fatal(err)
	}
	res.Body.Close()
}

// The watchdog comes, changes and goes with the settings, and bad ones change
// nothing.
func TestTheWatchdogFollowsTheSettings(t *testing.T) {
	t.Parallel()
	r, a := watched(t, 2, 0, config.Watchdog{For: time.Second, Share: 0.5, PerHour: 2}) // looks at nothing
	if _, ok := a.Watchdog("app"); ok {
		t.Error("nothing is to be watched")
	}
	cfg := setup{Replicas: 2}.config()
	reload := func(w *config.Watchdog) error {
		f := cfg.Fleets["app"]
		f.Env = map[string]string{roleVar: "leaky", leakVar: "0"}
		f.Watchdog = w
		cfg.Fleets["app"] = f
		return a.Reload(t.Context(), cfg)
	}
	if err := reload(&config.Watchdog{Memory: 1 << 40, For: time.Second, Share: 0.5, PerHour: 2}); err != nil {
		t.Fatal(err)
	}
	r.until("it looks at both", func() bool {
		st, ok := a.Watchdog("app")
		return ok && len(st.Workers) == 2 && st.Workers[0].Sample.Memory > 0 && st.Workers[1].Sample.Memory > 0
	})
	if err := reload(&config.Watchdog{Growth: 1, For: time.Second, Share: 0.5, PerHour: 2}); err == nil || !strings.Contains(err.Error(), "fleets.app: watchdog: limits: growth is 1 B per hour") {
		t.Errorf("an impossible limit: %v", err)
	}
	if err := reload(&config.Watchdog{Threads: 1, For: time.Second, Share: 0.5, PerHour: 3, MinUptime: 24 * time.Hour}); err != nil {
		t.Fatal(err)
	}
	r.until("the new limit counts", func() bool {
		w := r.watchdog(a).Workers[0]
		return w.State == watchdog.Due && w.Breach.Signal == watchdog.Threads && strings.HasPrefix(w.Why, "it has been up for ")
	})
	if st := r.watchdog(a); st.PerHour != 3 || st.Restarts != 0 {
		t.Errorf("%+v", st)
	}
	if _, err := r.admin.Restart(t.Context(), "app"); err != nil {
		t.Fatal(err)
	}
	r.until("it holds for the rollout", func() bool {
		return slices.ContainsFunc(r.watchdog(a).Workers, func(w watchdog.WorkerStatus) bool {
			return strings.HasPrefix(w.Why, "a rolling restart is under way") || strings.HasPrefix(w.Why, "the fleet gate is closed")
		})
	})
	if err := reload(nil); err != nil {
		t.Fatal(err)
	}
	if _, ok := a.Watchdog("app"); ok {
		t.Error("it was taken away")
	}
}

// A server that takes too much as soon as it starts is not restarted for ever: the
// watchdog gives up, says so, and goes on when it is told to.
func TestAWatchdogThatDoesNotHelpStops(t *testing.T) {
	t.Parallel()
	r, a := watched(t, 2, 150, config.Watchdog{Memory: 128 << 20, For: time.Second, Share: 0.5, PerHour: 2})
	said := r.dogEvents()
	r.until("it gives up", func() bool { return r.watchdog(a).State == watchdog.GaveUp })
	st := r.watchdog(a)
	if st.Restarts != 2 || st.Useless == 0 || !strings.HasPrefix(st.Alarm, "gave up on the whole fleet: the budget of 2 restarts an hour is spent, and ") {
		t.Errorf("%+v", st)
	}
	pids := fmt.Sprint(r.pids())
	r.until("both have been above the limit for much longer", func() bool {
		for _, w := range r.watchdog(a).Workers {
			if w.Breach == nil || w.Breach.Lasted < 3*time.Second {
				return false
			}
		}
		return true
	})
	if st := r.watchdog(a); st.Restarts != 2 || fmt.Sprint(r.pids()) != pids || r.serving() != 2 {
		t.Errorf("it went on: %+v", st)
	}
	if !strings.Contains(said(), "gave up on the whole fleet") {
		t.Errorf("events:\n%s", said())
	}
	if cleared, err := a.ClearWatchdog("app", ""); !cleared || err != nil {
		t.Errorf("ClearWatchdog = %v, %v", cleared, err)
	}
	if _, err := a.ClearWatchdog("other", ""); err == nil {
		t.Error("there is no such fleet")
	}
	r.until("it tries again", func() bool { return r.watchdog(a).Restarts > 2 })
}
