package elastic

import "bytes"

// maxBounds is how many ranges, and boxes, are kept for aggregations.
const maxBounds = 128

// bound is a range that every document passes.
type bound struct {
	field  []byte
	lo, hi value

	// Of alternatives, where known.
	filled float64 // what they span together, without the gaps between them
	bucket float64 // the most that a bucket for one of them spans
}

// bound keeps a range that has an end.
func (r *Reader) bound(field []byte, lo, hi value) {
	if len(r.bounds) < maxBounds && (lo.ok || hi.ok) {
		r.bounds = append(r.bounds, bound{field: field, lo: lo, hi: hi})
	}
}

// tightest intersects the ranges on a field.
func (r *Reader) tightest(field []byte) (b bound) {
	for i := range r.bounds {
		if bytes.Equal(r.bounds[i].field, field) {
			b.narrow(&r.bounds[i])
		}
	}
	return b
}

// narrow leaves what both ranges have.
func (b *bound) narrow(o *bound) {
	if o.lo.ok && (!b.lo.ok || o.lo.now == b.lo.now && o.lo.x > b.lo.x) {
		b.lo = o.lo
	}
	if o.hi.ok && (!b.hi.ok || o.hi.now == b.hi.now && o.hi.x < b.hi.x) {
		b.hi = o.hi
	}
	b.filled, b.bucket = lesser(b.filled, o.filled), lesser(b.bucket, o.bucket)
}

// lesser of two of which one may not be known.
func lesser(a, b float64) float64 {
	if a > 0 && (b <= 0 || a < b) {
		return a
	}
	return b
}

// width is how much of its field a range covers, with gaps or without; 0 when that
// is not known.
func (b *bound) width(gaps bool) float64 {
	if b.filled > 0 && !gaps {
		return b.filled
	}
	w, _ := b.lo.until(b.hi)
	return w
}

// end ends now what begins at a moment told from now, and ends nowhere.
func (b *bound) end() {
	if b.lo.ok && b.lo.now && !b.hi.ok {
		b.hi = value{ok: true, now: true, date: true}
	}
}

// keep says what alternatives cover: together, or one that has a bucket.
func (b *bound) keep(buckets bool) {
	if buckets {
		b.filled, b.bucket = 0, b.width(true)
	} else {
		b.filled = b.width(false)
	}
}

// span is how much of its field histograms are about, with the gaps, which they
// fill unless they are told not to.
func (b *bound) span(gaps bool) (float64, bool) {
	w, ok := b.lo.until(b.hi)
	if b.bucket > 0 {
		w = min(w, b.bucket)
	}
	if b.filled > 0 && !gaps {
		w = min(w, b.filled)
	}
	return w, ok
}

// add another alternative to what is covered.
func (b *bound) add(o *bound, buckets bool) {
	w := o.width(buckets)
	switch {
	case buckets && w > 0 && b.bucket > 0:
		b.bucket = max(b.bucket, w)
	case !buckets && w > 0 && b.filled > 0:
		b.filled += w
	default:
		b.filled, b.bucket = 0, 0
	}
}

// lower and higher are no end where one is missing, or is told by another clock.
func lower(a, b value) value {
	switch {
	case !a.ok || !b.ok || a.now != b.now:
		return value{}
	case b.x < a.x:
		return b
	}
	return a
}

func higher(a, b value) value {
	switch {
	case !a.ok || !b.ok || a.now != b.now:
		return value{}
	case b.x > a.x:
		return b
	}
	return a
}
