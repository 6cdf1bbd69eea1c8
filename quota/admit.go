package quota

import (
	"time"

	"github.com/bezoar-dev/bezoar/policy/rate"
)

// place is where a charge counts. The cell is what it was when it was looked at.
type place struct {
	id   id
	hash uint64
	cell int
}

func (l *Limiter) place(c *Charge) place {
	d := l.mask.id(&c.Key)
	return place{id: d, hash: d.hash()}
}

// Cells that are none, or not yet.
const (
	fresh    = -1 // there is room for one
	crowded  = -2 // there is none: newcomers share one state
	replaces = -3 // and below: of this one less the cell's number
)

// fewCharges is how many charges need no allocation.
const fewCharges = 16

// Admit takes all charges, or none of them if one does not fit. Charges with the same
// quota and key add up.
func (l *Limiter) Admit(now time.Time, charges []Charge) (say Decision) {
	if len(charges) == 1 {
		l.admitOne(now, &charges[0], &say)
		return say
	}
	var few [fewCharges]place
	places := few[:min(len(charges), fewCharges)]
	if len(charges) > fewCharges {
		places = make([]place, len(charges))
	}
	quotas := *l.counted.Load()
	local := l.clock.local(now)
	set := uint64(0)
	for i := range places {
		places[i] = l.place(&charges[i])
		set |= 1 << stripeOf(places[i].hash)
	}
	l.lock(set)
	l.admit(local, quotas, charges, places, &say)
	l.unlock(set)
	return say
}

// admitOne is Admit of a single charge. Most are of a key that is known.
func (l *Limiter) admitOne(now time.Time, c *Charge, say *Decision) {
	quotas := *l.counted.Load()
	if c.Quota < 0 || c.Quota >= len(quotas) {
		say.Allowed, say.Quota = true, -1
		return
	}
	q := &quotas[c.Quota]
	at := l.clock.of(&q.scheme, l.clock.local(now))
	p := l.place(c)
	stripe := stripeOf(p.hash)
	t := &q.tables[stripe]
	var d rate.Decision
	l.stripes[stripe].Lock()
	if i := t.find(p.hash, p.id); i >= 0 && c.N > 0 {
		d = q.take(t.state(i), at, clamp(c.N), c.Scale)
		if q.quota.Shared {
			t.mark(i, true)
		}
	} else if d = l.look(q, c, &p, at, 0); d.Allowed && c.N > 0 {
		d = q.check(l.take(q, c, &p, at), at, 0, c.Scale)
	}
	l.stripes[stripe].Unlock()
	q.put(say, c, &d)
}

// put puts a decision about one charge into the words of all.
func (q *counted) put(say *Decision, c *Charge, d *rate.Decision) {
	say.Allowed, say.Never, say.Quota, say.Limit = d.Allowed, d.Never, c.Quota, q.limit(c.Scale)
	say.Used, say.Remaining, say.Reset, say.RetryAfter = d.Used, d.Remaining, d.Reset, d.Wait
	if !d.Allowed {
		q.refused.Add(1)
		say.Excess = max(d.Used+max(clamp(c.N), 1)-say.Limit, 1)
	}
}

// admit is Admit with the stripes locked.
func (l *Limiter) admit(local int64, quotas []counted, charges []Charge, places []place, say *Decision) {
	names := -1 // the charge that the decision is about
	var d rate.Decision
	var tight float64 // the share of its limit that remains
	for i := range charges {
		c := &charges[i]
		if c.Quota < 0 || c.Quota >= len(quotas) {
			continue
		}
		q := &quotas[c.Quota]
		one := l.look(q, c, &places[i], l.clock.of(&q.scheme, local), before(charges[:i], c))
		left := float64(one.Remaining-clamp(c.N)) / float64(q.limit(c.Scale))
		if names < 0 || worse(one, d, left, tight) {
			names, d, tight = i, one, left
		}
	}
	if names < 0 {
		say.Allowed, say.Quota = true, -1
		return
	}
	for i := range charges {
		if c := &charges[i]; d.Allowed && c.N > 0 && c.Quota >= 0 && c.Quota < len(quotas) {
			q := &quotas[c.Quota]
			at := l.clock.of(&q.scheme, local)
			s := l.take(q, c, &places[i], at)
			if i == names {
				d = q.check(s, at, 0, c.Scale)
				d.Allowed = true // whatever an earlier charge of the same left
			}
		}
	}
	c := &charges[names]
	quotas[c.Quota].put(say, c, &d)
}

// before is what earlier charges ask of the same quota and key.
func before(charges []Charge, c *Charge) (n int64) {
	for i := range charges {
		if o := &charges[i]; o.Quota == c.Quota && o.Key == c.Key {
			n += clamp(o.N)
		}
	}
	return n
}

// clamp makes sums of charges safe.
func clamp(n int64) int64 { return min(max(n, 0), rate.MaxLimit) }

// worse reports whether decision a says more than b: the longer refusal, else
// the smaller share that remains.
func worse(a, b rate.Decision, leftA, leftB float64) bool {
	switch {
	case a.Allowed != b.Allowed:
		return b.Allowed
	case a.Allowed:
		return leftA < leftB
	case a.Never != b.Never:
		return a.Never
	}
	return a.Wait > b.Wait
}

// look decides about one charge and finds its place. The stripe is locked.
func (l *Limiter) look(q *counted, c *Charge, p *place, now, more int64) rate.Decision {
	t := &q.tables[stripeOf(p.hash)]
	n := max(clamp(c.N)+more, 1)
	p.cell = t.find(p.hash, p.id)
	if p.cell >= 0 {
		d := q.check(t.state(p.cell), now, n, c.Scale)
		if q.quota.Shared && !d.Allowed {
			t.mark(p.cell, true) // others' counts may have left
		}
		return d
	}
	if p.cell = fresh; t.n >= l.most {
		p.cell = crowded
		if v := t.victim(&q.scheme, now); v >= 0 {
			p.cell = replaces - v
		}
	}
	if p.cell == crowded && t.spare != nil {
		return q.check(t.spare, now, n, c.Scale)
	}
	var empty [maxWords]int64
	return q.check(empty[:q.words], now, n, c.Scale)
}

// maxWords is the longest state.
const maxWords = 2*MaxBuckets + 3

// take counts a charge and returns the state it went to. The stripe is locked.
func (l *Limiter) take(q *counted, c *Charge, p *place, now int64) []int64 {
	t := &q.tables[stripeOf(p.hash)]
	i := p.cell
	if i < 0 || i >= t.slots || t.id(i) != p.id { // an earlier charge may have made or moved it
		i = t.find(p.hash, p.id)
	}
	if i < 0 {
		if p.cell == crowded {
			l.overflowed.Add(1)
			if t.spare == nil {
				t.spare = make([]int64, q.words)
			}
			q.add(t.spare, now, clamp(c.N), c.Scale)
			return t.spare
		}
		if v := replaces - p.cell; p.cell <= replaces && v < t.slots && t.taken(v) {
			l.evicted.Add(1)
			t.remove(v)
		}
		i = t.insert(p.hash, p.id, l.most)
	}
	s := t.state(i)
	q.add(s, now, clamp(c.N), c.Scale)
	if q.quota.Shared {
		t.mark(i, true)
	}
	return s
}

// Add counts an amount that is known only afterwards. It may exceed the limit.
func (l *Limiter) Add(now time.Time, c Charge) {
	quotas := *l.counted.Load()
	if c.N <= 0 || c.Quota < 0 || c.Quota >= len(quotas) {
		return
	}
	q := &quotas[c.Quota]
	p := l.place(&c)
	at := l.clock.of(&q.scheme, l.clock.local(now))
	stripe := &l.stripes[stripeOf(p.hash)]
	stripe.Lock()
	l.look(q, &c, &p, at, 0)
	l.take(q, &c, &p, at)
	stripe.Unlock()
}
