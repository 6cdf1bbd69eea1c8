package app_test

import (
	"context"
	"fmt"
	"io"
	"math/rand/v2"
	"net"
	"net/http"
	"net/url"
	"os"
	"runtime"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/bezoar-dev/bezoar/internal/test/pace"
)

// soakLength is how long the soak lasts: BEZOAR_SOAK, such as 30m, or a short
// while.
func soakLength(t *testing.T) time.Duration {
	t.Helper()
	v := os.Getenv("BEZOAR_SOAK")
	if v == "" || v == "1" {
		return 8 * time.Second
	}
	d, err := time.ParseDuration(v)
	if err != nil {
		t.Fatalf("BEZOAR_SOAK: %v", err)
	}
	return d
}

// wire leads to a server and can be cut.
type wire struct {
	ln    net.Listener
	to    string
	mu    sync.Mutex // guards what follows
	cut   bool
	conns map[net.Conn]bool
}

// newWire returns a wire to the host of u, and u by way of it.
func newWire(t *testing.T, u string) (*wire, string) {
	t.Helper()
	at, err := url.Parse(u)
	if err != nil {
		t.Fatal(err)
	}
	ln, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	w := &wire{ln: ln, to: at.Host, conns: map[net.Conn]bool{}}
	done := make(chan struct{})
	go func() { defer close(done); w.serve() }()
	t.Cleanup(func() { ln.Close(); w.set(true); <-done })
	at.Host = ln.Addr().String()
	return w, at.String()
}

func (w *wire) serve() {
	var wg sync.WaitGroup
	defer wg.Wait()
	for {
		c, err := w.ln.Accept()
		if err != nil {
			return
		}
		up, err := net.Dial("tcp", w.to)
		if err != nil || !w.keep(c, up) {
			c.Close()
			if up != nil {
				up.Close()
			}
			continue
		}
		for _, pair := range [][2]net.Conn{{c, up}, {up, c}} {
			wg.Go(func() {
				_, _ = io.Copy(pair[0], pair[1])
				pair[0].Close()
				pair[1].Close()
				w.mu.Lock()
				delete(w.conns, pair[0])
				w.mu.Unlock()
			})
		}
	}
}

func (w *wire) keep(conns ...net.Conn) bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.cut {
		return false
	}
	for _, c := range conns {
		w.conns[c] = true
	}
	return true
}

// set cuts the wire, or mends it.
func (w *wire) set(cut bool) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.cut = cut; cut {
		for c := range w.conns {
			c.Close()
		}
	}
}

// tally counts what one caller saw.
type tally struct{ sent, ok, limited, shed, other atomic.Int64 }

func (y *tally) note(status int) {
	y.sent.Add(1)
	switch status {
	case http.StatusOK:
		y.ok.Add(1)
	case http.StatusTooManyRequests:
		y.limited.Add(1)
	case http.StatusServiceUnavailable:
		y.shed.Add(1)
	default:
		y.other.Add(1)
	}
}

// soak is a Bezoar under everything at once.
type soak struct {
	*reloaded

	takes time.Duration // a request, in the worker

	good   [8]tally
	greedy tally
	crowd  tally
	first  sync.Map // of what went wrong for good callers, a few
	bad    atomic.Int64
}

// settings are those of a soak: they differ with n in what callers must not
// notice.
func (s *soak) settings(store, dir string, n int) string {
	return fmt.Sprintf(`%slisten: 127.0.0.1:0
access_log: {sample: 1%%, errors: 5}
plans:
  good: {callers: [good-0, good-1, good-2, good-3, good-4, good-5, good-6, good-7], priority: critical-plus, limits: [{rate: %d/s, shared: yes}]}
  free: {callers: ["*"], priority: sheddable, limits: [{rate: 40/s, burst: %d}]}
  crowd: {callers: [crowd], priority: sheddable-plus}
fleets:
  app:
    command: [%q]
    env: {%s: worker}
    replicas: %d
    health: {path: /healthz, interval: 200ms}
    drain: 5s
    max_in_flight: 16
    concurrency: {limit: 24, queue: 32, wait: 200ms, per_caller: %d}
    watchdog: {memory: 1GiB, for: 5s}
routes:
  - match: {path: /*}
    fleet: app
    client: header:X-Api-Key
    plans: [good, crowd, free]
    breaker: {open: 500ms, failure_ratio: %d%%}
    timeout: 10s
    retry: {per_caller: 20%%}
`, head(store, dir), 200+n%3, 60+n%2, os.Getenv(workVar), roleVar, 4+n%2, 20+n%2, 60+n%3)
}

// call sends one request and notes its status.
func (s *soak) call(ctx context.Context, c *http.Client, key string, y *tally, good bool) {
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, s.url+fmt.Sprintf("/item?ms=%d&id=%d", s.takes.Milliseconds(), rand.IntN(50)), http.NoBody)
	if err != nil {
		return
	}
	req.Header.Set("X-Api-Key", key)
	res, err := c.Do(req)
	if ctx.Err() != nil {
		if err == nil {
			res.Body.Close()
		}
		return
	}
	status, body := 0, []byte(nil)
	if err == nil {
		status = res.StatusCode
		body, err = io.ReadAll(io.LimitReader(res.Body, 2048))
		res.Body.Close()
	}
	if err != nil {
		status = 0
	}
	y.note(status)
	if good && status != http.StatusOK && s.bad.Add(1) <= 20 {
		s.first.Store(s.bad.Load(), fmt.Sprintf("%s %s: %d %v %.300s", time.Now().Format(time.TimeOnly), key, status, err, body))
	}
}

// caller sends until ctx ends, each on the beat of pace, or as fast as it is
// answered.
func (s *soak) caller(ctx context.Context, wg *sync.WaitGroup, n int, key string, pace time.Duration, y *tally, good bool) {
	tr := &http.Transport{MaxIdleConnsPerHost: n}
	c := &http.Client{Transport: tr, Timeout: 20 * time.Second}
	var mine sync.WaitGroup
	for range n {
		mine.Go(func() {
			tick := time.NewTicker(pace)
			defer tick.Stop()
			for ctx.Err() == nil {
				s.call(ctx, c, key, y, good)
				select {
				case <-tick.C:
				case <-ctx.Done():
				}
			}
		})
	}
	wg.Go(func() { mine.Wait(); tr.CloseIdleConnections() })
}

// every calls do again and again until ctx ends.
func every(ctx context.Context, wg *sync.WaitGroup, d time.Duration, do func(n int)) {
	wg.Go(func() {
		tick := time.NewTicker(d)
		defer tick.Stop()
		for n := 1; ; n++ {
			select {
			case <-tick.C:
				do(n)
			case <-ctx.Done():
				return
			}
		}
	})
}

func heap() uint64 {
	var m runtime.MemStats
	runtime.GC()
	runtime.ReadMemStats(&m)
	return m.HeapAlloc
}

// TestSoak holds everything at once for a while: more callers than there is room
// for, a greedy one, workers that die, a store that goes away, and settings that
// change. Good callers do not notice, and nothing grows.
func TestSoak(t *testing.T) {
	length := soakLength(t)
	quick := length < time.Minute
	pick := func(short, long time.Duration) time.Duration {
		if quick {
			return short
		}
		return long
	}
	dir := t.TempDir()
	store, cut := sqliteIn(dir), func(bool) {}
	if at := os.Getenv("BEZOAR_TEST_POSTGRES"); at != "" {
		w, through := newWire(t, newDatabase(t, at))
		store, cut = through, w.set
	}
	// In a short while many callers who wait longer are as much at once as more requests,
	// and take less of the processors.
	s := &soak{takes: pick(80*time.Millisecond, 20*time.Millisecond)}
	s.reloaded = follow(t, s.settings(store, dir, 0))
	s.url = "http://" + s.app.Addr()
	s.serving("app", 4)

	began := time.Now()
	ctx, stop := context.WithTimeout(t.Context(), length)
	defer stop()
	var wg sync.WaitGroup
	for i := range s.good {
		s.caller(ctx, &wg, 2, fmt.Sprintf("good-%d", i), 100*time.Millisecond, &s.good[i], true)
	}
	// The race detector's work must not take the room of the good callers.
	s.caller(ctx, &wg, pace.Rounds(8, 2), "greedy", 20*time.Millisecond, &s.greedy, false)
	s.caller(ctx, &wg, pace.Rounds(64, 4), "crowd", pick(120*time.Millisecond, 30*time.Millisecond), &s.crowd, false)

	var reloads, kills, cuts atomic.Int64
	every(ctx, &wg, pick(2*time.Second, 10*time.Second), func(n int) {
		s.write(s.settings(store, dir, n))
		reloads.Add(1)
	})
	every(ctx, &wg, pick(3*time.Second, 7*time.Second), func(int) {
		if pid := s.anyWorker(ctx); pid > 0 && syscall.Kill(pid, syscall.SIGKILL) == nil {
			kills.Add(1)
		}
	})
	every(ctx, &wg, pick(4*time.Second, 45*time.Second), func(int) {
		cut(true)
		cuts.Add(1)
		select {
		case <-time.After(pick(time.Second, 10*time.Second)):
		case <-ctx.Done():
		}
		cut(false)
	})
	var early, late uint64
	var earlyG, lateG int
	every(ctx, &wg, length/5, func(n int) {
		h, g := heap(), runtime.NumGoroutine()
		t.Logf("after %v: heap %.1f MiB, %d goroutines", time.Duration(n)*length/5, float64(h)/(1<<20), g)
		if n == 1 {
			early, earlyG = h, g
		}
		late, lateG = h, g
	})
	wg.Wait()
	cut(false)

	refused := 1 - float64(s.crowd.ok.Load())/float64(max(s.crowd.sent.Load(), 1))
	t.Logf("%d reloads, %d workers killed, store cut %d times; running version %d", reloads.Load(), kills.Load(), cuts.Load(), s.live().Status().Running.Number)
	for i := range s.good {
		y := &s.good[i]
		share := float64(y.ok.Load()) / float64(max(y.sent.Load(), 1))
		t.Logf("good-%d: %d sent, %.3f %% good, limited %d, shed %d, other %d", i, y.sent.Load(), 100*share, y.limited.Load(), y.shed.Load(), y.other.Load())
		spare := float64(y.sent.Load()) / 1000
		if quick {
			// How much can be done in a short while is the machine's: good callers are to fare
			// far better than the crowd does.
			spare = max(2, float64(y.sent.Load())*refused/5)
		}
		if pace.Watched {
			// The detector takes most of the processors, so that Bezoar may have to shed:
			// what good callers get is held without it.
			spare = float64(y.sent.Load()) / 5
		}
		if lost := float64(y.limited.Load() + y.other.Load()); lost > max(2, spare/10) {
			t.Errorf("good-%d: %v answers that are no sign of too much work", i, lost)
		}
		if float64(y.sent.Load()-y.ok.Load()) > spare || y.sent.Load() < 10 {
			t.Errorf("good-%d was served %.3f %% of %d", i, 100*share, y.sent.Load())
		}
	}
	for name, y := range map[string]*tally{"greedy": &s.greedy, "crowd": &s.crowd} {
		t.Logf("%s: %d sent, %d good, limited %d, shed %d, other %d", name, y.sent.Load(), y.ok.Load(), y.limited.Load(), y.shed.Load(), y.other.Load())
	}
	// Of 40/s and a burst of 60 or so, which a reload may give anew.
	if sent := s.greedy.sent.Load(); s.greedy.limited.Load() == 0 && float64(sent) > 50*time.Since(began).Seconds()+100*float64(1+reloads.Load()) {
		t.Errorf("the greedy caller was never limited, and has sent %d", sent)
	}
	if t.Failed() {
		s.first.Range(func(_, what any) bool { t.Log(what); return true })
	}
	if !quick && float64(late) > 1.5*float64(early)+16<<20 {
		t.Errorf("the heap grew from %d to %d bytes", early, late)
	}
	if !quick && lateG > earlyG*3/2+200 {
		t.Errorf("goroutines grew from %d to %d", earlyG, lateG)
	}
}

// anyWorker returns the process of a worker, if another one serves.
func (s *soak) anyWorker(ctx context.Context) int {
	fleets, err := s.admin.Fleets(ctx)
	if err != nil {
		return 0
	}
	var pids []int
	for _, f := range fleets {
		for _, w := range f.Workers {
			if w.State == "ready" && w.PID > 0 {
				pids = append(pids, w.PID)
			}
		}
	}
	if len(pids) < 3 {
		return 0
	}
	return pids[rand.IntN(len(pids))]
}
