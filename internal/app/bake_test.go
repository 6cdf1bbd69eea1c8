package app_test

import (
	"context"
	"fmt"
	"log/slog"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/bezoar-dev/bezoar/internal/app"
	"github.com/bezoar-dev/bezoar/internal/control/adminapi"
	"github.com/bezoar-dev/bezoar/internal/control/config"
	"github.com/bezoar-dev/bezoar/internal/test/pace"
)

// deploy is a fleet of four whose new processes are as good as a file says.
type deploy struct {
	*rig
	app    *app.App
	cfg    config.Config
	hangUp chan struct{}
	log    *syncBuffer
	build  string
}

func startDeploy(t *testing.T, bake config.Bake) *deploy {
	t.Helper()
	s := setup{Replicas: 4, Health: "/healthz", Build: filepath.Join(t.TempDir(), "build"), Bake: bake}
	d := &deploy{cfg: s.config(), hangUp: make(chan struct{}), log: new(syncBuffer), build: s.Build}
	ctx, cancel := context.WithCancel(t.Context())
	a, err := app.New(ctx, d.cfg, app.Options{Restart: d.hangUp, Log: slog.New(slog.NewTextHandler(d.log, nil))})
	if err != nil {
		cancel()
		t.Fatal(err)
	}
	d.app = a
	done := make(chan error, 1)
	go func() { done <- a.Run(ctx) }()
	t.Cleanup(func() {
		cancel()
		if err := ended(done); err != nil {
			t.Errorf("Run: %v", err)
		}
		if t.Failed() {
			t.Log(d.log.String())
		}
	})
	d.rig = open(t, a.Addr(), a.AdminAddr(), 4)
	return d
}

// write says how good the processes are that start from now on.
func (d *deploy) write(build string) {
	d.t.Helper()
	if err := os.WriteFile(d.build, []byte(build), 0o600); err != nil {
		d.t.Fatal(err)
	}
}

// rollout is how the newest rolling restart stands.
func (d *deploy) rollout() adminapi.Rollout {
	d.t.Helper()
	if r := d.fleet().Rollout; r != nil {
		return *r
	}
	return adminapi.Rollout{}
}

// stream is good requests at a fixed rate, whatever becomes of them.
type stream struct {
	stop     context.CancelFunc
	wg       sync.WaitGroup
	sent, ok atomic.Int64
	mu       sync.Mutex // guards bad
	bad      map[string]int
}

// stream sends 100 requests a second: popular and unique GETs, and one POST in
// four, which cannot be sent again.
func (d *deploy) stream() *stream {
	ctx, stop := context.WithCancel(d.t.Context())
	s := &stream{stop: stop, bad: map[string]int{}}
	s.wg.Go(func() {
		tick := time.NewTicker(10 * time.Millisecond)
		defer tick.Stop()
		for k := 0; ; k++ {
			select {
			case <-tick.C:
			case <-ctx.Done():
				return
			}
			s.wg.Go(func() {
				method, target, body := "GET", "/popular?q=1", ""
				switch k % 4 {
				case 1:
					target = fmt.Sprintf("/item?id=%d", k)
				case 2:
					method, target, body = "POST", "/order", fmt.Sprint("n=", k)
				}
				s.sent.Add(1)
				if a := d.send(method, target, body); a.status == http.StatusOK {
					s.ok.Add(1)
				} else {
					s.mu.Lock()
					s.bad[fmt.Sprint(method, " ", a.status)]++
					s.mu.Unlock()
				}
			})
		}
	})
	d.until("the stream flows", func() bool { return s.ok.Load() > 100 })
	return s
}

// end ends the stream and holds it to its share of answers.
func (s *stream) end(t *testing.T, least float64) {
	t.Helper()
	s.stop()
	s.wg.Wait()
	sent, ok := s.sent.Load(), s.ok.Load()
	t.Logf("%d of %d good requests answered, the others: %v", ok, sent, s.bad)
	if float64(ok) < least*float64(sent) {
		t.Errorf("%d of %d good requests were answered: %v", ok, sent, s.bad)
	}
}

// A build that is healthy and dies of every request, deployed in three ways under
// 100 requests a second, costs two processes and no worker.
func TestABuildThatDiesOfEveryRequest(t *testing.T) {
	t.Parallel()
	for name, roll := range map[string]func(d *deploy){
		"fleet restart": func(d *deploy) {
			if r, err := d.admin.Restart(d.t.Context(), "app"); err != nil || r.Number != 1 {
				d.t.Errorf("%+v, %v", r, err)
			}
		},
		"SIGHUP": func(d *deploy) { d.hangUp <- struct{}{} },
		"settings": func(d *deploy) {
			cfg := d.cfg
			f := cfg.Fleets["app"]
			f.Env = map[string]string{roleVar: "worker", buildVar: d.build, "VERSION": "2"}
			cfg.Fleets = map[string]config.Fleet{"app": f}
			if err := d.app.Reload(d.t.Context(), cfg); err != nil {
				d.t.Error(err)
			}
		},
	} {
		t.Run(name, func(t *testing.T) {
			if name != "settings" {
				pace.Spare(t, "settings")
				pace.Soak(t, "settings")
			}
			t.Parallel() // it waits for processes to prove themselves
			d := startDeploy(t, config.Bake{})
			before := d.pids()
			s := d.stream()
			d.write("bad")
			roll(d)
			d.until("the rolling restart stops", func() bool { return d.rollout().State == "stopped" })
			sent := s.sent.Load()
			d.until("the stream goes on", func() bool { return s.sent.Load() > sent+300 })
			s.end(t, 0.97)
			r := d.rollout()
			t.Logf("stopped after %v", r.Ended.Sub(r.Began))
			if r.Tries != 2 || r.Replaced != 0 || r.Worker != "app-1" || r.Stopped != 1 || !strings.Contains(r.Next, "bezoar config rollback") {
				t.Errorf("%+v", r)
			}
			if now := d.pids(); !slices.Equal(now, before) || d.serving() != 4 {
				t.Errorf("processes %v before, %v now, %d serve", before, now, d.serving())
			}
			if n := d.deaths(); n != 2 {
				t.Errorf("%d workers died, want the two that were tried", n)
			}
			if vs := d.convicts(); len(vs) > 0 {
				t.Errorf("convicted: %+v", vs)
			}
			if log := d.log.String(); !strings.Contains(log, "rolling restart stopped") || !strings.Contains(log, "next=") {
				t.Error("the log does not say that it stopped and what is next")
			}
		})
	}
}

// attack sends one pill a second until stop is called, which hangs up.
func (d *deploy) attack(pill func(k int) (method, target, body string)) (stop func()) {
	ctx, cancel := context.WithCancel(d.t.Context())
	var wg sync.WaitGroup
	wg.Go(func() {
		tick := time.NewTicker(time.Second)
		defer tick.Stop()
		for k := 0; ; k++ {
			wg.Go(func() {
				method, target, body := pill(k)
				d.sendIn(ctx, method, target, body, nil)
			})
			select {
			case <-tick.C:
			case <-ctx.Done():
				return
			}
		}
	})
	return func() { cancel(); wg.Wait() }
}

// A good build is deployed though requests that kill every build come meanwhile.
func TestAGoodBuildAmongPoison(t *testing.T) {
	t.Parallel()
	for name, pill := range map[string]func(k int) (method, target, body string){
		"one pill again and again": func(int) (string, string, string) { return "GET", "/x?q=crash", "" },
		"unique pills":             func(k int) (string, string, string) { return "GET", fmt.Sprintf("/x?q=crash%d", k), "" },
		"unique pills in POSTs":    func(k int) (string, string, string) { return "POST", "/x", fmt.Sprint("crash", k) },
	} {
		t.Run(name, func(t *testing.T) {
			if name != "unique pills" {
				pace.Spare(t, "unique pills")
				pace.Soak(t, "unique pills")
			}
			t.Parallel() // it waits for processes to prove themselves
			d := startDeploy(t, config.Bake{Requests: 40, Time: 5 * time.Second})
			s := d.stream()
			stop := d.attack(pill)
			// What kills on new processes alone looks like a bad build, and pills that come for
			// the first time may: so they are known when the restart begins.
			d.until("Bezoar knows what kills", func() bool {
				log := d.log.String()
				return strings.Contains(log, "msg=quarantined") || strings.Contains(log, "msg=group-laned")
			})
			before := d.pids()
			if _, err := d.admin.Restart(t.Context(), "app"); err != nil {
				t.Error(err)
			}
			d.until("the rolling restart ends", func() bool { s := d.rollout().State; return s != "running" && s != "" })
			stop()
			r := d.rollout()
			t.Logf("%s after %v with %d deaths: %s", r.State, r.Ended.Sub(r.Began), d.deaths(), r.Why)
			s.end(t, 0.95)
			if r.State != "done" {
				t.Errorf("%+v", r)
			}
			for _, pid := range d.pids() {
				if slices.Contains(before, pid) {
					t.Errorf("process %d was not replaced", pid)
				}
			}
		})
	}
}
