package overload

import (
	"time"

	"github.com/bezoar-dev/bezoar/policy/shed"
)

// Counts are the decisions about one priority since the pool was made.
type Counts struct {
	Admitted    uint64 // including Waited
	Waited      uint64 // admitted after waiting
	Concurrency uint64 // refused, by rule
	Queue       uint64
	Deadline    uint64
	PerCaller   uint64
	Streams     uint64
}

func (c *Counts) refused(rule string) {
	switch rule {
	case RuleConcurrency:
		c.Concurrency++
	case RuleQueue:
		c.Queue++
	case RuleDeadline:
		c.Deadline++
	case RulePerCaller:
		c.PerCaller++
	case RuleStreams:
		c.Streams++
	}
}

// Refused returns the sum over all rules.
func (c Counts) Refused() uint64 {
	return c.Concurrency + c.Queue + c.Deadline + c.PerCaller + c.Streams
}

// Stats describes a pool at one moment.
type Stats struct {
	Name     string
	Limit    int // now
	InFlight int
	Queued   int
	Streams  int // open, not counted in InFlight
	Callers  int // known callers with work here; counted if PerCaller is set
	Probing  bool
	Baseline time.Duration // the latency that counts as normal; 0: not known
	Latency  time.Duration // of the last window; 0: not known
	Quick    time.Duration // a quarter of all work is faster
	Served   float64       // per second, lately
	Pressure float64       // as [Pool.Pressure]
	Shed     float64       // 0: no rank is shed; 1: all but CriticalPlus
	Counts   [shed.Tiers]Counts
}

// Of returns the counts of one priority.
func (s Stats) Of(p shed.Priority) Counts { return s.Counts[p.Tier()] }

// Stats returns the numbers of the pool.
func (p *Pool) Stats() Stats {
	now := time.Now()
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.long(now) {
		p.advance(now)
	}
	return Stats{
		Name:     p.cfg.Name,
		Limit:    p.slots,
		InFlight: p.inFlight,
		Queued:   p.queue.Len(),
		Streams:  p.streams,
		Callers:  len(p.callers),
		Probing:  p.limit.Probing(),
		Baseline: p.limit.Baseline(),
		Latency:  p.limit.Latency(),
		Quick:    p.service.Quick(now),
		Served:   p.level.Served(),
		Pressure: p.pressure(now),
		Shed:     p.level.Cut(),
		Counts:   p.counts,
	}
}

// Pressure returns 0 if the pool is idle and 1 if every slot is taken. While it refuses
// work, it returns the ratio of arriving work to work that can be done.
func (p *Pool) Pressure() float64 {
	now := time.Now()
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.pressure(now)
}

func (p *Pool) pressure(now time.Time) float64 {
	full := min(float64(p.inFlight)/float64(p.slots), 1)
	if p.level.Overdue(now) {
		return full // what it says is of another time
	}
	if load := p.level.Load(); load > 1 {
		return load
	}
	return full
}
