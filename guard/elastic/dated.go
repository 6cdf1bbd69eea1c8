package elastic

import (
	"math"
	"strings"
	"time"
)

// timeWidth returns the span of dates without two ends relative to the same clock.
func (r *Reader) timeWidth(lo, hi value) width {
	since, isSince := r.toNow(lo, hi)
	if h, ok := r.indexHint(); ok && (h.Endless || h.Span > 0) {
		w := width{math.Inf(1), "without an end, by a hint", true}
		if !h.Endless {
			w = width{float64(h.Span.Milliseconds()), "that of the index, by a hint", true}
		}
		if isSince && since < w.span {
			return width{since, "that from the filter on the field to now", true}
		}
		return w
	}
	w := width{float64(r.dateSpan().Milliseconds()), "assumed: no filter on both sides, no hint", false}
	if span, ok := r.otherDates(); ok {
		w = width{span, "assumed: that of the filter on another date", false}
	} else if span, ok := dated(r.index); ok && span < w.span {
		w = width{span, "assumed: that of the dates in the names of the indices", false}
	}
	if isSince && since < w.span {
		w = width{since, "assumed: that from the filter on the field to now", false}
	}
	return w
}

// toNow returns the span between a date and now, or a moment relative to now.
func (r *Reader) toNow(lo, hi value) (float64, bool) {
	if r.o.Now.IsZero() || !lo.ok {
		return 0, false
	}
	now := float64(r.o.Now.UnixMilli())
	from, to := lo.x, now
	if lo.now {
		from += now
	}
	if hi.ok {
		if to = hi.x; hi.now {
			to += now
		}
	}
	return to - from, to > from
}

// otherDates returns the span of the tightest filter on any date field: the day and the
// time of an event may be two fields.
func (r *Reader) otherDates() (span float64, ok bool) {
	for i := range r.bounds {
		b := &r.bounds[i]
		if s, known := b.lo.until(b.hi); known && (b.lo.date || b.hi.date) && (!ok || s < span) {
			span, ok = s, true
		}
	}
	return span, ok
}

// datedSlack is the time span of an index after the date in its name: a day or a month. If
// a new index begins when the last one is large, some weeks.
const datedSlack = 31 * day

// dated returns the span of indices that all have dates in their names: logs-2024.05.17,
// logs-2024-05-*, <logs-{now/d-1d}>. ok is false if one has no date.
func dated(names string) (span float64, ok bool) {
	var lo, hi value
	for first := true; ; first = false {
		one, more, found := strings.Cut(names, ",")
		at := dateOfName(one)
		if !at.ok || !first && at.now != lo.now {
			return 0, false
		}
		if first {
			lo, hi = at, at
		}
		lo, hi = lower(lo, at), higher(hi, at)
		if !found {
			return hi.x - lo.x + datedSlack, true
		}
		names = more
	}
}

// dateOfName finds a year and a month in a name, separated by a dot or a dash, with an
// optional day.
func dateOfName(name string) value {
	if _, math, found := strings.Cut(name, "{now"); found {
		end := strings.IndexAny(math, "{}|")
		if end < 0 {
			return value{}
		}
		shift, ok := dateMath([]byte(math[:end]))
		return value{x: shift, ok: ok, now: true}
	}
	for i := 0; i+len("2006-01") <= len(name); i++ {
		if i > 0 && isDigit(name[i-1]) || name[i+4] != '.' && name[i+4] != '-' {
			continue
		}
		y, m := fixedDigits(name[i:i+4]), fixedDigits(name[i+5:i+7])
		if y < 1970 || y > 2200 || m < 1 || m > 12 {
			continue
		}
		d := 1
		if rest := name[i+7:]; len(rest) >= 3 && rest[0] == name[i+4] {
			if n := fixedDigits(rest[1:3]); n >= 1 && n <= 31 {
				d = n
			}
		}
		return value{x: float64(time.Date(y, time.Month(m), d, 0, 0, 0, 0, time.UTC).UnixMilli()), ok: true}
	}
	return value{}
}

func isDigit(c byte) bool { return c >= '0' && c <= '9' }

// fixedDigits returns the number in s, or -1.
func fixedDigits(s string) int {
	n := 0
	for i := range len(s) {
		if !isDigit(s[i]) {
			return -1
		}
		n = n*10 + int(s[i]-'0')
	}
	return n
}
