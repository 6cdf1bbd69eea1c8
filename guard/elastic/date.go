package elastic

import "time"

// date holds the parts of a date.
type date struct {
	year, month, day, hour, minute, second, milli int
	offset                                        int // minutes east of UTC
}

func newDate() date { return date{year: 1970, month: 1, day: 1} }

func (d date) ms() (float64, bool) {
	if d.month < 1 || d.month > 12 || d.day < 1 || d.day > 31 || d.hour > 24 || d.minute > 59 || d.second > 60 {
		return 0, false
	}
	t := time.Date(d.year, time.Month(d.month), d.day, d.hour, d.minute, d.second, 0, time.UTC)
	return float64(t.UnixMilli()) + float64(d.milli) - float64(d.offset)*minute, true
}

// digits reads lo to hi digits.
func digits(b []byte, i, lo, hi int) (value, end int, ok bool) {
	for end = i; end < len(b) && end-i < hi && b[end] >= '0' && b[end] <= '9'; end++ {
		value = value*10 + int(b[end]-'0')
	}
	return value, end, end-i >= lo
}

// isoDate reads yyyy[-MM[-dd]][Thh[:mm[:ss[.fraction]]]][zone], also with a space instead
// of the T. A bare number is a date only with four digits.
func isoDate(b []byte) (float64, bool) {
	d := newDate()
	var ok bool
	i := 0
	if d.year, i, ok = digits(b, 0, 4, 4); !ok {
		return 0, false
	}
	if i == len(b) {
		return d.ms()
	}
	for _, part := range [...]*int{&d.month, &d.day} {
		if i < len(b) && b[i] == '-' {
			if *part, i, ok = digits(b, i+1, 1, 2); !ok {
				return 0, false
			}
		}
	}
	if i < len(b) && (b[i] == 'T' || b[i] == ' ') {
		if i+1 < len(b) {
			if i, ok = clock(b, i+1, &d); !ok {
				return 0, false
			}
		} else {
			i++
		}
	}
	if i, ok = zone(b, i, &d); !ok || i != len(b) {
		return 0, false
	}
	return d.ms()
}

// clock reads hh[:mm[:ss[.fraction]]].
func clock(b []byte, i int, d *date) (int, bool) {
	var ok bool
	if d.hour, i, ok = digits(b, i, 1, 2); !ok {
		return i, false
	}
	for _, part := range [...]*int{&d.minute, &d.second} {
		if i < len(b) && b[i] == ':' {
			if *part, i, ok = digits(b, i+1, 1, 2); !ok {
				return i, false
			}
		}
	}
	if i < len(b) && (b[i] == '.' || b[i] == ',') {
		i = fraction(b, i+1, d)
	}
	return i, true
}

func fraction(b []byte, i int, d *date) int {
	scale := 100
	for ; i < len(b) && b[i] >= '0' && b[i] <= '9'; i++ {
		d.milli += int(b[i]-'0') * scale
		scale /= 10
	}
	return i
}

// zone reads Z, ±hh[:mm] or nothing, and skips a [region].
func zone(b []byte, i int, d *date) (int, bool) {
	if i < len(b) && b[i] == 'Z' {
		i++
	} else if i < len(b) && (b[i] == '+' || b[i] == '-') {
		sign := 1
		if b[i] == '-' {
			sign = -1
		}
		h, j, ok := digits(b, i+1, 2, 2)
		if !ok {
			return i, false
		}
		if j < len(b) && b[j] == ':' {
			j++
		}
		m, j2, ok := digits(b, j, 2, 2)
		if ok {
			j = j2
		} else {
			m = 0
		}
		d.offset = sign * (h*60 + m)
		i = j
	}
	if i < len(b) && b[i] == '[' {
		i = len(b)
	}
	return i, true
}

// slashDate guesses dd/MM/yyyy, MM/dd/yyyy or yyyy/MM/dd, separated by / or dots.
func slashDate(b []byte) (float64, bool) {
	var parts [3]int
	var width [3]int
	i := 0
	for n := range parts {
		v, end, ok := digits(b, i, 1, 4)
		if !ok {
			return 0, false
		}
		parts[n], width[n] = v, end-i
		i = end
		if n < 2 {
			if i >= len(b) || b[i] != '/' && b[i] != '.' {
				return 0, false
			}
			i++
		}
	}
	d := newDate()
	switch {
	case width[0] == 4:
		d.year, d.month, d.day = parts[0], parts[1], parts[2]
	case width[2] == 4 && parts[1] <= 12:
		d.day, d.month, d.year = parts[0], parts[1], parts[2]
	case width[2] == 4:
		d.month, d.day, d.year = parts[0], parts[1], parts[2]
	default:
		return 0, false
	}
	if i < len(b) && (b[i] == ' ' || b[i] == 'T') && i+1 < len(b) {
		if _, ok := clock(b, i+1, &d); !ok {
			return 0, false
		}
	}
	return d.ms()
}

// dateByFormat reads a date in a named format, or according to a pattern.
func dateByFormat(b, format []byte) (float64, bool) {
	switch string(format) {
	case "epoch_millis":
		return parseNumber(b)
	case "epoch_second":
		v, ok := parseNumber(b)
		return v * second, ok
	case "basic_date":
		return byPattern(b, []byte("yyyyMMdd"))
	case "basic_date_time", "basic_date_time_no_millis":
		return byPattern(b, []byte("yyyyMMdd'T'HHmmss.SSSZ"))
	}
	return byPattern(b, format)
}

// byPattern supports the letters of Java's patterns that stand for numbers. It stops at the
// end of either text: missing seconds are zero.
func byPattern(b, pattern []byte) (float64, bool) {
	d := newDate()
	i, seen := 0, false
	for p := 0; p < len(pattern) && i < len(b); {
		c := pattern[p]
		if c == '\'' {
			for p++; p < len(pattern) && pattern[p] != '\''; p++ {
				if i < len(b) && b[i] == pattern[p] {
					i++
				}
			}
			p++
			continue
		}
		run := 1
		for p+run < len(pattern) && pattern[p+run] == c {
			run++
		}
		part := d.part(c)
		switch {
		case part != nil:
			v, end, ok := digits(b, i, 1, most(c, run))
			if !ok {
				return 0, false
			}
			*part, i, seen = v, end, true
		case c == 'S':
			i = fraction(b, i, &d)
		case c == 'Z' || c == 'X' || c == 'x' || c == 'V' || c == 'z':
			var ok bool
			if i, ok = zone(b, i, &d); !ok {
				return 0, false
			}
		case c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z':
			return 0, false // names of months and the like
		default:
			if b[i] != c {
				return 0, false
			}
			i, run = i+1, 1
		}
		p += run
	}
	if !seen {
		return 0, false
	}
	return d.ms()
}

// most returns the maximum number of digits for a letter that is repeated run times.
func most(c byte, run int) int {
	if run < 3 && (c == 'y' || c == 'u') {
		return 4
	}
	return max(run, 2)
}

func (d *date) part(c byte) *int {
	switch c {
	case 'y', 'u', 'Y':
		return &d.year
	case 'M', 'L':
		return &d.month
	case 'd':
		return &d.day
	case 'H', 'k':
		return &d.hour
	case 'm':
		return &d.minute
	case 's':
		return &d.second
	}
	return nil
}
