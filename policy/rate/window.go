package rate

import (
	"errors"
	"fmt"
	"math/bits"
	"time"
)

// MaxBuckets bounds [Window.Buckets].
const MaxBuckets = 60

// Window limits to Limit in any Per, with the error that the package's documentation derives.
//
// The state of a key is [Window.Words] words: the number of the newest bucket, counted from 1970, then Buckets+1 buckets as
// a ring, by their number. More rings of the same length may follow in the same slice. They belong to the caller, and Slide
// clears them together with the first.
type Window struct {
	Limit   int64         // 1 to MaxLimit
	Per     time.Duration // MinPer × Buckets to MaxPer
	Buckets int           // 1 to MaxBuckets; 0 means 1
}

// Validate reports every invalid field.
func (w Window) Validate() error {
	errs := validate(w.Limit, w.Per, MinPer*time.Duration(max(w.Buckets, 1)))
	if w.Buckets < 0 || w.Buckets > MaxBuckets {
		errs = append(errs, fmt.Errorf("buckets is %d, want 1 to %d", w.Buckets, MaxBuckets))
	}
	return errors.Join(errs...)
}

func validate(limit int64, per, least time.Duration) (errs []error) {
	if limit < 1 || limit > MaxLimit {
		errs = append(errs, fmt.Errorf("limit is %d, want 1 to %d", limit, int64(MaxLimit)))
	}
	if per < least || per > MaxPer {
		errs = append(errs, fmt.Errorf("per is %v, want %v to %v", per, least, MaxPer))
	}
	return errs
}

// Words returns the length of the state.
func (w *Window) Words() int { return 2 + w.ring() }

func (w *Window) buckets() int64 { return int64(max(w.Buckets, 1)) }

// ring returns the number of buckets after the first of the ring.
func (w *Window) ring() int { return int(w.buckets()) }

// Width returns the length of a bucket. If Buckets do not divide Per, it is rounded down.
func (w *Window) Width() time.Duration {
	if w.Buckets <= 1 {
		return w.Per
	}
	return w.Per / time.Duration(w.Buckets)
}

// BucketAt returns the number of the bucket that contains now.
func (w *Window) BucketAt(now int64) int64 {
	width := int64(w.Width())
	b := now / width
	if now%width < 0 { // a clock may say 1969
		b--
	}
	return b
}

// Slot returns the index of the bucket in the first ring. In each further ring the index is one ring's length larger.
func (w *Window) Slot(bucket int64) int {
	n := w.buckets() + 1
	i := bucket % n
	if i < 0 {
		i += n
	}
	return 1 + int(i)
}

// Slide clears buckets that have left the window. It returns how much of the newest bucket has passed.
func (w *Window) Slide(s []int64, now int64) (passed int64) {
	width := int64(w.Width())
	b := w.BucketAt(now)
	steps := b - s[0]
	switch n := w.buckets(); {
	case steps == 0:
		return now - b*width
	case steps > n || steps < -n: // nothing is left, or the clock was set
		clear(s[1:])
	case steps < 0:
		return 0 // the clock must catch up
	default:
		for i := s[0] + 1; i <= b; i++ {
			for at := w.Slot(i); at < len(s); at += int(n) + 1 {
				s[at] = 0
			}
		}
	}
	s[0] = b
	return now - b*width
}

// view is the content of a window at an instant.
type view struct {
	width, left   int64 // of a bucket, and the part of the oldest that still counts
	newest        int   // its index
	oldest, newer int64 // counts of the oldest bucket, and of all others
	used          int64
}

func (w *Window) view(s []int64, now int64) (v view) {
	v.width = int64(w.Width())
	v.left = v.width - w.Slide(s, now)
	v.newest = w.Slot(s[0])
	ring := s[:w.Words()]
	at := v.newest + 1
	if at == len(ring) {
		at = 1
	}
	for i, c := range ring[1:] {
		if 1+i != at {
			v.newer = add(v.newer, c)
		}
	}
	v.oldest = ring[at]
	v.used = add(v.newer, weigh(v.oldest, v.left, v.width))
	return v
}

// weigh returns the part of a bucket's count that still counts if left of width is left, rounded up.
func weigh(count, left, width int64) int64 {
	if count == 0 {
		return 0
	}
	hi, lo := bits.Mul64(uint64(count), uint64(left))
	q, r := bits.Div64(hi, lo, uint64(width)) // left ≤ width: cannot overflow
	if r > 0 {
		q++
	}
	return int64(q)
}

// Used returns the count at now.
func (w *Window) Used(s []int64, now int64) int64 {
	v := w.view(s, now)
	return v.used
}

// Check decides whether n more, 0 or more, fit at now. It only clears old buckets.
func (w *Window) Check(s []int64, now, n int64) Decision {
	v := w.view(s, now)
	return w.check(s, n, &v)
}

// Take is Check followed, if it allows n, by Add. Then Used, Remaining and Reset include n.
func (w *Window) Take(s []int64, now, n int64) Decision {
	v := w.view(s, now)
	if n <= 0 || n > w.Limit-v.used {
		return w.check(s, n, &v)
	}
	s[v.newest] = add(s[v.newest], n)
	used := v.used + n
	return Decision{
		Allowed: true, Used: used, Remaining: w.Limit - used,
		Reset: time.Duration(v.left + w.buckets()*v.width),
	}
}

func (w *Window) check(s []int64, n int64, v *view) Decision {
	d := Decision{Used: v.used, Remaining: max(w.Limit-v.used, 0)}
	if v.used > 0 {
		d.Reset = time.Duration(w.reset(s, v))
	}
	switch {
	case n <= w.Limit-v.used:
		d.Allowed = true
	case n > w.Limit:
		d.Never = true
	default:
		d.Wait = time.Duration(w.wait(s, w.Limit-n, v))
	}
	return d
}

// wait returns how long it takes until at most room is used.
func (w *Window) wait(s []int64, room int64, v *view) int64 {
	waited, left, oldest, newer := int64(0), v.left, v.oldest, v.newer
	for b := s[0] - w.buckets(); ; {
		if newer <= room {
			// This is the least time after which the rest of the oldest bucket weighs no more than what fits.
			fits := left
			if oldest > 0 {
				hi, lo := bits.Mul64(uint64(min(room-newer, oldest)), uint64(v.width))
				q, _ := bits.Div64(hi, lo, uint64(oldest))
				fits = min(int64(q), left)
			}
			return waited + left - fits
		}
		waited += left
		left = v.width
		b++
		oldest = s[w.Slot(b)]
		newer = 0
		for i := b + 1; i <= s[0]; i++ {
			newer = add(newer, s[w.Slot(i)])
		}
	}
}

// reset returns how long it takes until the newest count has left.
func (w *Window) reset(s []int64, v *view) int64 {
	after, at := w.buckets(), v.newest
	for ; after > 0 && s[at] == 0; after-- {
		if at--; at == 0 {
			at = w.Words() - 1
		}
	}
	return v.left + after*v.width
}

// Add counts n, 0 or more, at now.
func (w *Window) Add(s []int64, now, n int64) {
	w.Slide(s, now)
	at := w.Slot(s[0])
	s[at] = add(s[at], n)
}
