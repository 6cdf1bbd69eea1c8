package cli

import (
	"fmt"
	"time"
)

// ago formats how long before now t was: "just now", "42s ago", "3h ago".
func ago(now, t time.Time) string {
	if t.IsZero() {
		return "never"
	}
	d := now.Sub(t)
	if d < time.Second {
		return "just now"
	}
	return span(d) + " ago"
}

// until formats how long after now t is: "in 58s", "now".
func until(now, t time.Time) string {
	if t.IsZero() {
		return "–"
	}
	d := t.Sub(now)
	if d < time.Second {
		return "now"
	}
	return "in " + span(d)
}

// span formats a duration in one suitable unit.
func span(d time.Duration) string {
	switch {
	case d < 0:
		return "0s"
	case d < 2*time.Minute:
		return fmt.Sprintf("%ds", d/time.Second)
	case d < 2*time.Hour:
		return fmt.Sprintf("%dm", d/time.Minute)
	case d < 48*time.Hour:
		return fmt.Sprintf("%dh", d/time.Hour)
	}
	return fmt.Sprintf("%dd", d/(24*time.Hour))
}

// clock formats a time in the local zone.
func clock(now, t time.Time) string {
	t = t.In(now.Location())
	if y, m, d := t.Date(); now.Year() == y && now.Month() == m && now.Day() == d {
		return t.Format("15:04:05")
	}
	return t.Format("2006-01-02 15:04:05")
}
