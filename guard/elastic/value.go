package elastic

import (
	"bytes"
	"math"
)

// value is one end of a range: a number, or a date in milliseconds since 1970 or, with now
// set, relative to the time of the search.
type value struct {
	x             float64
	ok, now, date bool
	open          bool // there is no such end
}

// until returns the distance to another value. ok is false if it is unknown. Without an
// upper end, a moment before now extends until now.
func (v value) until(hi value) (float64, bool) {
	if v.ok && v.now && !hi.ok {
		hi = value{ok: true, now: true}
	}
	if !v.ok || !hi.ok || v.now != hi.now {
		return 0, false
	}
	return max(0, hi.x-v.x), true
}

const (
	second = 1000.0
	minute = 60 * second
	hour   = 60 * minute
	day    = 24 * hour
	month  = 30.44 * day
	year   = 365.25 * day
)

// parseValue parses a number, a date or date math. format is the query's date format, or
// nil.
func parseValue(b, format []byte) value {
	if bytes.HasPrefix(b, []byte("now")) {
		shift, ok := dateMath(b[3:])
		return value{x: shift, ok: ok, now: true, date: true}
	}
	if anchor, math, found := bytes.Cut(b, []byte("||")); found {
		v := parseValue(anchor, format)
		shift, ok := dateMath(math)
		v.x, v.ok = v.x+shift, v.ok && ok
		return v
	}
	for rest := format; len(rest) > 0; {
		one, more, _ := bytes.Cut(rest, []byte("||"))
		if ms, ok := dateByFormat(b, one); ok {
			return value{x: ms, ok: true, date: true}
		}
		rest = more
	}
	if ms, ok := isoDate(b); ok {
		return value{x: ms, ok: true, date: true}
	}
	if x, ok := parseNumber(b); ok {
		return value{x: x, ok: true}
	}
	if ms, ok := slashDate(b); ok {
		return value{x: ms, ok: true, date: true}
	}
	return value{}
}

// dateMath parses the text after now or ||: any number of +1d, -3M, /d. Rounding shifts by
// less than one unit and is ignored.
func dateMath(b []byte) (ms float64, ok bool) {
	for i := 0; i < len(b); {
		sign := 0.0
		switch b[i] {
		case '+':
			sign = 1
		case '-':
			sign = -1
		case '/':
		default:
			return 0, false
		}
		i++
		n, from := 0.0, i
		for i < len(b) && b[i] >= '0' && b[i] <= '9' {
			n = n*10 + float64(b[i]-'0')
			i++
		}
		if i == from {
			n = 1
		}
		if i >= len(b) {
			return 0, false
		}
		unit, known := mathUnit(b[i])
		if !known {
			return 0, false
		}
		ms += sign * n * unit
		i++
	}
	return ms, true
}

func mathUnit(c byte) (float64, bool) {
	switch c {
	case 'y':
		return year, true
	case 'M':
		return month, true
	case 'w':
		return 7 * day, true
	case 'd':
		return day, true
	case 'h', 'H':
		return hour, true
	case 'm':
		return minute, true
	case 's':
		return second, true
	}
	return 0, false
}

// calendar parses an interval: a word, or a number with a unit.
func calendar(b []byte) (float64, bool) {
	b = bytes.TrimSpace(b)
	switch string(b) {
	case "second", "1s":
		return second, true
	case "minute":
		return minute, true
	case "hour":
		return hour, true
	case "day":
		return day, true
	case "week":
		return 7 * day, true
	case "month", "1M":
		return month, true
	case "quarter", "1q":
		return 3 * month, true
	case "year", "1y":
		return year, true
	}
	n, unit := splitUnit(b)
	if unit == nil {
		return 0, false
	}
	switch string(unit) {
	case "M":
		return n * month, true
	case "q":
		return n * 3 * month, true
	case "y":
		return n * year, true
	}
	return duration(b)
}

// splitUnit splits "1.5h". unit is nil if there is none.
func splitUnit(b []byte) (float64, []byte) {
	i := 0
	for i < len(b) && (b[i] >= '0' && b[i] <= '9' || b[i] == '.' || i == 0 && (b[i] == '-' || b[i] == '+')) {
		i++
	}
	n, ok := parseNumber(b[:i])
	if !ok || i == len(b) {
		return 0, nil
	}
	return n, bytes.TrimSpace(b[i:])
}

// duration parses a time value and returns milliseconds.
func duration(b []byte) (float64, bool) {
	if string(b) == "-1" {
		return math.Inf(1), true // no limit
	}
	n, unit := splitUnit(bytes.TrimSpace(b))
	if unit == nil {
		return 0, false
	}
	var room [8]byte
	if len(unit) > 1 && len(unit) <= len(room) { // the backend ignores case
		unit = append(room[:0], unit...)
		for i, c := range unit {
			unit[i] = c | 0x20
		}
	}
	switch string(unit) {
	case "nanos", "ns":
		return n / 1e6, true
	case "micros", "us":
		return n / 1e3, true
	case "ms", "milliseconds", "S":
		return n, true
	case "s", "sec", "seconds":
		return n * second, true
	case "m", "min", "minutes":
		return n * minute, true
	case "h", "H", "hours":
		return n * hour, true
	case "d", "D", "days":
		return n * day, true
	case "w", "W", "weeks":
		return n * 7 * day, true
	}
	return 0, false
}
