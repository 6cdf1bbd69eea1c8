package sim

import (
	"cmp"
	"math/rand/v2"
	"time"

	"github.com/bezoar-dev/bezoar"
	"github.com/bezoar-dev/bezoar/policy/blame"
)

// Stream says what is sent when: Burst requests Rate times a second, for as long as
// the attack goes on, or once when Rate is zero.
type Stream struct {
	Rate  float64
	Burst int           // 0 means 1
	After time.Duration // from the begin of the attack to the first
	Make  func(n int, r *rand.Rand) Shot
}

// Attack is one run against an adversary: good traffic, and streams of the attacker
// and of further innocents beside it. Its callers are told apart, as are variants and
// features.
type Attack struct {
	Name    string
	Seed    uint64
	Workers int
	Lead    time.Duration // how long good traffic runs before it; default 70 s
	Length  time.Duration // of the attack
	Restart time.Duration // of a worker, on the average; default 500 ms
	Rate    float64       // good requests a second; default 100
	Timeout time.Duration // until an answer is overdue; default 30 s
	Chance  int           // innocents that may be convicted by chance: two workers were about to die when they came
	Good    func(n int, r *rand.Rand) Shot
	Streams []Stream
}

// learnt is longer than it takes until shapes count as unseen.
const learnt = 70 * time.Second

// Count is what became of the requests of one class.
type Count struct {
	Sent, Answered, Refused, Unavailable, Failed int
	Lost                                         int // unsafe, and under way in a worker that died
	Slowest                                      time.Duration
}

// Good is the percentage that was answered, of what could be.
func (c *Count) Good() float64 {
	if n := c.Sent - c.Lost; n > 0 {
		return 100 * float64(c.Answered) / float64(n)
	}
	return 100
}

// Outcome is how an attack went. What was sent before it does not count.
type Outcome struct {
	Deaths  int           // while the attack went on
	Probes  int           // of them, by what is tried after its quarantine
	LastAt  time.Duration // of the last death, since the attack began
	Good    Count         // all innocents
	Classes map[string]*Count
	Pills   Count
	Unlucky map[bezoar.Fingerprint]bool // innocents convicted by chance, at most Attack.Chance
	Framed  int                         // innocents refused since several callers' variants killed alone and none has succeeded
	Late    int                         // of the last third of the pills, how many were answered, without probes
}

// siege is an attack under way.
type siege struct {
	Attack
	out     Outcome
	streams []Stream
	sent    []int
	rands   []*rand.Rand
	open    int // streams that go on
	begin   int64
	end     int64
}

// RunAttack runs a to its end and returns how it went, and the first law that it
// breaks: 2 and 10 as everywhere, and 4, for no innocent may be refused, unless two
// callers have killed alone with variants of its fingerprint that nobody has used
// successfully.
func RunAttack(a Attack) (Outcome, error) {
	w := newSiege(a)
	_, err := w.run()
	return w.siege.out, err
}

func newSiege(a Attack) *world {
	a.Lead = cmp.Or(a.Lead, learnt)
	a.Restart = cmp.Or(a.Restart, 500*time.Millisecond)
	a.Timeout = cmp.Or(a.Timeout, 30*time.Second)
	s := Scenario{Seed: a.Seed, Workers: a.Workers}
	set := settings{
		length: a.Lead + a.Length, service: time.Millisecond, slow: time.Millisecond,
		timeout: a.Timeout, patience: 30 * time.Second, window: time.Second, restart: a.Restart,
		grace: time.Second, after: 2, popular: 2,
	}
	w := newWorldWith(s, set)
	if a.Rate == 0 {
		a.Rate = 100
	}
	if a.Good == nil {
		a.Good = Mix
	}
	g := &siege{Attack: a, begin: w.now + int64(a.Lead), end: w.now + int64(a.Lead+a.Length)}
	g.out.Classes, g.out.Unlucky = map[string]*Count{}, map[bezoar.Fingerprint]bool{}
	g.streams = append([]Stream{{Rate: a.Rate, Make: a.Good}}, a.Streams...)
	for i := range g.streams {
		g.sent = append(g.sent, 0)
		g.rands = append(g.rands, s.stream(uint64(300+i)))
		at := g.begin + int64(g.streams[i].After)
		if i == 0 {
			at = w.now + int64(time.Second)
		}
		w.heap.push(event{at: at, kind: evShot, a: int32(i)})
		g.open++
	}
	w.siege = g
	return w
}

// shoot sends what is due on a stream.
func (w *world) shoot(i int32) {
	g := w.siege
	st := &g.streams[i]
	r := g.rands[i]
	if st.Rate > 0 {
		next := w.now + int64(float64(time.Second)/st.Rate*(0.5+r.Float64()))
		if next < g.end {
			w.heap.push(event{at: next, kind: evShot, a: i})
		} else {
			g.open--
		}
	} else {
		g.open--
	}
	for range max(1, st.Burst) {
		s := st.Make(g.sent[i], r)
		g.sent[i]++
		w.fire(&s, r)
	}
}

// fire sends one request.
func (w *world) fire(s *Shot, r *rand.Rand) {
	work := blame.Work{
		Fingerprint: named(s.Target + "\n" + s.Body), Shape: named("shape " + shape(s.Target)), Client: named(s.Caller),
		Traits: s.traits(), Rule: &w.rule,
	}
	slot := w.open(work, none, time.Duration(float64(s.Service)*(0.75+0.5*r.Float64())))
	q := &w.requests[slot]
	q.shot, q.born, q.unsafe = s, w.now, s.Unsafe
	w.turn(slot)
}

// planShot plans what an attempt of the attack does.
func (w *world) planShot(slot int32) {
	r := &w.requests[slot]
	at, kind := w.now+r.service, evDone
	r.killAt = 0
	if w.workers[r.worker].armed {
		r.killAt = w.now + int64(time.Millisecond)
		at, kind = r.killAt, evKill
	} else if r.shot.Kill > 0 && w.lucky(r.shot) && (!r.shot.Fire || w.workers[r.worker].primed) {
		r.killAt = w.now + int64(r.shot.Kill)
		at, kind = r.killAt, evKill
		if r.shot.Hang {
			kind = evHang
		}
	}
	if h := r.shot.HangUp; h > 0 && w.now+int64(h) < at {
		at, kind = w.now+int64(h), evAbort
	}
	w.heap.push(event{at: at, kind: kind, a: slot, b: r.gen})
}

// lucky reports whether a shot is to kill this time.
func (w *world) lucky(s *Shot) bool { return s.Odds == 0 || w.pick.IntN(s.Odds) == 0 }

// bomb leaves on a worker what kills it after its answer.
func (w *world) bomb(r *request, i int32) {
	if r.shot == nil {
		return
	}
	k := &w.workers[i]
	if r.shot.Leak > 0 {
		k.leaked++
	}
	k.armed = k.armed || r.shot.Arm || r.shot.Leak > 0 && k.leaked >= r.shot.Leak
	k.primed = k.primed || r.shot.Prime
	if r.shot.Late == 0 || !w.lucky(r.shot) {
		return
	}
	w.abandoned = append(w.abandoned, abandonedAttempt{worker: i, epoch: k.epoch, pill: none, class: w.deathClass(none)})
	w.after(r.shot.Late, evAbandoned, int32(len(w.abandoned)-1), 0)
}

// fell counts a death of worker i.
func (g *siege) fell(w *world, i int32) {
	if w.now < g.begin || w.now > g.end {
		return
	}
	g.out.Deaths++
	g.out.LastAt = time.Duration(w.now - g.begin)
	for s := w.workers[i].head; s != none; s = w.requests[s].next {
		if w.requests[s].probe {
			g.out.Probes++
			break
		}
	}
}

// over counts what became of a request.
func (g *siege) over(w *world, r *request, e ending) {
	if w.trace != nil {
		w.tracef("  %s of %s: ending %d after %v", r.shot.Target, r.shot.Caller, e, time.Duration(w.now-r.born))
	}
	if r.born < g.begin {
		return
	}
	if r.shot.Evil {
		g.out.Pills.add(r, e, w.now)
		if e == answered && !r.probe && r.born >= g.end-int64(g.Length/3) {
			g.out.Late++
		}
		return
	}
	if v, _ := w.state.Lookup(&r.work); (e == refused || e == shapeRefused) && v.Scope == bezoar.ScopeWork {
		g.out.Framed++ // two callers have had it refused, and nobody had used it
	} else if e == refused && (g.out.Unlucky[r.work.Fingerprint] || len(g.out.Unlucky) < g.Chance) {
		g.out.Unlucky[r.work.Fingerprint] = true
	} else if e == refused || e == shapeRefused {
		w.laws.breakLaw(w, 4, "innocent %s of %s was refused in %s: %s %s %v", r.shot.Target, r.shot.Caller, g.Name, v.Scope, v.Reason, v.Why)
	}
	c := g.out.Classes[r.shot.Class]
	if c == nil {
		c = &Count{}
		g.out.Classes[r.shot.Class] = c
	}
	c.add(r, e, w.now)
	g.out.Good.add(r, e, w.now)
}

func (c *Count) add(r *request, e ending, now int64) {
	c.Sent++
	switch e {
	case answered:
		c.Answered++
	case refused, shapeRefused:
		c.Refused++
	case unavailable:
		c.Unavailable++
	case failed, cut:
		if r.unsafe {
			c.Lost++
		} else {
			c.Failed++
		}
	case timedOut, aborted:
		c.Failed++
	}
	c.Slowest = max(c.Slowest, time.Duration(now-r.born))
}
