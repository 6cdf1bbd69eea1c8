package dispatch_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"testing/synctest"
	"time"

	"github.com/bezoar-dev/bezoar"
	"github.com/bezoar-dev/bezoar/internal/dispatch"
	"github.com/bezoar-dev/bezoar/internal/dispatch/fleet"
	"github.com/bezoar-dev/bezoar/internal/dispatch/ledger"
	"github.com/bezoar-dev/bezoar/policy/blame"
)

// rig is a fleet of pretended workers in virtual time: what they do with a
// piece of work is decided by its behaviour.
type rig struct {
	t      *testing.T
	fleet  *fleet.Fleet
	ledger *ledger.Ledger
	d      *dispatch.Dispatcher

	mu       sync.Mutex
	lives    map[string]*life
	deaths   int
	restart  time.Duration
	sends    map[byte]int         // deliveries by work
	times    map[byte][]time.Time // … and when
	dials    map[byte]int         // by work
	closed   string               // a worker that lives and takes no connections
	lacking  int                  // connections for which there will be no descriptor
	tries    []int                // what the targets said of which attempt it is
	restarts sync.WaitGroup
	stopped  bool
	observe  func(string)
	began    chan time.Time // when streams began
	most     int            // in flight on a worker; 0: as many as come
	spares   bool           // another process takes the place of one that hangs
	retired  []*life        // … which is here then
}

// life is one pretended process.
type life struct {
	epoch uint64
	dead  chan struct{}
	mute  bool // answers no health check
	stop  sync.Once
}

type behaviour int

const (
	good behaviour = iota
	slow
	pill      // kills its worker at once
	hang      // pins its worker for good
	snap      // breaks its connection; the worker lives
	dawdle    // never answers; the worker lives
	poisons   // kills its worker unless it is alone on it
	shut      // finds workers that live and do not take connections
	streams   // answers at once, and goes on until its caller leaves
	fatal     // streams, and kills its worker 400 ms later
	unfit     // cannot be sent
	longPoll  // answers after pollFor
	killsLate // kills its worker after 8 s without an answer
)

// pollFor is how long a long poll takes.
const pollFor = 25 * time.Second

type job struct {
	r    *rig
	id   byte
	what behaviour
	life *life
	left atomic.Bool // its caller has
	told atomic.Bool // that the copy that it waits for has begun
}

func (j *job) WaitsForStream() { j.told.Store(true) }

func (j *job) Gone() bool { return j.left.Load() }

func (j *job) Sample() string { return fmt.Sprintf("GET /%d", j.id) }

func (j *job) Keep() bezoar.Request { return bezoar.Request{Method: "GET", Target: j.Sample()} }

func (j *job) Drop() {}

func (j *job) Connect(_ context.Context, t *dispatch.Target) error {
	j.r.mu.Lock()
	defer j.r.mu.Unlock()
	l := j.r.lives[t.Worker.Name()]
	if l == nil || l.epoch != t.Epoch {
		return errors.New("connection refused")
	}
	j.life = l
	if j.r.lacking > 0 {
		j.r.lacking--
		return fmt.Errorf("connect to worker %s: %w", t.Worker.Name(), syscall.EMFILE)
	}
	if j.r.dials[j.id]++; j.what == shut || t.Worker.Name() == j.r.closed {
		return errors.New("connection refused")
	}
	return nil
}

func (j *job) Send(ctx context.Context, t *dispatch.Target) dispatch.Result {
	j.r.mu.Lock()
	j.r.sends[j.id]++
	j.r.times[j.id] = append(j.r.times[j.id], time.Now())
	j.r.tries = append(j.r.tries, t.Attempt)
	j.r.mu.Unlock()
	work := time.Millisecond
	switch j.what {
	case slow:
		work = 200 * time.Millisecond
	case pill:
		j.r.kill(t.Worker.Name(), j.life, fleet.End{Class: bezoar.Crash, Detail: "signal: aborted", ExitCode: -1, Signal: "SIGABRT"})
		work = time.Hour
	case hang:
		j.r.mu.Lock()
		j.life.mute = true
		j.r.mu.Unlock()
		work = time.Hour
	case dawdle:
		work = time.Hour
	case longPoll:
		work = pollFor
	case killsLate:
		select {
		case <-time.After(8 * time.Second):
			j.r.kill(t.Worker.Name(), j.life, fleet.End{Class: bezoar.Crash, Detail: "signal: aborted", ExitCode: -1, Signal: "SIGABRT"})
		case <-j.life.dead:
		}
		work = time.Hour
	case streams:
		t.Begun(time.Now())
		t.Stream()
		j.r.began <- time.Now()
		select {
		case <-ctx.Done():
			return dispatch.Result{Fault: dispatch.CallerGone, Begun: true, Status: 200, Err: ctx.Err()}
		case <-j.life.dead:
			return dispatch.Result{Fault: dispatch.BrokenConn, Begun: true, Status: 200, Err: errors.New("EOF")}
		}
	case fatal:
		t.Begun(time.Now())
		t.Stream()
		select {
		case <-j.life.dead:
		case <-time.After(400 * time.Millisecond):
			j.r.kill(t.Worker.Name(), j.life, fleet.End{Class: bezoar.Crash, Detail: "signal: aborted", ExitCode: -1, Signal: "SIGABRT"})
		}
		return dispatch.Result{Fault: dispatch.BrokenConn, Begun: true, Status: 101, Err: errors.New("EOF")}
	case unfit:
		return dispatch.Result{Fault: dispatch.Unfit, Err: errors.New("too large")}
	case snap:
		return dispatch.Result{Fault: dispatch.BrokenConn, Err: errors.New("EOF")}
	}
	for {
		timer := time.NewTimer(work)
		var overdue <-chan time.Time
		if !t.Deadline.IsZero() {
			overdue = time.After(time.Until(t.Deadline))
		}
		select {
		case <-j.life.dead:
			return dispatch.Result{Fault: dispatch.BrokenConn, Err: errors.New("EOF")}
		case <-ctx.Done():
			return dispatch.Result{Fault: dispatch.CallerGone, Err: ctx.Err()}
		case <-overdue:
			return dispatch.Result{Fault: dispatch.OverdueHead, Err: errors.New("i/o timeout")}
		case <-timer.C:
		}
		j.r.mu.Lock()
		mute := j.life.mute
		j.r.mu.Unlock()
		if !mute {
			t.Begun(time.Now())
			return dispatch.Result{Status: 200}
		}
		work = time.Hour // stuck behind what hangs
	}
}

// newRig starts n workers that restart 100 ms after a death.
func newRig(t *testing.T, n int, cfg dispatch.Config, bc blame.Config, most ...int) *rig {
	t.Helper()
	r := &rig{t: t, lives: map[string]*life{}, restart: 100 * time.Millisecond, sends: map[byte]int{}, times: map[byte][]time.Time{}, dials: map[byte]int{}, began: make(chan time.Time, 1000)}
	for _, r.most = range most {
	}
	l, err := ledger.New(ledger.Config{Fleet: "test", Blame: bc, Observe: func(e ledger.Event) {
		if r.observe != nil {
			r.observe(fmt.Sprintf("%v work %d worker %s epoch %d lane %v inflight %d gated", e.Kind, e.Verdict.Fingerprint[0], e.Evidence.Worker, e.Evidence.Epoch, e.Evidence.Lane, e.Evidence.InFlight))
		}
	}})
	if err != nil {
		t.Fatal(err)
	}
	f, err := fleet.New(fleet.Config{
		Name: "test", MaxInFlight: r.most,
		Opened: func(epoch uint64, _ string) { l.Opened(epoch) },
		Ended: func(epoch uint64, worker string, end fleet.End) {
			l.Ended(epoch, end.Planned, bezoar.Evidence{Worker: worker, At: end.At, Class: end.Class, Detail: end.Detail, ExitCode: end.ExitCode, Signal: end.Signal})
		},
	})
	if err != nil {
		t.Fatal(err)
	}
	f.Keep(r)
	cfg.Fleet, cfg.Ledger = f, l
	d, err := dispatch.New(cfg)
	if err != nil {
		t.Fatal(err)
	}
	r.fleet, r.ledger, r.d = f, l, d
	l.SetFleet(n)
	for i := range n {
		r.up(fmt.Sprintf("w%d", i))
	}
	ctx, cancel := context.WithCancel(t.Context())
	var run sync.WaitGroup
	run.Go(func() { _ = d.Run(ctx) })
	run.Go(func() { _ = l.Run(ctx) })
	t.Cleanup(func() {
		r.mu.Lock()
		r.stopped = true
		r.mu.Unlock()
		cancel()
		run.Wait()
		r.restarts.Wait()
	})
	return r
}

func (r *rig) up(name string) {
	r.fleet.Add(name)
	r.mu.Lock()
	defer r.mu.Unlock()
	r.begin(name)
}

// begin begins a life. Nobody may see its epoch before it is there: mu is held.
func (r *rig) begin(name string) {
	l := &life{dead: make(chan struct{})}
	l.epoch = r.fleet.Up(name, "127.0.0.1:1")
	r.lives[name] = l
}

// kill ends a life as a crash would: connections break, the keeper notices.
func (r *rig) kill(name string, l *life, end fleet.End) {
	l.stop.Do(func() {
		r.mu.Lock()
		held := r.lives[name] == l
		if held {
			delete(r.lives, name)
		}
		r.deaths++
		epoch := l.epoch
		r.mu.Unlock()
		close(l.dead)
		end.At = time.Now()
		r.fleet.Down(name, epoch, end)
		r.restarts.Go(func() {
			time.Sleep(r.restart)
			r.mu.Lock()
			defer r.mu.Unlock()
			if held && !r.stopped { // then, and not a moment ago
				r.begin(name)
			}
		})
	})
}

func (r *rig) Check(_ context.Context, worker string, epoch uint64, doubt fleet.Doubt) fleet.Health {
	r.mu.Lock()
	defer r.mu.Unlock()
	l := r.find(worker, epoch)
	switch {
	case l == nil:
		return fleet.Gone
	case l.mute && doubt == fleet.Overdue:
		return fleet.Unresponsive
	}
	return fleet.Alive
}

func (r *rig) Kill(worker string, epoch uint64, why string) {
	r.mu.Lock()
	l := r.find(worker, epoch)
	r.mu.Unlock()
	if l != nil {
		r.kill(worker, l, fleet.End{Class: bezoar.Timeout, Detail: why, ExitCode: -1, Signal: "SIGKILL"})
	}
}

func (r *rig) Substitute(worker string, epoch uint64, _ string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if l := r.lives[worker]; r.spares && l != nil && l.epoch == epoch && r.fleet.Retire(worker, epoch) {
		r.retired = append(r.retired, l)
		r.begin(worker)
	}
}

// find returns the life with the epoch, or nil if it has ended. mu is held.
func (r *rig) find(worker string, epoch uint64) *life {
	for _, l := range append(slices.Clip(r.retired), r.lives[worker]) {
		if l != nil && l.epoch == epoch {
			return l
		}
	}
	return nil
}

func (r *rig) do(id byte, what behaviour, edit ...func(*dispatch.Work)) dispatch.Answer {
	w := dispatch.Work{Fingerprint: bezoar.Fingerprint{0: id, 1: 1}, Shape: bezoar.Fingerprint{0: id, 1: 2}, Replayable: true, Timeout: 2 * time.Second}
	for _, e := range edit {
		e(&w)
	}
	return r.d.Do(r.t.Context(), w, &job{r: r, id: id, what: what})
}

// delivered counts the deliveries of work.
func (r *rig) delivered(id byte) int {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.sends[id]
}

func unsafeWork(w *dispatch.Work) { w.Replayable = false }

func (r *rig) dead() int {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.deaths
}

func bubble(t *testing.T, f func(t *testing.T)) { t.Helper(); synctest.Test(t, f) }
