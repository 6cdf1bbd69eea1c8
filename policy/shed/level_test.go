package shed_test

import (
	"math/rand/v2"
	"testing"
	"time"

	"github.com/bezoar-dev/bezoar/policy/shed"
)

// hatch lets so much a second past the level into a queue, and serves it.
type hatch struct {
	shed.Level
	rng      *rand.Rand
	now      time.Time
	capacity float64 // a second
	queue    float64
	asked    [shed.Ranks]int
	passed   [shed.Ranks]int
	longest  float64
}

func newHatch(capacity float64) *hatch {
	return &hatch{Level: shed.NewLevel(start), rng: rand.New(rand.NewPCG(3, 4)), now: start, capacity: capacity}
}

// pass offers load times the capacity for a time, evenly over ranks below most.
func (h *hatch) pass(load float64, length time.Duration, ranks int) {
	h.asked, h.passed, h.longest = [shed.Ranks]int{}, [shed.Ranks]int{}, 0
	const tick = time.Millisecond
	arrive, serve := 0.0, 0.0
	for end := h.now.Add(length); h.now.Before(end); h.now = h.now.Add(tick) {
		for arrive += load * h.capacity * tick.Seconds(); arrive >= 1; arrive-- {
			r := shed.Rank(h.rng.IntN(ranks))
			h.Arrived(r)
			h.asked[r]++
			if h.queue > 0 && (h.Sheds(r, h.rng.Float64()) || h.queue > 1000) {
				h.Refused()
				continue
			}
			h.passed[r]++
			h.queue++
			h.longest = max(h.longest, h.queue)
			h.Queued(int(h.queue))
		}
		for serve += h.capacity * tick.Seconds(); serve >= 1; serve-- {
			if h.queue == 0 {
				continue
			}
			h.queue--
			h.Queued(int(h.queue))
			if h.Done() {
				h.Step(h.now, 40)
			}
		}
	}
}

func (h *hatch) share(from, to int) float64 {
	asked, passed := 0, 0
	for r := from; r < to; r++ {
		asked, passed = asked+h.asked[r], passed+h.passed[r]
	}
	return float64(passed) / float64(max(asked, 1))
}

func TestTheLastRanksAreShedFirst(t *testing.T) {
	h := newHatch(1000)
	h.pass(2, 10*time.Second, shed.Ranks) // to settle
	h.pass(2, 20*time.Second, shed.Ranks)
	for _, tc := range []struct {
		from, to int
		low, top float64
	}{{0, 230, 0.97, 1}, {230, 290, 0.1, 0.9}, {290, shed.Ranks, 0, 0.06}} {
		if got := h.share(tc.from, tc.to); got < tc.low || got > tc.top {
			t.Errorf("of ranks %d to %d %.3f got past, want %g to %g", tc.from, tc.to, got, tc.low, tc.top)
		}
	}
	if got := h.share(0, shed.Ranks); got < 0.49 || got > 0.51 {
		t.Errorf("%.3f got past at twice the capacity", got)
	}
	if load := h.Load(); load < 1.8 || load > 2.2 {
		t.Errorf("the load is %.2f, want 2", load)
	}
	if h.longest > 150 {
		t.Errorf("the queue grew to %v", h.longest)
	}
}

// Whatever it was, the queue goes to a quarter of the limit.
func TestAQueueOfAQuarterStands(t *testing.T) {
	for _, queue := range []float64{0, 300} {
		h := newHatch(1000)
		h.queue = queue
		h.Queued(int(queue))
		h.pass(2, 10*time.Second, shed.Ranks)
		sum, n := 0.0, 0
		for range 100 {
			h.pass(2, 100*time.Millisecond, shed.Ranks)
			sum, n = sum+h.queue, n+1
		}
		if mean := sum / float64(n); mean < 5 || mean > 30 {
			t.Errorf("from %v on the queue went to %.1f on average, want about 10", queue, mean)
		}
	}
}

func TestTheCutOpensAgain(t *testing.T) {
	h := newHatch(1000)
	h.pass(5, 10*time.Second, shed.Ranks)
	if h.Cut() < 0.9 {
		t.Errorf("%.2f of the ranks are shed at five times the capacity", h.Cut())
	}
	h.pass(0.9, 10*time.Second, shed.Ranks)
	if h.Cut() != 0 || h.Load() != 1 || h.Sheds(shed.Ranks-1, 0.999) {
		t.Errorf("after the overload %.2f of the ranks are shed, load %.2f", h.Cut(), h.Load())
	}
}

// All work of one caller is of one rank: a part of it gets past.
func TestARankIsShedInPart(t *testing.T) {
	h := newHatch(1000)
	for range 4000 {
		h.Arrived(300)
		h.Refused()
	}
	h.Queued(10)
	for range 1000 {
		h.Done()
	}
	h.Step(start.Add(time.Second), 40) // began with an empty queue
	for range 4000 {
		h.Arrived(300)
		h.Refused()
	}
	for range 1000 {
		h.Done()
	}
	h.Step(start.Add(2*time.Second), 40)
	passed := 0
	for i := range 1000 {
		if !h.Sheds(300, float64(i)/1000) {
			passed++
		}
	}
	if passed < 200 || passed > 300 {
		t.Errorf("%d of 1000 get past at four times the capacity, want about 250", passed)
	}
	if h.Sheds(299, 0.999) || !h.Sheds(301, 0) {
		t.Error("the ranks around it are not all or nothing")
	}
}

func TestCriticalPlusIsNeverCutOff(t *testing.T) {
	h := newHatch(100)
	h.pass(50, 10*time.Second, shed.Cohorts) // nothing else comes
	for r := range shed.Rank(shed.Cohorts) {
		if h.Sheds(r, 0.999) {
			t.Fatalf("rank %d of CriticalPlus is shed", r)
		}
	}
}

// Work that comes in spite of a stall finds the interval overdue.
func TestAStallEndsTheInterval(t *testing.T) {
	h := newHatch(100)
	h.pass(10, 5*time.Second, shed.Ranks)
	if h.Overdue(h.now) {
		t.Error("overdue at work")
	}
	h.now = h.now.Add(5 * time.Second)
	if !h.Overdue(h.now) {
		t.Fatal("not overdue after five seconds without results")
	}
	h.Step(h.now, 40)
	if h.Overdue(h.now) {
		t.Error("still overdue")
	}
}
