package probe

import (
	"context"
	"io"
	"net"
	"strings"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/bezoar-dev/bezoar"
	"github.com/bezoar-dev/bezoar/internal/dispatch/fleet"
)

// One life after another of a worker that an outsider kills and starts again.
func TestEpochEndsWhenTheNextConnectionIsRefused(t *testing.T) {
	p := &process{t: t, addr: freeAddr(t)}
	reg := newRecorder()
	x := keep(t, reg, func(c *Config) { c.Health.Interval = time.Hour }, p.addr)

	p.start() // it was down when Run began
	reg.wait(t, "up", 1)
	first := reg.epoch(p.addr)
	if h := x.Check(t.Context(), p.addr, first, fleet.Broken); h != fleet.Alive {
		t.Errorf("Check of a live worker with one broken connection = %v, want alive: a connection fault", h)
	}
	p.kill()
	if h := x.Check(t.Context(), p.addr, first, fleet.Broken); h != fleet.Gone {
		t.Errorf("Check after kill -9 = %v, want gone", h)
	}
	if got := reg.count("down crash"); got != 1 {
		t.Fatalf("%d crashes were reported before Check returned, want 1", got)
	}
	if end := reg.end(); end.Planned || end.ExitCode != -1 || end.At.IsZero() {
		t.Errorf("end is %+v, want unplanned, exit code unknown, with a time", end)
	}
	if h := x.Check(t.Context(), p.addr, first, fleet.Broken); h != fleet.Gone {
		t.Errorf("Check of an epoch that is over = %v, want gone", h)
	}
	p.start()
	reg.wait(t, "up", 2)
	if second := reg.epoch(p.addr); second == first {
		t.Errorf("the new life has the old epoch %d", first)
	}
	if got := reg.count("down crash"); got != 1 {
		t.Errorf("%d crashes were reported, want 1 per epoch", got)
	}
}

// The worker is back before anybody asks: only the socket tells.
func TestFastRestartIsSeenByItsSocket(t *testing.T) {
	p := &process{t: t, addr: freeAddr(t)}
	p.start()
	if len(listeners(p.addr)) == 0 {
		t.Fatal("/proc/net/tcp does not show the worker's socket")
	}
	reg := newRecorder()
	x := keep(t, reg, func(c *Config) { c.Health.Interval = time.Hour }, p.addr)
	reg.wait(t, "up", 1)
	first := reg.epoch(p.addr)
	p.kill()
	p.start()
	if h := x.Check(t.Context(), p.addr, first, fleet.Broken); h != fleet.Gone {
		t.Errorf("Check after a fast restart = %v, want gone", h)
	}
	reg.wait(t, "up", 2)
	if got := reg.count("down crash"); got != 1 {
		t.Errorf("%d crashes were reported, want 1", got)
	}
}

// Without an inode to compare (another machine), the wire's connections tell.
func TestAllConnectionsBrokenIsARestart(t *testing.T) {
	p := &process{t: t, addr: freeAddr(t)}
	p.start()
	var alive, broken atomic.Int64
	broken.Store(9)
	reg := newRecorder()
	x := keep(t, reg, func(c *Config) {
		c.Health.Interval = time.Hour
		c.Conns = func(string, uint64) (int, int) { return int(alive.Load()), int(broken.Load()) }
	}, p.addr)
	reg.wait(t, "up", 1)
	first := reg.epoch(p.addr)
	if h := x.Check(t.Context(), p.addr, first, fleet.Broken); h != fleet.Alive {
		t.Errorf("Check = %v, want alive: the socket is the same", h)
	}
	x.workers[p.addr].current().inodes = nil // as of a worker on another machine
	for _, c := range []struct {
		alive, broken int64
		want          fleet.Health
	}{
		{0, 1, fleet.Alive}, // one EOF is a connection fault
		{1, 5, fleet.Alive}, // one that stands outweighs
		{0, 2, fleet.Gone},
	} {
		alive.Store(c.alive)
		broken.Store(c.broken)
		if h := x.Check(t.Context(), p.addr, first, fleet.Broken); h != c.want {
			t.Errorf("Check with %d connections alive and %d broken = %v, want %v", c.alive, c.broken, h, c.want)
		}
	}
	reg.wait(t, "up", 2)
}

func TestHangIsKeptOutUntilItAnswers(t *testing.T) {
	p := &process{t: t, addr: freeAddr(t)}
	p.start()
	reg := newRecorder()
	x := keep(t, reg, func(c *Config) { c.Health.Timeout = 2 * time.Second }, p.addr)
	reg.wait(t, "up", 1)
	epoch := reg.epoch(p.addr)
	until(t, "a worker that answers is found alive", func() bool { // the first look may come too late for it
		return x.Check(t.Context(), p.addr, epoch, fleet.Overdue) == fleet.Alive
	})
	p.freeze()
	if h := x.Check(t.Context(), p.addr, epoch, fleet.Overdue); h != fleet.Unresponsive {
		t.Errorf("Check(Overdue) of a stopped worker = %v, want unresponsive", h)
	}
	x.Kill(p.addr, epoch, "an attempt was overdue")
	x.Kill(p.addr, epoch, "twice changes nothing")
	reg.wait(t, "down timeout", 1)
	// Its port is open all the while; that must not bring it up.
	ctx, cancel := context.WithTimeout(t.Context(), time.Second)
	defer cancel()
	if res := x.ready(ctx, x.workers[p.addr]); res.Healthy() {
		t.Errorf("a hanging worker looks ready: %v", res)
	}
	if got := reg.count("up"); got != 1 {
		t.Errorf("the worker came up %d times while it hung, want 1", got)
	}
	if err := p.cmd.Process.Signal(syscall.SIGCONT); err != nil {
		t.Fatal(err)
	}
	reg.wait(t, "up", 2)
	if got := reg.count("down timeout"); got != 1 {
		t.Errorf("%d hangs were reported, want 1", got)
	}
}

func TestAnnouncedStopIsPlanned(t *testing.T) {
	p, other := &process{t: t, addr: freeAddr(t)}, &process{t: t, addr: freeAddr(t)}
	p.start()
	other.start()
	reg := newRecorder()
	x := keep(t, reg, func(c *Config) { c.Health.Path = "/healthz" }, p.addr, other.addr)
	reg.wait(t, "up", 2)
	p.get("/set?status=503")
	reg.wait(t, "sick", 1)
	p.get("/set?status=200")
	reg.wait(t, "well", 1)
	p.get("/set?status=503")
	reg.wait(t, "sick", 2)
	epoch := reg.epoch(p.addr)
	p.kill()
	if h := x.Check(t.Context(), p.addr, epoch, fleet.Broken); h != fleet.Gone {
		t.Errorf("Check = %v, want gone", h)
	}
	reg.wait(t, "down planned interrupted", 1)
}

func TestPortClosedWhileWorkGoesOnIsPlanned(t *testing.T) {
	p := &process{t: t, addr: freeAddr(t)}
	p.start()
	reg := newRecorder()
	work := make(chan struct{})
	reg.work = work
	x := keep(t, reg, nil, p.addr)
	reg.wait(t, "up", 1)
	conn := hold(t, p.addr)
	p.get("/shut")
	reg.wait(t, "drain", 1)
	if h := x.Check(t.Context(), p.addr, reg.epoch(p.addr), fleet.Overdue); h != fleet.Alive {
		t.Errorf("Check(Overdue) of a worker that finishes its work = %v, want alive", h)
	}
	close(work)
	reg.wait(t, "down planned interrupted", 1)
	p.kill()
	if _, err := io.Copy(io.Discard, conn); err != nil && !strings.Contains(err.Error(), "reset") {
		t.Error(err)
	}
}

// A worker that nobody uses is found dead by looking: its port is closed, and
// there is no work to blame or to spare.
func TestDeathOfAnIdleWorkerIsNoticed(t *testing.T) {
	p := &process{t: t, addr: freeAddr(t)}
	p.start()
	reg := newRecorder()
	keep(t, reg, nil, p.addr)
	for i := range 2 {
		reg.wait(t, "up", i+1)
		p.kill()
		if i == 1 {
			p.start() // back before the next look
		}
		reg.wait(t, "down crash", i+1)
		if i == 0 {
			p.start()
		}
	}
	reg.wait(t, "up", 3)
}

// Silence announces nothing: a worker that hangs and is then killed crashed.
func TestSilenceThenDeathIsACrash(t *testing.T) {
	p, other := &process{t: t, addr: freeAddr(t)}, &process{t: t, addr: freeAddr(t)}
	p.start()
	other.start()
	reg := newRecorder()
	keep(t, reg, func(c *Config) {
		c.Health.Path = "/healthz"
		c.Health.Timeout = 50 * time.Millisecond
	}, p.addr, other.addr)
	reg.wait(t, "up", 2)
	p.freeze()
	reg.wait(t, "sick", 1)
	p.kill()
	reg.wait(t, "down crash", 1)
}

// When most look sick it is the check (law 11): all of them go on.
func TestPanicGivesEveryoneTraffic(t *testing.T) {
	f, err := fleet.New(fleet.Config{Name: "test"})
	if err != nil {
		t.Fatal(err)
	}
	var addrs []string
	var procs []*process
	for range 4 {
		p := &process{t: t, addr: freeAddr(t)}
		p.start()
		procs, addrs = append(procs, p), append(addrs, p.addr)
	}
	keep(t, f, func(c *Config) { c.Health.Path = "/healthz" }, addrs...)
	well := func(n int) func() bool {
		return func() bool { st := f.Stats(); return st.Up == 4 && st.Well == n }
	}
	until(t, "all are up", well(4))
	procs[0].get("/set?status=500")
	procs[1].get("/set?status=500")
	until(t, "half look sick", well(2))
	if f.Panic() {
		t.Error("it panics with half of the fleet well")
	}
	for range 20 {
		if w, err := f.Acquire(t.Context(), fleet.Want{}); err != nil || w.Name() == addrs[0] || w.Name() == addrs[1] {
			t.Fatalf("got %v, %v, want one that is well", w, err)
		}
	}
	procs[2].get("/set?status=500")
	procs[3].get("/set?status=500")
	until(t, "all look sick", well(0))
	if !f.Panic() {
		t.Error("it does not panic with nobody well")
	}
	seen := map[string]bool{}
	for range 40 {
		w, err := f.Acquire(t.Context(), fleet.Want{})
		if err != nil {
			t.Fatal(err)
		}
		seen[w.Name()] = true
	}
	if len(seen) != 4 {
		t.Errorf("in panic %d of 4 workers got work: %v", len(seen), seen)
	}
	procs[0].get("/set?status=200")
	procs[1].get("/set?status=200")
	until(t, "half are well again", well(2))
	if f.Panic() {
		t.Error("it still panics")
	}
}

func TestCheckOfAnUnknownWorkerIsGone(t *testing.T) {
	x, err := New(Config{Registry: newRecorder(), Workers: []string{"http://127.0.0.1:1"}})
	if err != nil {
		t.Fatal(err)
	}
	if h := x.Check(t.Context(), "nobody:1", 1, fleet.Broken); h != fleet.Gone {
		t.Errorf("Check = %v, want gone", h)
	}
	x.Kill("nobody:1", 1, "why")
	x.Kill("127.0.0.1:1", 1, "never up")
}

func TestAnnouncementDoesNotExcuseAHang(t *testing.T) {
	end := announcedEnd(fleet.End{Class: bezoar.Timeout})
	if end.Planned || end.Class != bezoar.Timeout {
		t.Errorf("a hang became %+v", end)
	}
}

// hold opens a connection with a request that is never answered.
func hold(t *testing.T, addr string) net.Conn {
	t.Helper()
	conn, err := net.Dial("tcp", addr)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = conn.Close() })
	if _, err := io.WriteString(conn, "GET /hold HTTP/1.1\r\nHost: x\r\n\r\n"); err != nil {
		t.Fatal(err)
	}
	return conn
}
