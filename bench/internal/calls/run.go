package calls

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/bezoar-dev/bezoar/bench/internal/openloop"
)

// The kinds of calls.
const (
	GRPC      = "grpc"
	WebSocket = "websocket"
)

// Config says what to send.
type Config struct {
	Kind     string        // [GRPC] or [WebSocket]
	Addr     string        // host:port
	Callers  int           // at once, each with one call at a time
	Distinct int           // different messages, sent in turn
	Length   time.Duration // no call begins afterwards
	Most     int           // calls of each caller; 0: as many as the time allows
}

// Figures are what became of the calls, in the terms of the script for wrk.
type Figures struct {
	Requests int64 `json:"requests"` // answered
	Micros   int64 `json:"micros"`
	P50      int64 `json:"p50_us"`
	P99      int64 `json:"p99_us"`
	Broken   int64 `json:"broken"`  // without an answer, or with a wrong one; the caller sends no more
	Refused  int64 `json:"refused"` // with a status that is not OK
}

// errRefused says that an answer came, and was a refusal.
var errRefused = errors.New("refused")

// A caller makes one call after the other.
type caller interface {
	call(ctx context.Context, n int) error
	close()
}

// wait is how long a call may take.
const wait = 10 * time.Second

// Run sends calls until the time is over, and returns when all have ended. Its
// error is the first of a call, when none was answered.
func Run(ctx context.Context, cfg Config) (Figures, error) {
	open, stop, err := opener(cfg)
	if err != nil {
		return Figures{}, err
	}
	defer stop()
	begin := time.Now()
	r := &run{cfg: cfg, end: begin.Add(cfg.Length)}
	var all sync.WaitGroup
	for i := range cfg.Callers {
		all.Go(func() { r.caller(ctx, i, open) })
	}
	all.Wait()
	r.figures.Micros = time.Since(begin).Microseconds()
	r.figures.P50 = openloop.Quantile(r.times, 0.5).Microseconds()
	r.figures.P99 = openloop.Quantile(r.times, 0.99).Microseconds()
	if r.figures.Requests == 0 {
		return r.figures, fmt.Errorf("no call was answered: %w", r.first)
	}
	return r.figures, nil
}

// opener returns what makes the i-th caller.
func opener(cfg Config) (open func(ctx context.Context, i int) (caller, error), stop func(), err error) {
	switch cfg.Kind {
	case GRPC:
		c := newChannels(cfg)
		return func(_ context.Context, i int) (caller, error) { return c.caller(i), nil }, c.close, nil
	case WebSocket:
		return func(ctx context.Context, i int) (caller, error) { return dial(ctx, cfg, i) }, func() {}, nil
	}
	return nil, nil, fmt.Errorf("calls of kind %q, want %s or %s", cfg.Kind, GRPC, WebSocket)
}

// run is a run of all callers.
type run struct {
	cfg Config
	end time.Time

	mu      sync.Mutex // guards what follows
	figures Figures
	times   []time.Duration
	first   error
}

// caller is one of them, from its first call to its last.
func (r *run) caller(ctx context.Context, i int, open func(context.Context, int) (caller, error)) {
	ctx, cancel := context.WithDeadline(ctx, r.end.Add(wait))
	defer cancel()
	var times []time.Duration
	var refused int64
	c, err := open(ctx, i)
	if err == nil {
		defer c.close()
	}
	for n := 0; err == nil && (r.cfg.Most == 0 || n < r.cfg.Most) && ctx.Err() == nil; n++ {
		from := time.Now()
		if from.After(r.end) {
			break
		}
		if err = c.call(ctx, n*r.cfg.Callers+i); errors.Is(err, errRefused) {
			refused++
			r.note(err)
			err = nil
			continue
		}
		if err == nil {
			times = append(times, time.Since(from))
		}
	}
	r.note(err)
	r.mu.Lock()
	defer r.mu.Unlock()
	r.figures.Requests += int64(len(times))
	r.figures.Refused += refused
	r.times = append(r.times, times...)
	if err != nil {
		r.figures.Broken++
	}
}

func (r *run) note(err error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.first == nil {
		r.first = err
	}
}
