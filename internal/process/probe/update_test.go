package probe

import (
	"fmt"
	"maps"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/bezoar-dev/bezoar"
	"github.com/bezoar-dev/bezoar/internal/dispatch/fleet"
)

// list has x watch these workers.
func list(t *testing.T, x *ExternalWorkers, edit func(*Config), addrs ...string) {
	t.Helper()
	cfg := *x.cfg.Load()
	cfg.Workers = nil
	for _, a := range addrs {
		cfg.Workers = append(cfg.Workers, "http://"+a)
	}
	if edit != nil {
		edit(&cfg)
	}
	if err := x.Update(cfg); err != nil {
		t.Fatal(err)
	}
}

func TestWorkersThatComeAndGo(t *testing.T) {
	a, b := &process{t: t, addr: freeAddr(t)}, &process{t: t, addr: freeAddr(t)}
	a.start()
	b.start()
	reg := newRecorder()
	x := keep(t, reg, nil, a.addr)
	reg.wait(t, "up", 1)
	list(t, x, nil, a.addr, b.addr)
	reg.wait(t, "up", 2)
	work := make(chan struct{})
	reg.mu.Lock()
	reg.work = work
	reg.mu.Unlock()
	epoch := reg.epoch(a.addr)
	list(t, x, nil, b.addr)
	reg.wait(t, "drain", 1)
	if h := x.Check(t.Context(), a.addr, epoch, fleet.Broken); h != fleet.Alive || reg.count("remove") != 0 {
		t.Errorf("with work in flight it is %v, removed %d", h, reg.count("remove"))
	}
	close(work)
	reg.wait(t, "remove", 1)
	if end := reg.end(); !end.Planned || end.Class != bezoar.Interrupted || !strings.Contains(end.Detail, "removed") {
		t.Errorf("end %+v", end)
	}
	if h := x.Check(t.Context(), a.addr, epoch, fleet.Broken); h != fleet.Gone || reg.epoch(b.addr) == 0 {
		t.Errorf("the one taken out is %v, the other has epoch %d", h, reg.epoch(b.addr))
	}
	x.Kill(a.addr, epoch, "it is not ours") // does nothing
	list(t, x, nil, b.addr, a.addr)
	reg.wait(t, "up", 3)
}

func TestWorkerThatIsListedAgain(t *testing.T) {
	a, b := &process{t: t, addr: freeAddr(t)}, &process{t: t, addr: freeAddr(t)}
	a.start()
	b.start()
	reg := newRecorder()
	x := keep(t, reg, nil, a.addr, b.addr)
	reg.wait(t, "up", 2)
	work := make(chan struct{})
	reg.mu.Lock()
	reg.work = work
	reg.mu.Unlock()
	defer close(work)
	for i := range 3 {
		list(t, x, nil, b.addr)
		reg.wait(t, "drain", i+1)
		list(t, x, nil, a.addr, b.addr)
		reg.wait(t, "resume", i+1)
	}
	if reg.epoch(a.addr) == 0 || reg.count("up") != 2 || reg.count("remove") != 0 {
		t.Errorf("it did not go on: up %d times, removed %d times", reg.count("up"), reg.count("remove"))
	}
}

// One that is down, or does not come to an end in time, goes as well.
func TestWorkersThatGoInAnyState(t *testing.T) {
	absent, busy, stays := freeAddr(t), &process{t: t, addr: freeAddr(t)}, &process{t: t, addr: freeAddr(t)}
	busy.start()
	stays.start()
	reg := newRecorder()
	x := keep(t, reg, nil, absent, busy.addr, stays.addr)
	reg.wait(t, "up", 2)
	reg.mu.Lock()
	reg.work = make(chan struct{}) // never ends
	reg.mu.Unlock()
	list(t, x, func(c *Config) { c.Drain = 20 * time.Millisecond }, stays.addr)
	reg.wait(t, "remove", 2)
	if reg.epoch(stays.addr) == 0 {
		t.Error("the wrong one has gone")
	}
}

func TestNewHealthOfWorkers(t *testing.T) {
	p := &process{t: t, addr: freeAddr(t)}
	p.start()
	reg := newRecorder()
	x := keep(t, reg, func(c *Config) { c.Health.Interval = time.Hour }, p.addr)
	reg.wait(t, "up", 1)
	p.get("/set?status=500")
	list(t, x, func(c *Config) { c.Health.Path, c.Health.Interval = "/healthz", 10*time.Millisecond }, p.addr)
	reg.wait(t, "sick", 1)
	list(t, x, func(c *Config) { c.Health.Path = "" }, p.addr)
	reg.wait(t, "well", 1)
}

func TestInvalidUpdate(t *testing.T) {
	p := &process{t: t, addr: freeAddr(t)}
	p.start()
	reg := newRecorder()
	x := keep(t, reg, nil, p.addr)
	reg.wait(t, "up", 1)
	for _, edit := range []func(*Config){
		func(c *Config) { c.Workers = nil },
		func(c *Config) { c.Workers = []string{"ftp://" + p.addr} },
		func(c *Config) { c.Drain = -1 },
		func(c *Config) { c.Health.Path = "no slash" },
	} {
		cfg := *x.cfg.Load()
		edit(&cfg)
		if err := x.Update(cfg); err == nil {
			t.Errorf("%+v was accepted", cfg)
		}
	}
	if h := x.Check(t.Context(), p.addr, reg.epoch(p.addr), fleet.Broken); h != fleet.Alive {
		t.Errorf("afterwards it is %v", h)
	}
}

// With a real fleet: the place of one that is taken out is gone, and its work was
// finished.
func TestFleetLosesPlaces(t *testing.T) {
	a, b := &process{t: t, addr: freeAddr(t)}, &process{t: t, addr: freeAddr(t)}
	a.start()
	b.start()
	f, err := fleet.New(fleet.Config{Name: "test"})
	if err != nil {
		t.Fatal(err)
	}
	x := keep(t, f, nil, a.addr, b.addr)
	f.Keep(x)
	until(t, "both serve", func() bool { return f.Serving() == 2 })
	w := f.TryAcquire(fleet.Want{Avoid: b.addr})
	list(t, x, nil, b.addr)
	until(t, "it drains", func() bool { return f.Serving() == 1 })
	if _, ended := w.End(); ended || f.Size() != 2 {
		t.Error("it ended with work in flight")
	}
	resp, err := http.Get("http://" + w.Addr() + "/healthz") // the work
	if err != nil {
		t.Fatal(err)
	}
	_ = resp.Body.Close()
	http.DefaultClient.CloseIdleConnections()
	f.Release(w)
	until(t, "its place is gone", func() bool { return f.Size() == 1 })
}

// A weight is that of every address of a name, also of one that comes later, and holds
// from an update on.
func TestWeightsOfNames(t *testing.T) {
	dns := &nameServer{addrs: map[string][]string{}}
	dns.set("app.test", "127.0.0.2", "127.0.0.3")
	reg := newRecorder()
	x := keep(t, reg, func(c *Config) {
		c.Resolve, c.lookup, c.Weights = 5*time.Millisecond, dns.lookup, map[string]int{"http://app.test": 5}
	}, "app.test", "127.0.0.9:1")
	expect := func(want map[string]int) {
		t.Helper()
		until(t, fmt.Sprint("the weights are ", want), func() bool {
			reg.mu.Lock()
			defer reg.mu.Unlock()
			return maps.Equal(reg.weights, want)
		})
	}
	expect(map[string]int{"127.0.0.2:80": 5, "127.0.0.3:80": 5, "127.0.0.9:1": 1})
	dns.set("app.test", "127.0.0.2", "127.0.0.3", "127.0.0.4")
	expect(map[string]int{"127.0.0.2:80": 5, "127.0.0.3:80": 5, "127.0.0.4:80": 5, "127.0.0.9:1": 1})
	list(t, x, func(c *Config) { c.Weights = map[string]int{"http://127.0.0.9:1": 0} }, "app.test", "127.0.0.9:1")
	expect(map[string]int{"127.0.0.2:80": 1, "127.0.0.3:80": 1, "127.0.0.4:80": 1, "127.0.0.9:1": 0})
}
