package elastic

import "bytes"

// maxBounds is the maximum number of ranges, and of boxes, that are kept for aggregations.
const maxBounds = 128

// bound is a range that every document passes.
type bound struct {
	field  []byte
	lo, hi value

	// For alternatives, if known:
	filled float64 // total span without the gaps between them
	bucket float64 // the largest span of a bucket for one of them
}

// bound stores a range that has an end.
func (r *Reader) bound(field []byte, lo, hi value) {
	if len(r.bounds) < maxBounds && (lo.ok || hi.ok) {
		r.bounds = append(r.bounds, bound{field: field, lo: lo, hi: hi})
	}
}

// tightest returns the intersection of the ranges on a field.
func (r *Reader) tightest(field []byte) (b bound) {
	for i := range r.bounds {
		if bytes.Equal(r.bounds[i].field, field) {
			b.narrow(&r.bounds[i])
		}
	}
	return b
}

// narrow intersects both ranges.
func (b *bound) narrow(o *bound) {
	if o.lo.ok && (!b.lo.ok || o.lo.now == b.lo.now && o.lo.x > b.lo.x) {
		b.lo = o.lo
	}
	if o.hi.ok && (!b.hi.ok || o.hi.now == b.hi.now && o.hi.x < b.hi.x) {
		b.hi = o.hi
	}
	b.filled, b.bucket = lesser(b.filled, o.filled), lesser(b.bucket, o.bucket)
}

// lesser returns the smaller of two values, either of which may be unknown.
func lesser(a, b float64) float64 {
	if a > 0 && (b <= 0 || a < b) {
		return a
	}
	return b
}

// width returns how much of its field a range covers, with or without gaps; 0 if unknown.
func (b *bound) width(gaps bool) float64 {
	if b.filled > 0 && !gaps {
		return b.filled
	}
	w, _ := b.lo.until(b.hi)
	return w
}

// end closes a range at now if it begins relative to now and has no end.
func (b *bound) end() {
	if b.lo.ok && b.lo.now && !b.hi.ok {
		b.hi = value{ok: true, now: true, date: true}
	}
}

// keep stores what the alternatives cover: together, or one with a bucket of its own.
func (b *bound) keep(buckets bool) {
	if buckets {
		b.filled, b.bucket = 0, b.width(true)
	} else {
		b.filled = b.width(false)
	}
}

// span returns how much of its field a histogram covers, including gaps, which histograms
// fill by default.
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

// add includes another alternative.
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

// lower and higher return no end if one is missing, or if the two are relative to different
// clocks.
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
