package cron

import "time"

// horizon is how many days are searched: around 2100, there is no 29 February for eight years.
const horizon = 9 * 366

// everyHour is the hour's field of a schedule that goes by real time.
const everyHour = 1<<24 - 1

// Next returns the next due time after a time, in a time zone. For the zero Schedule it is the zero time.
func (s Schedule) Next(after time.Time, zone *time.Location) time.Time {
	after = after.In(zone)
	if s.hours == everyHour {
		return s.nextReal(after)
	}
	// A time that the clock skips may be due on the day after it.
	year, month, day := after.AddDate(0, 0, -1).Date()
	for range horizon {
		date := time.Date(year, month, day, 0, 0, 0, 0, time.UTC)
		year, month, day = date.Date() // a date after the end of a month is in the next month
		if s.fits(date) {
			if t := s.nextOn(date, after); !t.IsZero() {
				return t.In(zone)
			}
		}
		day++
	}
	return time.Time{}
}

func (s Schedule) fits(date time.Time) bool {
	if s.months&(1<<date.Month()) == 0 {
		return false
	}
	byDay, byWeekday := s.days&(1<<date.Day()) != 0, s.weekdays&(1<<date.Weekday()) != 0
	if s.anyDay || s.anyWeekday {
		return byDay && byWeekday
	}
	return byDay || byWeekday
}

// nextOn returns the first due time on a date that is after another time; zero if there is none. Times are those of a wall
// clock, as UTC.
func (s Schedule) nextOn(date, after time.Time) time.Time {
	for hour := range 24 {
		if s.hours&(1<<hour) == 0 {
			continue
		}
		for minute := range 60 {
			if s.minutes&(1<<minute) == 0 {
				continue
			}
			wall := date.Add(time.Duration(hour)*time.Hour + time.Duration(minute)*time.Minute)
			if t := first(wall, after.Location()); t.After(after) {
				return t
			}
		}
	}
	return time.Time{}
}

// first returns the first time at which a wall clock in a time zone shows wall, or has just skipped it. wall is given as
// UTC.
func first(wall time.Time, zone *time.Location) time.Time {
	t := time.Date(wall.Year(), wall.Month(), wall.Day(), wall.Hour(), wall.Minute(), 0, 0, zone)
	start, end := t.ZoneBounds()
	_, offset := t.Zone()
	switch shown := t.Add(time.Duration(offset) * time.Second).UTC(); {
	case shown.After(wall): // skipped, and read as a time before the change
		return start
	case shown.Before(wall): // skipped, and read as a time after the change
		return end
	}
	if start.IsZero() {
		return t
	}
	_, before := start.Add(-time.Second).Zone()
	if earlier := wall.Add(-time.Duration(before) * time.Second); earlier.Before(start) {
		return earlier.In(zone)
	}
	return t
}

// nextReal is Next for a schedule of every hour.
func (s Schedule) nextReal(after time.Time) time.Time {
	t := after.Truncate(time.Minute).Add(time.Minute)
	for end := after.AddDate(0, 0, horizon); t.Before(end); {
		year, month, day := t.Date()
		if date := time.Date(year, month, day, 0, 0, 0, 0, time.UTC); !s.fits(date) {
			// Go to the start of the next day, which is not always midnight.
			t = first(date.AddDate(0, 0, 1), t.Location())
			continue
		}
		if s.minutes&(1<<t.Minute()) != 0 {
			return t
		}
		t = t.Add(time.Minute)
	}
	return time.Time{}
}
