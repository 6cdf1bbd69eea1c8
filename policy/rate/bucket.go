package rate

import (
	"errors"
	"fmt"
	"math"
	"math/bits"
	"time"
)

// maxRate bounds a token bucket: above it, steps of 2⁻³² ns would be too coarse.
const maxRate = 1e12 // per second

// Bucket limits to Burst at once, and to Limit per Per in the long run.
//
// The state of a key is two words: the instant at which the bucket is full again, in nanoseconds since 1970, and in the low
// half of the second word the fraction in 2⁻³² ns. The high half, and further words, belong to the caller.
type Bucket struct {
	Limit int64         // 1 to MaxLimit, at most 10¹² per second
	Per   time.Duration // MinPer to MaxPer
	Burst int64         // 1 to MaxLimit; fills within MaxPer
}

// BucketWords is the length of the state of a [Bucket].
const BucketWords = 2

// Validate reports every invalid field.
func (b Bucket) Validate() error {
	errs := validate(b.Limit, b.Per, MinPer)
	if errs == nil && float64(b.Limit)/b.Per.Seconds() > maxRate {
		errs = append(errs, fmt.Errorf("limit is %d per %v, want at most %g a second with a burst", b.Limit, b.Per, float64(maxRate)))
	}
	switch {
	case b.Burst < 1 || b.Burst > MaxLimit:
		errs = append(errs, fmt.Errorf("burst is %d, want 1 to %d", b.Burst, int64(MaxLimit)))
	case errs == nil && b.span(b.Burst).ns > int64(MaxPer):
		errs = append(errs, fmt.Errorf("burst of %d takes more than %v to fill at %d per %v", b.Burst, MaxPer, b.Limit, b.Per))
	}
	return errors.Join(errs...)
}

// Scale returns b with Limit and Burst multiplied as by [Scaled], so that it takes the same time to fill.
func (b Bucket) Scale(scale float64) Bucket {
	b.Limit, b.Burst = Scaled(b.Limit, scale), Scaled(b.Burst, scale)
	return b
}

// span is a length of time of 0 or more.
type span struct {
	ns   int64
	frac uint32 // 2⁻³² ns
}

// never is longer than any bucket takes to fill.
const never = math.MaxInt64 / 4

// span returns how long n take to fill, rounded down.
func (b *Bucket) span(n int64) span {
	hi, lo := bits.Mul64(uint64(max(n, 0)), uint64(b.Per))
	limit := uint64(b.Limit)
	if hi >= limit {
		return span{ns: never}
	}
	ns, r := bits.Div64(hi, lo, limit)
	if ns >= never {
		return span{ns: never}
	}
	frac, _ := bits.Div64(r>>32, r<<32, limit) // r < limit: fits
	return span{int64(ns), uint32(frac)}
}

func (a span) less(b span) bool { return a.ns < b.ns || a.ns == b.ns && a.frac < b.frac }

func (a span) plus(b span) span {
	frac, carry := bits.Add32(a.frac, b.frac, 0)
	return span{a.ns + b.ns + int64(carry), frac}
}

// minus returns a - b for b ≤ a.
func (a span) minus(b span) span {
	frac, borrow := bits.Sub32(a.frac, b.frac, 0)
	return span{a.ns - b.ns - int64(borrow), frac}
}

// up returns a in whole nanoseconds, rounded up.
func (a span) up() int64 {
	if a.frac > 0 {
		return a.ns + 1
	}
	return a.ns
}

// Full returns how long an empty bucket takes to fill.
func (b *Bucket) Full() time.Duration { return time.Duration(b.span(b.Burst).up()) }

// Longest returns the longest wait that [Bucket.Check] can return: the time for twice the burst, or for the burst and Per,
// whichever is more. What [Bucket.Add] takes beyond that is forgiven.
func (b *Bucket) Longest() time.Duration { return time.Duration(b.longest(b.span(b.Burst))) }

func (b *Bucket) longest(full span) int64 { return full.up() + max(full.up(), int64(b.Per)) }

// missing returns how long it takes until the bucket is full.
func (b *Bucket) missing(s []int64, now int64, full span) span {
	if s[0] < now {
		return span{}
	}
	d := span{s[0] - now, uint32(s[1])}
	if d.ns < 0 || d.ns >= b.longest(full) { // the clock was set, or the limit raised
		return full
	}
	return d
}

// Check decides whether n more, 0 or more, fit at now. It changes nothing.
func (b *Bucket) Check(s []int64, now, n int64) Decision {
	full := b.span(b.Burst)
	missing := b.missing(s, now, full)
	d := Decision{Used: b.used(missing), Reset: time.Duration(missing.up())}
	cost := b.span(n)
	after := missing.plus(cost)
	d.Allowed = !full.less(after)
	if !full.less(missing) {
		d.Remaining = b.there(full.minus(missing))
	}
	if d.Allowed {
		return d
	}
	if d.Never = n > b.Burst; !d.Never {
		d.Wait = time.Duration(after.minus(full).up())
	}
	return d
}

// used returns the amount that is missing, rounded up.
func (b *Bucket) used(missing span) int64 {
	hi, lo := bits.Mul64(uint64(missing.ns), uint64(b.Limit))
	fhi, flo := bits.Mul64(uint64(missing.frac), uint64(b.Limit))
	part := fhi<<32 | flo>>32
	if uint32(flo) > 0 {
		part++
	}
	lo, carry := bits.Add64(lo, part, 0)
	hi += carry
	if hi >= uint64(b.Per) {
		return most
	}
	q, r := bits.Div64(hi, lo, uint64(b.Per))
	if r > 0 {
		q++
	}
	return int64(min(q, most))
}

// there returns the largest amount that fits into a span.
func (b *Bucket) there(room span) int64 {
	n := b.Burst
	if used := b.used(room); used < n {
		n = used // rounded up
	}
	for n > 0 && room.less(b.span(n)) {
		n--
	}
	return n
}

// Take is Check followed, if it allows n, by Add. Then Used, Remaining and Reset include n. It also returns the results of
// Add.
func (b *Bucket) Take(s []int64, now, n int64) (d Decision, ns int64, frac uint32) {
	d = b.Check(s, now, n)
	if d.Allowed && n > 0 {
		ns, frac = b.Add(s, now, n)
		d.Used += n
		d.Remaining -= n
		d.Reset = time.Duration(span{s[0] - now, uint32(s[1])}.up())
	}
	return d, ns, frac
}

// Add takes n, 0 or more, at now. It returns by how much later the bucket is full again: nanoseconds, and the fraction in
// 2⁻³² ns.
func (b *Bucket) Add(s []int64, now, n int64) (ns int64, frac uint32) {
	full := b.span(b.Burst)
	before := b.missing(s, now, full)
	after := before.plus(b.span(n))
	if limit := b.longest(full) - 1; after.ns > limit {
		after = span{ns: limit}
		if after.less(before) {
			after = before
		}
	}
	s[0] = later(now, after.ns)
	s[1] = s[1]&^(1<<32-1) | int64(after.frac)
	took := after.minus(before)
	return took.ns, took.frac
}
