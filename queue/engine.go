package queue

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/bezoar-dev/bezoar/internal/control/errlog"
	"github.com/bezoar-dev/bezoar/internal/judge"
)

// Engine is the queue. Many engines may share one store, each in a process of its own.
type Engine struct {
	config Config
	store  Store
	hub    hub
	rules  *ruleCache
	stats  stats

	holdings *holdings
	judge    *judge.Judge
	trials   trials
	pauses   pauses
	replays  *replays
	errlog   *errlog.Limiter // of upkeep
	kick     chan struct{}   // upkeep has work

	mu    sync.Mutex // guards known; never held while waiting
	known map[string]known
}

// known is a cached definition of a queue.
type known struct {
	queue Queue
	until time.Time // zero: until this engine changes it
}

// knownFor is how long a cached definition of a shared store is valid, and so how late a change by another process takes
// effect.
const knownFor = time.Second

// maxKnown bounds the cached definitions.
const maxKnown = 4096

// New returns an engine over a store. The caller must call Run.
func New(c Config, s Store) (*Engine, error) {
	if err := c.Validate(); err != nil {
		return nil, fmt.Errorf("make a queue engine: %w", err)
	}
	c = c.withDefaults()
	rules, err := newRuleCache(c.Key)
	if err != nil {
		return nil, fmt.Errorf("make a queue engine: %w", err)
	}
	e := &Engine{
		config: c, store: s, rules: rules, kick: make(chan struct{}, 1), known: make(map[string]known),
		holdings: newHoldings(), replays: newReplays(),
		errlog: errlog.New(errlog.Config{Log: c.Log, What: "queue upkeep"}),
		trials: trials{all: make(map[Receipt]*trial)}, pauses: pauses{all: make(map[string]Pause)},
	}
	e.judge = e.newJudge()
	return e, nil
}

// find returns a queue's definition, perhaps from the cache.
func (e *Engine) find(ctx context.Context, name string) (Queue, error) {
	if err := ctx.Err(); err != nil {
		return Queue{}, err
	}
	e.mu.Lock()
	k, ok := e.known[name]
	e.mu.Unlock()
	if ok && (k.until.IsZero() || time.Now().Before(k.until)) {
		return k.queue, nil
	}
	q, err := e.store.Queue(ctx, name)
	if err != nil {
		e.forget(name)
		return Queue{}, err
	}
	e.remember(q)
	return q, nil
}

// Shared reports whether other processes use the store, too.
func (e *Engine) Shared() bool { return e.store.Shared() }

func (e *Engine) remember(q Queue) {
	k := known{queue: q}
	if e.store.Shared() {
		k.until = time.Now().Add(knownFor)
	}
	e.mu.Lock()
	defer e.mu.Unlock()
	if old, ok := e.known[q.Name]; ok && old.queue.ID == q.ID && old.queue.Version > q.Version {
		return // a slower reader has older data
	}
	if len(e.known) >= maxKnown {
		clear(e.known)
	}
	e.known[q.Name] = k
}

func (e *Engine) forget(name string) {
	e.mu.Lock()
	defer e.mu.Unlock()
	delete(e.known, name)
}

// in calls f with a queue's definition. If the queue turns out to have been deleted, it calls f once more with a fresh
// definition.
func (e *Engine) in(ctx context.Context, name string, f func(Queue) error) error {
	q, err := e.find(ctx, name)
	if err != nil {
		return err
	}
	err = f(q)
	if !errors.Is(err, ErrQueueNotFound) {
		return err
	}
	e.forget(name)
	again, err := e.find(ctx, name)
	if err != nil {
		return err
	}
	if again.ID == q.ID {
		return fmt.Errorf("queue %q: %w", name, ErrQueueNotFound)
	}
	return f(again)
}

// policy returns what the store needs to end a lease. If the named dead-letter queue has been deleted, messages are
// received without end.
func (e *Engine) policy(ctx context.Context, q Queue) (Policy, error) {
	p := Policy{
		FIFO: q.Settings.FIFO, DeadLetter: ImplicitName(q.Name), Implicit: true,
		Poison: q.Settings.Quarantine.Poison(), KeepExpired: q.Settings.KeepExpired,
	}
	d := q.Settings.DeadLetter
	if d.Queue == "" {
		return p, nil
	}
	switch _, err := e.find(ctx, d.Queue); {
	case errors.Is(err, ErrQueueNotFound):
		return p, nil
	case err != nil:
		return p, err
	}
	p.DeadLetter, p.Implicit, p.MaxReceives = d.Queue, false, d.MaxReceives
	return p, nil
}

// hurry wakes upkeep.
func (e *Engine) hurry() {
	select {
	case e.kick <- struct{}{}:
	default: // already awake
	}
}
