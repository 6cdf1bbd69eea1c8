package flow

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"maps"
	"math/rand/v2"
	"path/filepath"
	"slices"
	"sync"
	"time"

	"github.com/bezoar-dev/bezoar/internal/judge"
)

// loop is one life of an engine: the time of one lease. Its goroutine owns every field except the channels.
type loop struct {
	*Engine
	store Store
	exec  Executor
	log   *slog.Logger
	node  Node
	hold  Hold

	plans  map[string]*plan
	round  []*plan // in the order of their turns
	local  map[int64]*job
	away   map[int64]*job // on other nodes, or offered to them
	keyed  map[string][]*job
	later  []*job         // waiting for another attempt's side effect
	held   []*job         // to run alone here, once no other attempt does
	closed bool           // no other attempt begins here: see alone
	seen   map[int64]bool // attempts of other planners whose stop was carried out

	ended    []Attempt // to be stored with the next batch
	reports  []Attempt // ends of attempts that other nodes planned
	ends     chan ending
	notes    chan func()
	dead     chan struct{} // closed when the life ends
	jobs     sync.WaitGroup
	letters  *sender[Letter]
	settles  *sender[settlement]
	pages    *sender[Incident]
	timed    []*clock
	flows    *[]Definition // the flows of timed
	stopping bool
	stopBy   time.Time
	polled   time.Time
	forgot   time.Time
}

// job is an attempt that is not over, with its plan.
type job struct {
	attempt Attempt
	plan    *plan // nil: another node planned it
	inst    *inst
	spec    Spec
	leave   *judge.Trial // permission to test a downstream
	lost    time.Time    // when its node was lost
	ended   bool         // it has ended; its rows are still to be stored
}

type ending struct {
	token   int64
	started time.Time
	Ending
	rowsKept bool
}

// Run works until ctx ends. Then it stops the attempts of this node. They become INTERRUPTED, which counts against no
// budget, and continue after a restart. If another process takes the name or the lease of this node, Run stops everything
// and begins a new life.
func (e *Engine) Run(ctx context.Context) error {
	for ctx.Err() == nil {
		err := e.life(ctx)
		if ctx.Err() != nil {
			return err
		}
		if !errors.Is(err, ErrFenced) {
			return err
		}
		e.cfg.Log.WarnContext(ctx, "lost the lease: this node stops all its attempts and takes a new lease", "node", e.cfg.Node, "err", err)
		select {
		case <-time.After(e.cfg.Poll):
		case <-ctx.Done():
		}
	}
	return nil
}

func (e *Engine) life(ctx context.Context) error {
	n, err := e.begin(ctx)
	if err != nil {
		if ctx.Err() != nil {
			return nil
		}
		return fmt.Errorf("take the lease of node %s: %w", e.cfg.Node, err)
	}
	l := &loop{
		Engine: e, store: e.cfg.Store, exec: e.exec, log: e.cfg.Log, node: n,
		hold:  Hold{Node: n.Name, Epoch: n.Epoch, Runs: map[string]int64{}},
		plans: map[string]*plan{}, local: map[int64]*job{}, away: map[int64]*job{}, keyed: map[string][]*job{},
		seen: map[int64]bool{},
		ends: make(chan ending, e.cfg.Slots+64), notes: make(chan func(), 64), dead: make(chan struct{}),
	}
	hard, stop := context.WithCancel(context.WithoutCancel(ctx)) // outlives ctx, so that attempts that end then are stored
	l.send(hard)
	fenced := l.renew(hard)
	err = l.work(ctx, hard, fenced)
	l.abandon(hard)
	stop()
	close(l.dead)
	l.jobs.Wait()
	return err
}

// begin takes a lease. It waits while the store does not answer.
func (e *Engine) begin(ctx context.Context) (Node, error) {
	for wait := e.cfg.Poll; ; wait = min(2*wait, e.cfg.Lease) {
		began := time.Now()
		n, err := e.cfg.Store.Renew(ctx, Node{Name: e.cfg.Node, Labels: e.cfg.Labels, Slots: e.cfg.Slots, Plans: !e.cfg.Works}, e.cfg.Lease)
		if err == nil {
			e.cfg.Renewed(began.Add(e.cfg.Lease))
		}
		if err == nil || ctx.Err() != nil {
			return n, err
		}
		e.cfg.Log.WarnContext(ctx, "the store does not give a lease", "node", e.cfg.Node, "err", err)
		select {
		case <-time.After(wait):
		case <-ctx.Done():
			return n, ctx.Err()
		}
	}
}

// renew keeps the lease. The channel receives an error when the lease is lost.
func (l *loop) renew(ctx context.Context) <-chan error {
	lost := make(chan error, 1)
	l.jobs.Go(func() {
		good := time.Now()
		for {
			select {
			case <-time.After(l.cfg.Lease / 3):
			case <-ctx.Done():
				return
			}
			began := time.Now()
			n, err := l.store.Renew(ctx, l.node, l.cfg.Lease)
			switch {
			case ctx.Err() != nil:
				return
			case err == nil && n.Epoch == l.node.Epoch:
				good = began
				l.cfg.Renewed(began.Add(l.cfg.Lease))
			case err == nil:
				lost <- fmt.Errorf("the lease of %s was over: %w", l.node.Name, ErrFenced)
				return
			case errors.Is(err, ErrFenced), time.Since(good) >= l.cfg.Lease:
				lost <- errors.Join(ErrFenced, err)
				return
			default:
				l.log.WarnContext(ctx, "the lease was not renewed", "node", l.node.Name, "err", err)
			}
		}
	})
	return lost
}

// work runs until ctx ends or the lease is lost.
func (l *loop) work(ctx, hard context.Context, fenced <-chan error) error {
	if err := l.look(hard); err != nil {
		return err
	}
	if err := l.orphans(hard); err != nil {
		return err
	}
	timer := time.NewTimer(0)
	defer timer.Stop()
	for {
		again, err := l.step(hard)
		if err != nil {
			return err
		}
		if l.stopping && (len(l.local) == 0 || time.Now().After(l.stopBy)) {
			return l.leave(hard)
		}
		if again {
			select {
			case err := <-fenced:
				return err
			default:
			}
			l.drain(hard)
			continue
		}
		timer.Reset(time.Until(l.wakeAt()))
		select {
		case <-ctx.Done():
			if !l.stopping {
				l.stop(hard)
			}
			ctx = hard
		case err := <-fenced:
			return err
		case end := <-l.ends:
			l.end(hard, end)
		case note := <-l.notes:
			note()
		case <-l.wake:
			err = l.look(hard)
		case <-timer.C:
			if time.Since(l.polled) >= l.cfg.Poll {
				err = l.poll(hard)
			} else {
				err = l.tolerate(hard, l.schedules(hard))
			}
		}
		if err != nil {
			return err
		}
		l.drain(hard)
	}
}

// drain takes all events that are pending, so that they share a batch.
func (l *loop) drain(ctx context.Context) {
	for range 4096 {
		select {
		case end := <-l.ends:
			l.end(ctx, end)
		case note := <-l.notes:
			note()
		default:
			return
		}
	}
}

// wakeAt returns when the next event is due.
func (l *loop) wakeAt() time.Time {
	at, now := l.polled.Add(l.cfg.Poll), time.Now()
	if l.stopping {
		return at
	}
	for _, c := range l.timed {
		if !c.due.IsZero() && c.due.Before(at) {
			at = c.due
		}
	}
	for _, p := range l.round {
		if next := p.dueAt(); !next.IsZero() && next.Before(at) {
			at = next
		}
		if !p.open || len(l.local) >= l.cfg.Slots {
			continue
		}
		for _, lane := range p.ready.all {
			if len(lane.all) > 0 && lane.blocked.After(now) && lane.blocked.Before(at) {
				at = lane.blocked
			}
		}
	}
	return at
}

// stopFor is how long the process waits for its attempts to end, beyond their grace.
const stopFor = 30 * time.Second

// stop ends the attempts of this node because the process stops.
func (l *loop) stop(ctx context.Context) {
	l.stopping, l.stopBy = true, time.Now().Add(stopFor)
	for token, j := range l.local {
		l.stopBy = later(l.stopBy, time.Now().Add(j.spec.Grace+stopFor))
		l.stopJob(ctx, Stop{token, interrupted, "Bezoar stops"})
	}
}

func later(a, b time.Time) time.Time {
	if a.After(b) {
		return a
	}
	return b
}

// leave ends the lease, so that other nodes take over at once.
func (l *loop) leave(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, 10*time.Second)
	defer cancel()
	if err := l.store.Leave(ctx, l.node); err != nil {
		return fmt.Errorf("leave the store of flows: %w", err)
	}
	return nil
}

// abandon ends the attempts of this life, because another life continues.
func (l *loop) abandon(ctx context.Context) {
	if len(l.local) == 0 {
		return
	}
	for token := range l.local {
		l.stopJob(ctx, Stop{token, interrupted, "its node lost its lease"})
	}
	var wg sync.WaitGroup
	for _, token := range slices.Sorted(maps.Keys(l.local)) {
		wg.Go(func() { l.absent(ctx, token, 10*time.Second) })
	}
	wg.Wait()
}

func randomFloat() float64 { return rand.Float64() }

// files returns the files that match a pattern, in byte order.
func files(pattern string) ([]string, error) {
	all, err := filepath.Glob(pattern)
	slices.Sort(all)
	return all, err
}
