package overload_test

import (
	"context"
	"math/rand/v2"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/bezoar-dev/bezoar/overload"
	"github.com/bezoar-dev/bezoar/policy/shed"
)

// world is a server that does not know overload, and callers who do not wait for
// ever. It lives in a synctest bubble.
type world struct {
	pool     *overload.Pool // in front of the server; nil: nothing
	workers  int
	service  time.Duration // of one request, a fifth more or less
	patience time.Duration // of callers
	callers  uint64        // how many there are; 0: they are unknown
	warm     time.Duration // not counted
	even     bool          // all work is Critical
	greedy   float64       // the part of the load that is caller 1's beside its own

	slots chan struct{}
	rng   *rand.Rand

	mu    sync.Mutex // guards all below
	began time.Time
	tally [shed.Tiers]tally
	by    map[uint64]*tally
}

type tally struct{ sent, served, refused, gaveUp int }

// share is the priority's part of the load. At ten times the capacity
// CriticalPlus alone is half of it.
func share() [shed.Tiers]float64 { return [shed.Tiers]float64{0.05, 0.15, 0.30, 0.50} }

func (w *world) capacity() float64 { return float64(w.workers) / w.service.Seconds() }

// run offers load times the capacity for a time.
func (w *world) run(t *testing.T, load float64, length time.Duration) {
	t.Helper()
	w.slots = make(chan struct{}, w.workers)
	w.rng = rand.New(rand.NewPCG(1, uint64(load*100)))
	w.began = time.Now()
	w.by = map[uint64]*tally{}
	rate := load * w.capacity()
	var all sync.WaitGroup
	for time.Since(w.began) < length {
		time.Sleep(time.Duration(w.rng.ExpFloat64() / rate * float64(time.Second)))
		p := w.pick()
		caller := uint64(0)
		if w.callers > 0 {
			caller = 1 + w.rng.Uint64N(w.callers)
			if w.rng.Float64() < w.greedy {
				caller = 1
			}
		}
		took := time.Duration((0.8 + 0.4*w.rng.Float64()) * float64(w.service))
		all.Go(func() { w.call(t.Context(), &all, p, caller, took) })
	}
	all.Wait()
	synctest.Wait()
}

func (w *world) pick() shed.Priority {
	if w.even {
		return shed.Critical
	}
	x := w.rng.Float64()
	for tier, part := range share() {
		if x -= part; x < 0 {
			return shed.Priorities()[tier]
		}
	}
	return shed.Sheddable
}

// call is one caller's request.
func (w *world) call(ctx context.Context, all *sync.WaitGroup, p shed.Priority, caller uint64, took time.Duration) {
	sent := time.Now()
	ctx, cancel := context.WithTimeout(ctx, w.patience)
	defer cancel()
	count := func(add func(*tally)) {
		w.mu.Lock()
		defer w.mu.Unlock()
		if sent.Sub(w.began) < w.warm {
			return
		}
		add(&w.tally[p.Tier()])
		if w.by[caller] == nil {
			w.by[caller] = new(tally)
		}
		add(w.by[caller])
	}
	count(func(t *tally) { t.sent++ })
	var pass overload.Pass
	if w.pool != nil {
		deadline, _ := ctx.Deadline()
		got, refusal := w.pool.Enter(ctx, overload.Request{Priority: p, Caller: caller, Deadline: deadline})
		if refusal != nil {
			count(func(t *tally) { t.refused++ })
			return
		}
		pass = got
	}
	done := make(chan struct{})
	all.Go(func() { // the server works on, whether the caller is still there or not
		began := time.Now()
		w.slots <- struct{}{}
		time.Sleep(took)
		<-w.slots
		if w.pool != nil {
			w.pool.Leave(pass, shed.Outcome{Latency: time.Since(began)})
		}
		close(done)
	})
	select {
	case <-done:
		count(func(t *tally) { t.served++ })
	case <-ctx.Done():
		count(func(t *tally) { t.gaveUp++ })
	}
}

// goodput is what callers got, by what the server could have done in the time.
func (w *world) goodput(counted time.Duration) float64 {
	served := 0
	for _, t := range w.tally {
		served += t.served
	}
	return float64(served) / (w.capacity() * counted.Seconds())
}

func (w *world) servedOf(p shed.Priority) float64 {
	t := w.tally[p.Tier()]
	return float64(t.served) / float64(max(t.sent, 1))
}

func (w *world) shares() (out [shed.Tiers]float64) {
	for i, p := range shed.Priorities() {
		out[i] = w.servedOf(p)
	}
	return out
}
