package watchdog

import (
	"context"
	"errors"
	"fmt"
	"math"
	"os"
	"runtime/metrics"
	"sync/atomic"
	"time"

	"github.com/bezoar-dev/bezoar/internal/procstat"
	policy "github.com/bezoar-dev/bezoar/policy/watchdog"
)

// Self returns a Watchdog over this process. When a limit has been exceeded for
// long enough it calls cfg.OnBreach, which stops taking work, finishes what
// there is and ends the process: whoever started it starts it again. If OnBreach
// returns and the process goes on, it is called again after MinUptime, doubled
// each time, and no more after Strikes times or PerHour.
//
// A process knows nothing of its earlier lives: what keeps it from ending
// continuously is MinUptime, before which OnBreach is never called.
func Self(cfg Config) (*Watchdog, error) {
	if cfg.Target != nil || cfg.Look != nil {
		return nil, errors.New("watchdog of this process: target and look are not for it")
	}
	if cfg.Name == "" {
		cfg.Name = "self"
	}
	cfg.Target = self{Worker{Name: cfg.Name, PID: os.Getpid(), Life: 1, Up: time.Now(), Serving: true}}
	d, err := build(cfg)
	if err != nil {
		return nil, err
	}
	d.alone, d.fleet.Config.Alone = true, true
	d.lag = &lag{}
	if d.sample == nil {
		d.sample = (&own{d: d, read: readings()}).sample
	}
	d.restart = func(ctx context.Context, dec policy.Decision) error {
		if cfg.OnBreach != nil {
			cfg.OnBreach(ctx, dec.Breach)
		}
		return nil
	}
	return d, nil
}

// self is this process as a fleet of one.
type self struct{ worker Worker }

func (s self) Workers() []Worker { return []Worker{s.worker} }

// Restart is never called: OnBreach is.
func (self) Restart(context.Context, string, string) error { return errors.ErrUnsupported }

// own samples this process.
type own struct {
	d    *Watchdog
	read []metrics.Sample
}

// The runtime's numbers, in the order of readings.
const (
	readGoroutines = iota
	readLive
	readTotal
	readReleased
)

func readings() []metrics.Sample {
	return []metrics.Sample{
		readGoroutines: {Name: "/sched/goroutines:goroutines"},
		readLive:       {Name: "/gc/heap/live:bytes"},
		readTotal:      {Name: "/memory/classes/total:bytes"},
		readReleased:   {Name: "/memory/classes/heap/released:bytes"},
	}
}

func (o *own) sample(Worker) (Sample, error) {
	metrics.Read(o.read)
	n := func(i int) int64 { return int64(min(o.read[i].Value.Uint64(), math.MaxInt64)) }
	s := Sample{
		Goroutines: int(n(readGoroutines)), Heap: n(readLive),
		Memory:  max(0, n(readTotal)-n(readReleased)), // the runtime's alone, unless the kernel knows better
		Latency: o.d.lag.take(time.Now()),
	}
	v, err := procstat.Self()
	if err != nil {
		if errors.Is(err, procstat.ErrUnsupported) {
			o.d.note("descriptors and threads", err)
			return s, nil
		}
		return s, fmt.Errorf("this process: %w", err)
	}
	if v.RSS > 0 {
		s.Memory = v.RSS
	}
	s.Threads = v.Threads
	s.Descriptors, _ = v.FDShare()
	return s, nil
}

// lagEvery is how often a goroutine looks how late it is called.
const lagEvery = 50 * time.Millisecond

// lag is how late this process is with what it wanted to do.
type lag struct {
	worst atomic.Int64 // nanoseconds, since it was taken
	due   atomic.Int64 // when the goroutine wants to be called, in nanoseconds since began; 0: it does not run
	began time.Time
}

// run measures until ctx ends.
func (l *lag) run(ctx context.Context) {
	l.began = time.Now()
	t := time.NewTimer(lagEvery)
	defer t.Stop()
	for {
		due := time.Since(l.began) + lagEvery
		l.due.Store(int64(due))
		t.Reset(lagEvery)
		select {
		case <-ctx.Done():
			l.due.Store(0)
			return
		case <-t.C:
		}
		late := int64(time.Since(l.began) - due)
		for was := l.worst.Load(); late > was && !l.worst.CompareAndSwap(was, late); was = l.worst.Load() {
		}
	}
}

// take returns the worst since the last time, that which lasts included.
func (l *lag) take(now time.Time) time.Duration {
	worst := l.worst.Swap(0)
	if due := l.due.Load(); due > 0 {
		worst = max(worst, int64(now.Sub(l.began))-due)
	}
	return time.Duration(max(0, worst))
}
