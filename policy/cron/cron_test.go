package cron

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"
	"time"
	_ "time/tzdata"
)

func zone(t testing.TB, name string) *time.Location {
	t.Helper()
	z, err := time.LoadLocation(name)
	if err != nil {
		t.Fatal(err)
	}
	return z
}

// dues returns the next n times, as the clock shows them.
func dues(t testing.TB, text, in, after string, n int) string {
	t.Helper()
	s, err := Parse(text)
	if err != nil {
		t.Fatal(err)
	}
	z := zone(t, in)
	at, err := time.ParseInLocation("2006-01-02 15:04", after, z)
	if err != nil {
		t.Fatal(err)
	}
	var all []string
	for range n {
		at = s.Next(at, z)
		all = append(all, at.Format("01-02 15:04Z07"))
	}
	return strings.Join(all, ", ")
}

func TestNext(t *testing.T) {
	for _, tc := range []struct{ text, in, after, want string }{
		{"30 2 * * *", "UTC", "2026-11-29 02:29", "11-29 02:30Z, 11-30 02:30Z, 12-01 02:30Z"},
		{"*/20 9-10 * * mon-fri", "UTC", "2026-11-27 10:20", "11-27 10:40Z, 11-30 09:00Z, 11-30 09:20Z"},
		{"0 0 29 2 *", "UTC", "2096-03-01 00:00", "02-29 00:00Z, 02-29 00:00Z, 02-29 00:00Z"},
		{"0 12 13 * fri", "UTC", "2026-11-12 13:00", "11-13 12:00Z, 11-20 12:00Z, 11-27 12:00Z"},
		{"0 12 1-7 * */1", "UTC", "2026-11-06 13:00", "11-07 12:00Z, 12-01 12:00Z, 12-02 12:00Z"},
		{"0 6 * * 7", "UTC", "2026-11-28 00:00", "11-29 06:00Z, 12-06 06:00Z, 12-13 06:00Z"},
		{"0 6 * * FRI-sun", "UTC", "2026-11-26 00:00", "11-27 06:00Z, 11-28 06:00Z, 11-29 06:00Z"},
		{"5/25 0 31 dec *", "UTC", "2026-11-28 00:00", "12-31 00:05Z, 12-31 00:30Z, 12-31 00:55Z"},
		{"@monthly", "UTC", "2026-11-28 00:00", "12-01 00:00Z, 01-01 00:00Z, 02-01 00:00Z"},
		// Spring: 02:00 to 03:00 is skipped on 29 March.
		{"30 2 * * *", "Europe/Berlin", "2026-03-28 00:00", "03-28 02:30+01, 03-29 03:00+02, 03-30 02:30+02"},
		{"*/15 2,3 * * *", "Europe/Berlin", "2026-03-29 01:59", "03-29 03:00+02, 03-29 03:15+02, 03-29 03:30+02"},
		{"30 * * * *", "Europe/Berlin", "2026-03-29 00:59", "03-29 01:30+01, 03-29 03:30+02, 03-29 04:30+02"},
		// Autumn: 02:00 to 03:00 is repeated on 25 October.
		{"30 2 * * *", "Europe/Berlin", "2026-10-24 12:00", "10-25 02:30+02, 10-26 02:30+01, 10-27 02:30+01"},
		{"0,30 2-3 * * *", "Europe/Berlin", "2026-10-25 01:00", "10-25 02:00+02, 10-25 02:30+02, 10-25 03:00+01"},
		{"30 * * * *", "Europe/Berlin", "2026-10-25 00:59", "10-25 01:30+02, 10-25 02:30+02, 10-25 02:30+01"},
		// Half an hour, at midnight, and a whole day.
		{"15 2 * * *", "Australia/Lord_Howe", "2026-10-03 12:00", "10-04 02:30+11, 10-05 02:15+11, 10-06 02:15+11"},
		{"30 0 * * *", "America/Sao_Paulo", "2018-11-03 12:00", "11-04 01:00-02, 11-05 00:30-02, 11-06 00:30-02"},
		{"0 * 4 11 *", "America/Sao_Paulo", "2018-11-03 12:00", "11-04 01:00-02, 11-04 02:00-02, 11-04 03:00-02"},
		{"0 9 * * *", "Pacific/Apia", "2011-12-29 08:00", "12-29 09:00-10, 12-31 00:00+14, 12-31 09:00+14"},
		{"0 9 30 * *", "Pacific/Apia", "2011-12-29 08:00", "12-31 00:00+14, 01-30 09:00+14, 03-30 09:00+14"},
	} {
		if got := dues(t, tc.text, tc.in, tc.after, 3); got != tc.want {
			t.Errorf("%s in %s after %s:\n got %s\nwant %s", tc.text, tc.in, tc.after, got, tc.want)
		}
	}
}

func TestFaults(t *testing.T) {
	for _, tc := range []struct {
		text string
		at   int
		want string
	}{
		{"", 0, "there are 0 fields, want 5"},
		{"* * * *", 7, "there are 4 fields"},
		{"60 * * * *", 0, `minute: "60" is wrong, want 0 to 59`},
		{"0  24 * * *", 3, `hour: "24" is wrong`},
		{"0 0 1,32 * *", 6, `day of month: "32" is wrong, want 1 to 31`},
		{"0 0 * foo *", 6, `month: "foo" is wrong, want 1 to 12, or jan to dec`},
		{"0 0 * * mon-xyz", 12, `day of week: "xyz" is wrong`},
		{"0 5-3 * * *", 2, `"5-3" runs backwards`},
		{"*/0 * * * *", 2, `the step is "0", want 1 to 59`},
		{"0 0 31 feb,apr *", 4, `no month in "feb,apr" has a day in "31"`},
		{"@dayly", 0, `there is no "@dayly"`},
		{"+1 * * * *", 0, "is wrong"},
		{", * * * *", 0, "is wrong"},
		{strings.Repeat("*", 2000), 1000, "longer than 1000 bytes"},
	} {
		_, err := Parse(tc.text)
		e, ok := errors.AsType[*Error](err)
		if !ok || e.At != tc.at || !strings.Contains(e.Text, tc.want) {
			t.Errorf("%.40q: %v, want %q at %d", tc.text, err, tc.want, tc.at)
		}
	}
}

// In zones of every kind, due times grow, and each fits the wall clock or is the
// end of a gap. Around a change of the clock a named hour is due exactly once.
func TestDueTimesOfAYear(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 2))
	for _, name := range []string{"UTC", "Europe/Berlin", "America/New_York", "Australia/Lord_Howe", "America/St_Johns", "Africa/Casablanca", "Asia/Kathmandu"} {
		z := zone(t, name)
		for range 20 {
			text := fmt.Sprintf("%d %d * * *", rng.IntN(60), rng.IntN(24))
			s, err := Parse(text)
			if err != nil {
				t.Fatal(err)
			}
			at := time.Date(2026, 1, 1, 0, 0, 0, 0, z).Add(-time.Nanosecond)
			days := map[string]int{}
			for {
				next := s.Next(at, z)
				if !next.After(at) {
					t.Fatalf("%s in %s: %v follows %v", text, name, next, at)
				}
				if at = next; at.Year() != 2026 {
					break
				}
				days[at.Format("01-02")]++
				start, _ := at.ZoneBounds()
				if fits := s.minutes&(1<<at.Minute()) != 0 && s.hours&(1<<at.Hour()) != 0; !fits && !at.Equal(start) {
					t.Errorf("%s in %s is due at %v", text, name, at)
				}
			}
			if len(days) != 365 {
				t.Errorf("%s in %s is due on %d days of 2026", text, name, len(days))
			}
			for day, n := range days {
				if n != 1 {
					t.Errorf("%s in %s is due %d times on %s", text, name, n, day)
				}
			}
		}
	}
}

func FuzzParse(f *testing.F) {
	for _, text := range []string{"*/5 1-3,7 1 jan 7", "@daily", "0 0 29 2 1-5/2", "-1 * * * *"} {
		f.Add(text)
	}
	f.Fuzz(func(t *testing.T, text string) {
		s, err := Parse(text)
		if err != nil {
			return
		}
		at := time.Date(2026, 3, 1, 0, 0, 0, 0, time.UTC)
		if next := s.Next(at, time.UTC); !next.After(at) {
			t.Errorf("%q is due at %v", text, next)
		}
	})
}

func BenchmarkNext(b *testing.B) {
	s, err := Parse("30 2 * * *")
	if err != nil {
		b.Fatal(err)
	}
	z := zone(b, "Europe/Berlin")
	at := time.Date(2026, 11, 29, 0, 0, 0, 0, z)
	b.ReportAllocs()
	for b.Loop() {
		s.Next(at, z)
	}
}
