package overload

import (
	"context"
	"fmt"
	"math/rand/v2"
	"sync"
	"time"

	"github.com/bezoar-dev/bezoar/policy/shed"
)

// Request asks for admission.
type Request struct {
	Priority shed.Priority
	Caller   uint64    // a hash of the caller; 0: unknown and without a bound
	Deadline time.Time // when the caller gives up; zero: unknown
	// Share multiplies the bound of the caller: Config.PerCaller, or the limit if that is
	// 0 and Share is below 1. The result is at least 1. 0 means 1.
	Share float64
	// Stream says that the caller asks for a stream. It is refused if as many streams are
	// open as allowed.
	Stream bool
}

// Pass is the right to run. The zero Pass is no right; Leave with it does nothing.
type Pass struct {
	caller uint64        // who is counted; 0: nobody
	waited time.Duration // in the queue
	seat   int32         // 0: none
	gen    uint32        // of the seat
}

// Waited returns how long the request was in the queue.
func (p Pass) Waited() time.Duration { return p.waited }

// Pool admits requests. Create it with New. Its methods are safe for concurrent use.
type Pool struct {
	mu  sync.Mutex // guards all below; never held while anybody waits
	cfg Config     // with defaults

	slots    int // the limit now
	inFlight int
	limit    shed.Limit
	level    shed.Level
	service  shed.Service
	queue    shed.Queue
	callers  callers
	seats    seats

	streams   int // not in flight
	streaming callers
	turn      uint64 // of the ranks

	waiters []*waiter // by place in the queue
	spare   []*waiter // to be used again
	counts  [shed.Tiers]Counts
}

// New returns a pool.
func New(cfg Config) (*Pool, error) {
	if err := cfg.Validate(); err != nil {
		return nil, fmt.Errorf("overload pool %q: %w", cfg.Name, err)
	}
	cfg = cfg.WithDefaults()
	now := time.Now()
	p := &Pool{
		cfg:   cfg,
		limit: shed.NewLimit(now, cfg.Limit),
		level: shed.NewLevel(now),
		turn:  shed.TurnAt(now, cfg.Limit.Turn),
		seats: newSeats(),

		callers: callers{}, streaming: callers{},
	}
	p.slots = p.limit.Now()
	return p, nil
}

// Update changes the settings of a running pool. Work in flight stays, and requests beyond
// a shorter queue may wait to their end. An invalid config changes nothing.
func (p *Pool) Update(cfg Config) error {
	if err := cfg.Validate(); err != nil {
		return fmt.Errorf("update overload pool %q: %w", cfg.Name, err)
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	p.cfg = cfg.WithDefaults()
	p.limit.Update(p.cfg.Limit)
	p.slots = p.limit.Now()
	p.advance(time.Now())
	return nil
}

// Enter admits a request or returns why not. It waits only if every slot is taken. Pass
// the result to Pool.Leave.
func (p *Pool) Enter(ctx context.Context, r Request) (Pass, *Refusal) {
	cohort := r.Caller
	if cohort == 0 {
		cohort = rand.Uint64() // the unknown must not all be the first to be shed
	}
	hungUp := ctx.Err() != nil

	p.mu.Lock()
	rank := shed.RankOf(r.Priority, cohort, p.turn)
	if hungUp {
		return Pass{}, p.refuse(gone, r, 0)
	}
	if v, n := p.streamsTaken(r); v != granted {
		return Pass{}, p.refuse(v, r, n)
	}
	var pass Pass
	if most := p.share(r); most > 0 && r.Caller != 0 {
		if n, ok := p.callers.take(r.Caller, most); !ok {
			return Pass{}, p.refuse(greedy, r, n)
		}
		pass.caller = r.Caller
	}
	p.level.Arrived(rank)
	if p.inFlight < p.slots && r.Deadline.IsZero() {
		p.inFlight++
		p.counts[rank.Tier()].Admitted++
		p.seats.take(&pass)
		p.mu.Unlock()
		return pass, nil
	}
	return p.line(ctx, r, rank, pass)
}

// share is how much the caller may have in flight and waiting; 0: as much as
// fits.
func (p *Pool) share(r Request) int {
	switch {
	case r.Share <= 0 || r.Share == 1:
		return p.cfg.PerCaller
	case p.cfg.PerCaller > 0:
		return int(min(max(r.Share*float64(p.cfg.PerCaller), 1), shed.MaxLimit))
	case r.Share < 1:
		return int(max(r.Share*float64(p.slots), 1))
	}
	return 0
}

// Leave returns a pass, with the end of the work. A waiting request gets the slot.
func (p *Pool) Leave(pass Pass, o shed.Outcome) {
	p.mu.Lock()
	defer p.mu.Unlock()
	i := p.seats.of(pass)
	if i < 0 {
		return // none, or one that was given back before
	}
	isStream := p.seats.all[i].is == stream
	p.seats.release(i)
	if isStream {
		p.endStream(pass)
		return
	}
	p.leave(pass, o)
}

// leave gives back a slot.
func (p *Pool) leave(pass Pass, o shed.Outcome) {
	due := p.limit.Done(p.inFlight, o)
	due = p.level.Done() || due
	if !o.Ignored && !o.Dropped && o.Latency > 0 {
		p.service.Done(o.Latency)
	}
	p.inFlight--
	if pass.caller != 0 {
		p.callers.drop(pass.caller)
	}
	p.slots = p.limit.Now()
	if due || p.queue.Len() > 0 {
		p.advance(time.Now())
	}
}

// advance does what has become due, and lets in who can be.
func (p *Pool) advance(now time.Time) {
	p.sweep(now)
	p.limit.Step(now)
	p.slots = p.limit.Now()
	p.level.Step(now, p.slots)
	p.turn = shed.TurnAt(now, p.cfg.Limit.Turn)
	for p.inFlight < p.slots {
		id, isLate, ok := p.queue.Pop(now, p.service.Quick(now))
		if !ok {
			return
		}
		p.level.Queued(p.queue.Len())
		if isLate {
			p.tell(id, late)
			continue
		}
		p.inFlight++
		p.tell(id, granted)
	}
}

// refuse counts a refusal, unlocks, and says why; n is how much a caller who is
// greedy has.
func (p *Pool) refuse(v verdict, r Request, n int) *Refusal {
	random := rand.Float64()
	rule, reason := v.reason()
	out := &Refusal{
		Reason: reason, Rule: rule, Priority: r.Priority,
		Limit: p.slots, InFlight: p.inFlight, Queued: p.queue.Len(),
	}
	p.counts[r.Priority.Tier()].refused(rule)
	load := 1.0
	switch v {
	case greedy:
		out.Limit, out.InFlight = p.share(r), n
	case greedyStreams:
		out.Limit, out.InFlight = p.cfg.PerCaller, n
	case manyStreams:
		out.Limit, out.InFlight = p.cfg.Streams, p.streams
	case gone:
	default:
		p.level.Refused()
		load = p.level.Load()
	}
	p.mu.Unlock()
	out.RetryAfter = shed.RetryAfter(load, random)
	return out
}
