package elastic

import (
	"fmt"
	"math"
	"time"

	"github.com/bezoar-dev/bezoar/guard/cost"
)

const (
	assumedSpan    = 1826 * 24 * time.Hour
	assumedNumbers = 60_000
)

// rangeQuery reads {"field": {"gte", "lt", …}}, and the older from and to.
func (r *Reader) rangeQuery(v int, every bool) selectivity {
	r.clause(v, 1)
	sel := selAll
	for k := v + 1; r.isObject(v) && k < r.next(v); k = r.next(k + 1) {
		if r.isMeta(k) || !r.isObject(k+1) {
			continue
		}
		field := r.bytes(k)
		lo, hi, words := r.rangeOf(k + 1)
		if words {
			r.expensive(v)
		} else if h, ok := r.fieldHint(field); ok && (h.Type == "text" || h.Type == "keyword") {
			r.expensive(v)
		}
		if every {
			r.bound(field, lo, hi)
		}
		sel = max(sel, r.rangeSelectivity(field, lo, hi))
	}
	return sel
}

// rangeOf reads the two ends. words means that they are neither numbers nor dates, so that
// the range covers the terms of a text.
func (r *Reader) rangeOf(n int) (lo, hi value, words bool) {
	format := none
	if f := r.get(n, "format"); f > none && r.isText(f) {
		format = f
	}
	read := func(at int) value {
		switch {
		case at <= none || r.kind(at) == kindNull:
			return value{open: true}
		case r.kind(at) == kindNumber:
			x, ok := r.number(at)
			if ok && format > none && string(r.bytes(format)) == "epoch_second" {
				x *= 1000
			}
			return value{x: x, ok: ok}
		case !r.isText(at):
			return value{}
		}
		var f []byte
		if format > none {
			f = r.bytes(format)
		}
		text := r.bytes(at)
		x := parseValue(text, f)
		words = words || !x.ok && len(text) > 0
		x.open = len(text) == 0
		return x
	}
	lo = read(firstOf(r.get(n, "gte"), r.get(n, "gt"), r.get(n, "from"), r.get(n, "ge")))
	hi = read(firstOf(r.get(n, "lte"), r.get(n, "lt"), r.get(n, "to"), r.get(n, "le")))
	return lo, hi, words
}

// rangeSelectivity returns the selectivity of a range by itself.
func (r *Reader) rangeSelectivity(field []byte, lo, hi value) selectivity {
	if lo.open && hi.open {
		return selAll // a range over all values does not select
	}
	width, ok := lo.until(hi)
	if h, known := r.fieldHint(field); known && h.HasRange && h.Max > h.Min {
		a, b := h.Min, h.Max
		if lo.ok && !lo.now {
			a = max(a, lo.x)
		}
		if hi.ok && !hi.now {
			b = min(b, hi.x)
		}
		if ok && lo.now && hi.now {
			a, b = 0, width
		}
		if (b-a)/(h.Max-h.Min) <= 0.5 {
			return selStrong
		}
		return selWeak
	}
	if !ok || (lo.date || hi.date) && width >= float64(r.dateSpan().Milliseconds()) {
		return selWeak
	}
	return selStrong
}

func (r *Reader) dateSpan() time.Duration {
	if r.o.Defaults.DateSpan > 0 {
		return r.o.Defaults.DateSpan
	}
	return assumedSpan
}

// width is the span of a histogram, in units of its field, and its origin.
type width struct {
	span   float64
	source string
	known  bool
}

// histogram measures date_histogram and histogram and returns their buckets.
func (r *Reader) histogram(kind string, v int, c scope, inner *scope) float64 {
	at := firstOf(r.get(v, "fixed_interval"), r.get(v, "calendar_interval"), r.get(v, "interval"))
	step, dates, ok := r.interval(kind, at)
	if !ok {
		return 1
	}
	w := r.widthOf(v, step, dates)
	value := math.Inf(1)
	if step > 0 {
		value = max(1, math.Ceil(w.span/step))
	}
	m := r.add(cost.HistogramSpan, value, at)
	if r.o.Explain {
		m.Detail = fmt.Sprintf("span %s / interval %s = %s buckets; the span is %s",
			amount(w.span, dates), amount(step, dates), figure(value), w.source)
	}
	if !w.known {
		return c.assumed(value, inner)
	}
	return value
}

func amount(v float64, dates bool) string {
	if !dates || math.IsInf(v, 0) {
		return figure(v)
	}
	if v >= 1e15 {
		return figure(v) + " ms"
	}
	return (time.Duration(v) * time.Millisecond).String()
}

// interval returns a step, in milliseconds for dates. A plain histogram on a date field has
// a number of milliseconds too; its ranges are converted in the same way.
func (r *Reader) interval(kind string, at int) (step float64, dates, ok bool) {
	if at <= none {
		return 0, false, false
	}
	if kind == "histogram" {
		if step = r.quantity(at, 0); math.IsInf(step, 0) {
			step = 0
		}
		return step, false, true
	}
	if r.isObject(at) { // old form: {"value": …}
		at = firstOf(r.get(at, "value"), at)
	}
	if step, ok = r.number(at); ok {
		return step, true, true
	}
	if !r.isText(at) {
		return 0, true, false
	}
	step, _ = calendar(r.bytes(at)) // 0: not understood, but the backend may accept it
	return step, true, true
}

// widthOf returns the span of a histogram.
func (r *Reader) widthOf(v int, step float64, dates bool) width {
	var field []byte
	if f := firstOf(r.get(v, "field"), r.get(v, "key_field")); f > none && r.isText(f) {
		field = r.bytes(f)
	}
	format := none
	if f := r.get(v, "format"); f > none && r.isText(f) {
		format = f
	}
	if hard := r.get(v, "hard_bounds"); hard > none {
		lo, hi := r.minMax(hard, format)
		if span, ok := lo.until(hi); ok {
			return width{span, "that of hard_bounds", true}
		}
	}
	tight := r.tightest(field)
	lo, hi := tight.lo, tight.hi
	filtered, isFiltered := tight.span(r.numberOr(r.get(v, "min_doc_count"), 0) == 0)
	w := width{filtered, "that of the filter on the field", true}
	if !isFiltered {
		w = r.hintedWidth(field, lo, hi, step, dates)
	}
	ext := r.get(v, "extended_bounds")
	if ext <= none || r.numberOr(r.get(v, "min_doc_count"), 0) != 0 {
		return w
	}
	from, to := r.minMax(ext, format)
	if !to.ok { // only one end: the data determines the other
		to = hi
	}
	if !from.ok {
		from = lo
	}
	span, ok := from.until(to)
	if !ok { // relative to now, or to two clocks
		span, ok = r.toNow(from, to)
	} else if isFiltered && from.now == lo.now && lo.ok { // empty buckets extend beyond the data
		span = max(span, max(to.x, hi.x)-min(from.x, lo.x))
	}
	if !ok || span <= w.span && !isFiltered { // bounds only extend the span of the data
		return w
	}
	return width{max(span, w.span), "that of extended_bounds and of the filter", true}
}

// hintedWidth returns the span of a field without filters on both sides.
func (r *Reader) hintedWidth(field []byte, lo, hi value, step float64, dates bool) width {
	if h, ok := r.fieldHint(field); ok && h.HasRange && h.Max >= h.Min {
		a, b := h.Min, h.Max
		if lo.ok && !lo.now {
			a = max(a, lo.x)
		}
		if hi.ok && !hi.now {
			b = min(b, hi.x)
		}
		return width{max(0, b-a), "that of the field, by a hint", true}
	}
	if dates {
		return r.timeWidth(lo, hi)
	}
	// A step below 1 indicates small values.
	span := or(r.o.Defaults.NumberSpan, assumedNumbers)
	if step > 0 && step < 1 {
		span = max(span/1000, span*step)
	}
	return width{span, "assumed: no filter on both sides, no hint", false}
}

// minMax reads the two ends of bounds.
func (r *Reader) minMax(n, format int) (lo, hi value) {
	return r.endAt(r.get(n, "min"), format), r.endAt(r.get(n, "max"), format)
}

// endAt reads one end.
func (r *Reader) endAt(at, format int) value {
	if at <= none {
		return value{}
	}
	if r.kind(at) == kindNumber {
		x, ok := r.number(at)
		return value{x: x, ok: ok}
	}
	if !r.isText(at) {
		return value{}
	}
	var f []byte
	if format > none {
		f = r.bytes(format)
	}
	return parseValue(r.bytes(at), f)
}
