package demo

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/bezoar-dev/bezoar/internal/demo/traffic"
)

// patience is how long a fleet may take until every worker serves.
const patience = 30 * time.Second

// errGone is why everything stops when a stage does.
var errGone = errors.New("the fleet has stopped by itself")

// Run shows both halves and writes the report. When ctx ends before that it
// ends every process it has started and returns the cause.
func Run(ctx context.Context, cfg Config) (Report, error) {
	if err := cfg.Validate(); err != nil {
		return Report{}, err
	}
	cfg = cfg.withDefaults()
	var r Report
	cfg.say("%d workers behind one address, %d good requests a second, and %s pills.\n", cfg.Workers, cfg.Rate, cfg.Pill)
	for _, half := range []struct {
		title   string
		guarded bool
		result  *Half
	}{
		{"without a defence", false, &r.Without},
		{"with Bezoar", true, &r.With},
	} {
		var err error
		if *half.result, err = cfg.half(ctx, half.title, half.guarded); err != nil {
			return r, fmt.Errorf("%s: %w", half.title, err)
		}
	}
	if cfg.JSON {
		return r, r.WriteJSON(cfg.Out)
	}
	return r, r.WriteTable(cfg.Out)
}

// half runs one half from its first process to its last.
func (c Config) half(ctx context.Context, title string, guarded bool) (h Half, err error) {
	var st stage
	if guarded {
		st, err = newGuarded(ctx, c)
	} else {
		st, err = newUnguarded(ctx, c)
	}
	if err != nil {
		return Half{}, err
	}
	ctx, stop := context.WithCancelCause(ctx)
	defer stop(nil)
	ready := make(chan string, 1)
	ended := make(chan error, 1)
	go func() { ended <- st.Run(ctx, func(url string) { ready <- url }) }()
	defer func() {
		stop(nil)
		if late := <-ended; late != nil && err == nil {
			c.say("%s: at the end: %v", title, late) // the figures stand
		}
	}()

	select {
	case url := <-ready:
		go func() { // A stage that ends too soon takes the rest with it.
			err := <-ended
			stop(errors.Join(errGone, err))
			ended <- err
		}()
		return c.show(ctx, title, url, st)
	case err := <-ended:
		ended <- err
		if ctx.Err() != nil {
			return Half{}, context.Cause(ctx)
		}
		return Half{}, errors.Join(errors.New("the fleet did not start"), err)
	case <-time.After(patience):
		return Half{}, fmt.Errorf("the fleet did not start within %v", patience)
	case <-ctx.Done():
		return Half{}, context.Cause(ctx)
	}
}

// show sends the crowd to url and watches.
func (c Config) show(ctx context.Context, title, url string, st stage) (Half, error) {
	crowd, err := traffic.New(c.crowd(), url)
	if err != nil {
		return Half{}, err
	}
	watching, done := context.WithCancel(ctx)
	defer done()
	var wg sync.WaitGroup
	var t toll
	seq := st.Events().Last() // what came before is the fleet's start
	wg.Go(func() { follow(watching, st.Events(), seq, t.add) })
	began := time.Now()
	var seen error
	wg.Go(func() { seen = c.watch(watching, title, crowd.Tally(), &t) })
	err = crowd.Run(ctx, c.Length)
	end := began.Add(c.Length)
	done()
	wg.Wait()
	if err = errors.Join(err, seen); err != nil {
		return Half{}, err
	}
	lost, last := t.count()
	return newHalf(c.Workers, crowd.Tally(), lost, last, end), nil
}
