package supervise

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/bezoar-dev/bezoar/internal/gateway/connlimit"
	"github.com/bezoar-dev/bezoar/internal/process/proc"
	"github.com/bezoar-dev/bezoar/internal/process/removal"
)

// stableAfter is how long a worker must have been up before its next restart is quick again.
const stableAfter = 10 * time.Second

// slot is one worker through all its lives.
type slot struct {
	removal.Removal

	s        *Supervisor
	name     string
	number   int           // from 1
	replaces chan order    // requests for a new life
	left     chan struct{} // closed when the worker is removed
	starts   int           // owned by the goroutine of run
	fallen   bool          // owned by the goroutine of run; see choose

	ending sync.WaitGroup // lives that end in parallel to the current one

	mu     sync.Mutex // guards the fields below
	life   *life      // the newest that was ready
	beside []*life    // replaced lives that finish their work
	made   *Config    // settings of its newest process; nil: there is none
	st     WorkerStatus
}

// order asks for a new life to replace the current one.
type order struct {
	why  string
	roll *rollout // nil: a single replacement
	of   *life    // what is to be replaced, and may take as long as its work may; nil: whatever holds the place
	done chan error
}

func newSlot(s *Supervisor, number int) *slot {
	name := s.name + "-" + strconv.Itoa(number)
	return &slot{
		s: s, name: name, number: number, replaces: make(chan order), left: make(chan struct{}),
		st: WorkerStatus{Name: name, State: Down, Since: time.Now()},
	}
}

// run keeps one worker running until ctx ends or the worker is removed.
func (w *slot) run(ctx context.Context, fail context.CancelCauseFunc) {
	defer w.ending.Wait()
	fails, said := 0, ""
	var asked *order // waiting for the next life
	for ctx.Err() == nil {
		active := w.Context()
		if active.Err() != nil {
			w.ending.Wait()
			if w.s.dismiss(w) {
				break
			}
			continue // it is kept after all
		}
		l, err := w.startLife(active, asked != nil, false)
		if asked != nil && err != nil {
			asked.done <- w.excuse(err)
		}
		switch {
		case err == nil:
			if w.serve(ctx, l, asked) >= stableAfter {
				fails = 0
			}
		case ctx.Err() != nil:
			return
		case active.Err() != nil:
			asked = nil
			continue
		case proc.Hopeless(err) && !w.s.proven.Load():
			fail(fmt.Errorf("%w: %w", errCommand, err))
			return
		default:
			why := strings.TrimPrefix(err.Error(), "worker "+w.name+": ")
			if tries := fails + 1; why != said || tries&(tries-1) == 0 { // of the same: the 1st, 2nd, 4th, 8th …
				w.s.log.Warn("worker did not start", "worker", w.name, "tries", tries, "why", why)
			}
			said = why
			w.note(func(st *WorkerStatus) { st.LastError = why })
		}
		asked = w.waitBackoff(active, w.pause(fails))
		fails++
	}
	if asked != nil {
		asked.done <- w.excuse(context.Canceled)
	}
}

// pause returns the wait before the next start after fails failed ones.
func (w *slot) pause(fails int) time.Duration {
	wait := w.s.cfg.Load().Backoff.Wait(fails, rand.Float64())
	if w.s.doubtful(w) {
		wait = max(wait, doubtfulPause)
	}
	return wait
}

// waitBackoff waits before the next start. An order ends the wait: it brings a new build.
func (w *slot) waitBackoff(ctx context.Context, wait time.Duration) *order {
	w.enter(Down, nil)
	w.begins(nil)
	select {
	case <-time.After(wait):
	case <-ctx.Done():
	case o := <-w.replaces:
		return &o
	}
	return nil
}

// startLife starts a process and waits until it is ready; beside: another life serves meanwhile. ordered says that the
// newest settings were asked for. After an error no process of it is left.
func (w *slot) startLife(ctx context.Context, ordered, beside bool) (*life, error) {
	w.starts++
	n := w.starts
	cfg := w.choose(ordered)
	l, err := w.s.launch(w.name, n, cfg)
	if connlimit.Exhausted(err) { // the start was not tried
		return nil, err
	}
	if err != nil {
		w.didNotStart(cfg, ordered)
		return nil, err
	}
	w.s.proven.Store(true)
	if n > 1 {
		w.note(func(st *WorkerStatus) { st.Restarts++ })
	}
	if !beside {
		w.enter(Starting, l)
	}
	if err := w.s.awaitReady(ctx, l); err != nil {
		if ctx.Err() == nil {
			w.didNotStart(cfg, ordered)
		}
		return nil, err
	}
	w.s.cameUp(cfg)
	return l, nil
}

// serve opens l, which may fulfil an order, and supervises it and its replacements until the end. It returns how long the
// last of them was up.
func (w *slot) serve(ctx context.Context, l *life, o *order) time.Duration {
	w.open(l)
	began := time.Now()
	if o != nil {
		o.done <- w.excuse(w.prove(w.Context(), l, o.roll))
	} else {
		w.keepFromLane(l)
	}
	for {
		if next := w.superviseLife(ctx, l); next != nil {
			l, began = next, time.Now()
			continue
		}
		w.ended(l)
		w.s.lost(l)
		return time.Since(began)
	}
}

// keepFromLane keeps a life that was started automatically away from the lane until its build has proven itself.
func (w *slot) keepFromLane(l *life) {
	if r := w.s.roll.Load(); r != nil {
		epoch := l.epoch()
		r.suspect(l, func() { w.s.reg.Bake(w.name, epoch, true) }, func() { w.s.reg.Bake(w.name, epoch, false) })
	}
}

func (w *slot) ended(l *life) {
	w.note(func(st *WorkerStatus) { st.LastEnd = &l.end })
	if l.end.Planned {
		w.s.log.Info("worker ended", "worker", w.name, "epoch", l.epoch(), "detail", l.end.Detail)
		return
	}
	w.s.log.Warn("worker died", "worker", w.name, "epoch", l.epoch(), "class", l.end.Class,
		"detail", l.end.Detail, "stderr", cause(l.end.Stderr))
}

// open opens l. It reports false if l has died.
func (w *slot) open(l *life) bool {
	w.mu.Lock()
	w.life = l
	w.mu.Unlock()
	if !l.open(w.s.reg) {
		return false
	}
	w.note(func(st *WorkerStatus) { st.LastError = "" })
	w.enter(Ready, l)
	w.s.log.Info("worker up", "worker", w.name, "epoch", l.epoch(), "pid", l.pid, "port", l.port,
		"took", time.Since(l.began).Round(time.Millisecond))
	return true
}

// superviseLife supervises a life that is up. It returns the life that replaced it, or nil if it has ended.
func (w *slot) superviseLife(ctx context.Context, l *life) *life {
	v := &healthLoop{w: w, l: l}
	stopWatch := v.watch()
	defer func() { stopWatch() }()
	for {
		active := w.Context()
		select {
		case <-l.gone:
			return nil
		case <-active.Done():
			stopWatch()
			if !w.retire(l) {
				w.resume(v)
				stopWatch = v.watch()
				continue
			}
			why := "shut down"
			if ctx.Err() == nil {
				why = "more workers run than the settings ask for"
			}
			l.stop(why, w.s.settingsFor(l).Grace)
			return nil
		case o := <-w.replaces:
			if o.of != nil && o.of != l {
				o.done <- nil // it has been replaced already
				continue
			}
			next, err := w.startLife(active, o.of == nil, true)
			if err != nil {
				w.begins(l.cfg.Load())
				w.note(func(st *WorkerStatus) { st.LastError = err.Error() })
				o.done <- w.excuse(err)
				continue
			}
			stopWatch()
			return w.handOver(active, l, next, o)
		}
	}
}

// replaceBy asks for a new life and waits until it serves and the old one has ended.
func (w *slot) replaceBy(ctx context.Context, why string, r *rollout) error {
	if w.Removing() {
		return errLeft
	}
	o := order{why: why, roll: r, done: make(chan error, 1)}
	select {
	case w.replaces <- o:
	case <-w.left:
		return errLeft
	case <-ctx.Done():
		return ctx.Err()
	case <-w.s.over:
		return ErrNotRunning
	}
	select {
	case err := <-o.done:
		if errors.Is(err, context.Canceled) {
			return ErrNotRunning
		}
		return err
	case <-ctx.Done():
		return ctx.Err()
	}
}

// find returns the life with the given epoch unless it has ended.
func (w *slot) find(epoch uint64) *life {
	w.mu.Lock()
	lives := slices.Clone(w.beside)
	if w.life != nil {
		lives = append(lives, w.life)
	}
	w.mu.Unlock()
	for _, l := range lives {
		st := l.stint.Load()
		<-st.opened // other goroutines may learn the epoch before Up returns it
		if st.epoch != epoch {
			continue
		}
		select {
		case <-l.gone:
			return nil
		default:
			return l
		}
	}
	return nil
}

func (w *slot) current() *life {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.life
}
