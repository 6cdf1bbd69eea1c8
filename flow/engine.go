package flow

import (
	"context"
	"fmt"
	"slices"
	"sync/atomic"
	"time"

	"github.com/bezoar-dev/bezoar/internal/judge"
)

// Engine plans runs and starts their attempts. It is safe for concurrent use.
type Engine struct {
	cfg   Config
	exec  Executor
	stats *stats
	wake  chan struct{}
	flows atomic.Pointer[[]Definition] // flows with schedules
}

// New returns an engine.
func New(c Config) (*Engine, error) {
	if err := c.Validate(); err != nil {
		return nil, fmt.Errorf("flow engine: %w", err)
	}
	e := &Engine{cfg: c.WithDefaults(), exec: c.Executor, stats: newStats(), wake: make(chan struct{}, 1)}
	if e.cfg.Judge == nil {
		e.cfg.Judge = judge.New(judge.Config{Store: unshared{}, Breaker: e.cfg.Breaker, Log: e.cfg.Log})
	}
	if e.exec == nil {
		e.exec = InProcess(c.Functions)
	}
	e.flows.Store(&e.cfg.Flows)
	return e, nil
}

// SetFlows replaces the flows whose schedules start runs. Runs that have begun keep their definitions.
func (e *Engine) SetFlows(all []Definition) error {
	for i := range all {
		if err := all[i].Validate(); err != nil {
			return fmt.Errorf("change the flows: %s: %w", all[i].Name, err)
		}
	}
	all = slices.Clone(all)
	e.flows.Store(&all)
	e.Wake()
	return nil
}

// StartRequest describes the run to create.
type StartRequest struct {
	Definition Definition
	Params     map[string]string
	Due        time.Time // zero: now
	Key        string    // unique among runs; "": none
	Backfill   string
}

// Start creates a run. Any free engine over the same store plans it. If a run has the Key
// of the request, the error is ErrExists.
func (e *Engine) Start(ctx context.Context, r StartRequest) (Run, error) {
	defer e.Wake()
	return Start(ctx, e.cfg.Store, r)
}

// Retry runs dead letters and failed instances again.
func (e *Engine) Retry(ctx context.Context, o Order) error { return e.order(ctx, VerbRetry, o) }

// Skip lets the tasks that need an instance run without it.
func (e *Engine) Skip(ctx context.Context, o Order) error { return e.order(ctx, VerbSkip, o) }

// Cancel ends an instance or the whole run.
func (e *Engine) Cancel(ctx context.Context, o Order) error { return e.order(ctx, VerbCancel, o) }

func (e *Engine) order(ctx context.Context, v Verb, o Order) error {
	defer e.Wake()
	o.Verb = v
	return Send(ctx, e.cfg.Store, o)
}

// Runs returns runs, the newest first.
func (e *Engine) Runs(ctx context.Context, q RunQuery) ([]Run, error) {
	return e.cfg.Store.ListRuns(ctx, q)
}

// Show returns a run with its instances and attempts.
func (e *Engine) Show(ctx context.Context, id string) (View, error) {
	return Show(ctx, e.cfg.Store, id)
}

// Wait returns when the run is over or HELD. It checks the run at the given interval.
func (e *Engine) Wait(ctx context.Context, id string, every time.Duration) (View, error) {
	tick := time.NewTicker(every)
	defer tick.Stop()
	for {
		run, err := Brief(ctx, e.cfg.Store, id)
		if err != nil {
			return View{}, fmt.Errorf("wait for run %s: %w", id, err)
		}
		if run.State != RunRunning {
			return e.Show(ctx, id)
		}
		select {
		case <-tick.C:
		case <-ctx.Done():
			return View{Run: run}, fmt.Errorf("wait for run %s: %w", id, ctx.Err())
		}
	}
}

// Wake makes the engine read the store now.
func (e *Engine) Wake() {
	select {
	case e.wake <- struct{}{}:
	default:
	}
}
