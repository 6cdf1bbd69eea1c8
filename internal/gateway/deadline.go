package gateway

import (
	"math"
	"strconv"
	"strings"
	"time"

	"github.com/bezoar-dev/bezoar/internal/gateway/h1"
	"github.com/bezoar-dev/bezoar/internal/gateway/span"
)

// MaxDeadline bounds a caller's deadline: longer timeouts are cut to it. A point in time that is further away, in either
// direction, is taken for a mistake and ignored.
const MaxDeadline = 24 * time.Hour

// ParseTimeout reads the value of an X-Request-Timeout field: "1.5s", "1500ms", or seconds, "1.5". ok is false for any
// other form, and for values that are not above zero.
func ParseTimeout(s string) (d time.Duration, ok bool) {
	unit := time.Second
	if rest, cut := strings.CutSuffix(s, "ms"); cut {
		s, unit = rest, time.Millisecond
	} else {
		s = strings.TrimSuffix(s, "s")
	}
	whole, part, dot := strings.Cut(s, ".")
	n, ok := digits(whole, 9)
	if !ok {
		return 0, false
	}
	d = time.Duration(n) * unit
	if dot {
		f, ok := digits(part, 9)
		if !ok {
			return 0, false
		}
		d += time.Duration(float64(f) / math.Pow10(len(part)) * float64(unit))
	}
	return min(d, MaxDeadline), d > 0
}

// ParseGRPCTimeout reads the value of a grpc-timeout field: at most 8 digits and
// a unit.
func ParseGRPCTimeout(s string) (d time.Duration, ok bool) {
	if s == "" {
		return 0, false
	}
	unit := time.Duration(0)
	switch s[len(s)-1] {
	case 'H':
		unit = time.Hour
	case 'M':
		unit = time.Minute
	case 'S':
		unit = time.Second
	case 'm':
		unit = time.Millisecond
	case 'u':
		unit = time.Microsecond
	case 'n':
		unit = time.Nanosecond
	default:
		return 0, false
	}
	n, ok := digits(s[:len(s)-1], 8)
	if !ok || n == 0 {
		return 0, false
	}
	if n > int64(MaxDeadline/unit) {
		return MaxDeadline, true
	}
	return time.Duration(n) * unit, true
}

// ParseDeadline reads the value of an X-Request-Deadline field, milliseconds since 1970, and returns the time that is left,
// which may be negative. ok is false for times further than [MaxDeadline] from now: they are in seconds, or from a wrong
// clock.
func ParseDeadline(s string, now time.Time) (left time.Duration, ok bool) {
	n, ok := digits(s, 15)
	if !ok {
		return 0, false
	}
	ms := n - now.UnixMilli()
	if ms > int64(MaxDeadline/time.Millisecond) || ms < -int64(MaxDeadline/time.Millisecond) {
		return 0, false
	}
	return time.Duration(ms) * time.Millisecond, true
}

// digits reads a decimal number of 1 to most digits.
func digits(s string, most int) (n int64, ok bool) {
	if s == "" || len(s) > most {
		return 0, false
	}
	for i := range len(s) {
		c := s[i] - '0'
		if c > 9 {
			return 0, false
		}
		n = 10*n + int64(c)
	}
	return n, true
}

// deadline is the deadline of a caller.
type deadline struct {
	by   time.Time // when the caller wants its answer; zero: no deadline
	grpc bool      // the caller sent a valid grpc-timeout
}

// read finds the caller's deadline: the earliest of its fields. Invalid values are ignored.
func (d *deadline) read(now time.Time, fields []h1.Field) {
	best, found := MaxDeadline, false
	for i := range fields {
		f := &fields[i]
		var left time.Duration
		ok := false
		switch f.Key {
		case h1.RequestTimeout:
			left, ok = ParseTimeout(f.Value)
		case h1.GRPCTimeout:
			left, ok = ParseGRPCTimeout(f.Value)
			d.grpc = d.grpc || ok
		case h1.RequestDeadline:
			left, ok = ParseDeadline(f.Value, now)
		default: // other fields
		}
		if ok {
			best, found = min(best, left), true
		}
	}
	if found {
		d.by = now.Add(best)
	}
}

// late reports whether the caller's deadline has passed.
func (d *deadline) late() bool { return !d.by.IsZero() && !time.Now().Before(d.by) }

// stamp ends the head for one attempt, with the fields that differ between attempts. It returns false if no time is left to
// send.
func (j *job) stamp(attempt int, by time.Time, parent span.Trace) bool {
	b := j.head[:j.base]
	if attempt > 1 {
		b = append(b, "X-Bezoar-Attempt: "...)
		b = strconv.AppendInt(b, int64(attempt), 10)
		b = append(b, "\r\n"...)
	}
	if !by.IsZero() {
		left := time.Until(by)
		if left <= 0 {
			return false
		}
		ms := max(left.Milliseconds(), 1)
		b = append(b, "X-Request-Timeout: "...)
		b = strconv.AppendInt(b, ms, 10)
		b = append(b, "ms\r\n"...)
		if j.deadline.grpc {
			b = append(b, "grpc-timeout: "...)
			b = strconv.AppendInt(b, min(ms, 99_999_999), 10)
			b = append(b, "m\r\n"...)
		}
	}
	if !parent.IsZero() {
		b = append(b, "traceparent: "...)
		b = parent.AppendText(b)
		b = append(b, "\r\n"...)
	}
	j.head = j.endHead(b)
	return true
}
