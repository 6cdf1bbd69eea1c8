package cron

import (
	"fmt"
	"math/bits"
	"strconv"
	"strings"
)

// Schedule says when something is due. The zero value is never due; see [Parse].
type Schedule struct {
	minutes, hours, days, months, weekdays uint64 // a bit for each number
	anyDay, anyWeekday                     bool   // the field begins with *
}

// Error says where a schedule is wrong, and why.
type Error struct {
	At   int // the byte in the text
	Text string
}

func (e *Error) Error() string { return fmt.Sprintf("at character %d: %s", e.At+1, e.Text) }

type field struct {
	name     string
	min, max int
	names    []string // of min, min+1, …
}

func fields() [5]field {
	return [5]field{
		{"minute", 0, 59, nil},
		{"hour", 0, 23, nil},
		{"day of month", 1, 31, nil},
		{"month", 1, 12, []string{"jan", "feb", "mar", "apr", "may", "jun", "jul", "aug", "sep", "oct", "nov", "dec"}},
		{"day of week", 0, 7, []string{"sun", "mon", "tue", "wed", "thu", "fri", "sat"}},
	}
}

// named returns the schedule for a name such as @daily.
func named(name string) string {
	switch strings.ToLower(name) {
	case "@hourly":
		return "0 * * * *"
	case "@daily", "@midnight":
		return "0 0 * * *"
	case "@weekly":
		return "0 0 * * 0"
	case "@monthly":
		return "0 0 1 * *"
	case "@yearly", "@annually":
		return "0 0 1 1 *"
	}
	return ""
}

// maxText bounds the text of a schedule.
const maxText = 1000

// Parse reads a schedule. Its error is an [*Error].
func Parse(text string) (Schedule, error) {
	if len(text) > maxText {
		return Schedule{}, &Error{maxText, fmt.Sprintf("the schedule is longer than %d bytes", maxText)}
	}
	if at := strings.IndexByte(text, '@'); at >= 0 && strings.TrimSpace(text[:at]) == "" {
		full := named(strings.TrimSpace(text))
		if full == "" {
			return Schedule{}, &Error{at, fmt.Sprintf("there is no %q, want @hourly, @daily, @weekly, @monthly or @yearly", strings.TrimSpace(text))}
		}
		text = full
	}
	words, at := split(text)
	if len(words) != 5 {
		return Schedule{}, &Error{len(text), fmt.Sprintf("there are %d fields, want 5: minute, hour, day of month, month, day of week", len(words))}
	}
	var sets [5]uint64
	for i, f := range fields() {
		var err error
		if sets[i], err = f.parse(words[i], at[i]); err != nil {
			return Schedule{}, err
		}
	}
	s := Schedule{
		minutes: sets[0], hours: sets[1], days: sets[2], months: sets[3], weekdays: sets[4]&0x7f | sets[4]>>7,
		anyDay: words[2][0] == '*', anyWeekday: words[4][0] == '*',
	}
	if !s.possible() {
		return Schedule{}, &Error{at[2], fmt.Sprintf("no month in %q has a day in %q", words[3], words[2])}
	}
	return s, nil
}

// split splits a text at its spaces. at has the position of each word.
func split(text string) (words []string, at []int) {
	for i := 0; i < len(text); {
		if text[i] == ' ' || text[i] == '\t' {
			i++
			continue
		}
		n := strings.IndexAny(text[i:], " \t")
		if n < 0 {
			n = len(text) - i
		}
		words, at = append(words, text[i:i+n]), append(at, i)
		i += n
	}
	return words, at
}

// parse reads one field, which begins at byte at of the text.
func (f field) parse(text string, at int) (set uint64, err error) {
	for item := range strings.SplitSeq(text, ",") {
		got, err := f.item(item, at)
		if err != nil {
			return 0, err
		}
		set |= got
		at += len(item) + 1
	}
	return set, nil
}

// item reads *, n, n-m, and each of them with /step.
func (f field) item(text string, at int) (set uint64, err error) {
	span, stepText, stepped := strings.Cut(text, "/")
	from, to := f.min, f.max
	if f.max == 7 && span == "*" {
		to = 6 // so that Sunday does not count twice
	}
	if span != "*" {
		a, b, isRange := strings.Cut(span, "-")
		if from, err = f.number(a, at); err != nil {
			return 0, err
		}
		switch {
		case isRange:
			if to, err = f.number(b, at+len(a)+1); err != nil {
				return 0, err
			}
			if f.max == 7 && to == 0 && from > 0 { // fri-sun
				to = 7
			}
		case !stepped:
			to = from
		}
		if from > to {
			return 0, &Error{at, fmt.Sprintf("%s: %q runs backwards, write it as two ranges", f.name, span)}
		}
	}
	step := 1
	if stepped {
		if step, err = strconv.Atoi(stepText); err != nil || step < 1 || step > f.max {
			return 0, &Error{at + len(span) + 1, fmt.Sprintf("%s: the step is %q, want 1 to %d", f.name, stepText, f.max)}
		}
	}
	for n := from; n <= to; n += step {
		set |= 1 << n
	}
	return set, nil
}

// number reads a number or a name.
func (f field) number(text string, at int) (int, error) {
	for i, name := range f.names {
		if strings.EqualFold(text, name) {
			return f.min + i, nil
		}
	}
	n, err := strconv.Atoi(text)
	if err != nil || text[0] == '+' || n < f.min || n > f.max {
		want := fmt.Sprintf("want %d to %d", f.min, f.max)
		if f.names != nil {
			want += fmt.Sprintf(", or %s to %s", f.names[0], f.names[len(f.names)-1])
		}
		return 0, &Error{at, fmt.Sprintf("%s: %q is wrong, %s", f.name, text, want)}
	}
	return n, nil
}

// possible reports whether any day in the calendar fits.
func (s Schedule) possible() bool {
	if s.anyDay || !s.anyWeekday {
		return true
	}
	for month := 1; month <= 12; month++ {
		if s.months&(1<<month) != 0 && bits.TrailingZeros64(s.days) <= [...]int{0, 31, 29, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31}[month] {
			return true
		}
	}
	return false
}
