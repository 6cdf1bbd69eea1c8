package config

import (
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"
)

func TestSizes(t *testing.T) {
	for in, want := range map[string]Size{
		"0": 0, "1B": 1, "64KiB": 64 << 10, "1.5GiB": 3 << 29, "2 MiB": 2 << 20, "4TiB": 4 << 40,
	} {
		var got Size
		if err := got.UnmarshalText([]byte(in)); err != nil || got != want {
			t.Errorf("%q gave %d, %v", in, got, err)
		}
	}
	for in, fix := range map[string]string{
		"64": "write 64B", "65536": "write 64KiB", "64k": "write 64KiB", "1.5GB": "write 1.5GiB", "64 MB": "write 64MiB",
		"": "such as 64KiB", "-1KiB": "such as", "lots": "such as", "1.3B": "such as", "999999999TiB": "such as", "1e3B": "such as",
	} {
		var got Size
		if err := got.UnmarshalText([]byte(in)); err == nil || !strings.Contains(err.Error(), fix) {
			t.Errorf("%q gave %d, %v; want the fix %q", in, got, err, fix)
		}
	}
}

func TestRatios(t *testing.T) {
	for in, want := range map[string]Ratio{"20%": 0.2, "12.5%": 0.125, "0%": 0, "100 %": 1, "33.3%": 0.333} {
		var got Ratio
		if err := got.UnmarshalText([]byte(in)); err != nil || got != want {
			t.Errorf("%q gave %v, %v", in, float64(got), err)
		}
	}
	for in, fix := range map[string]string{
		"0.2": "write 20%", "20": "write 20%", "0": "write 0%", "half": "such as 20%", "-5%": "such as", "NaN%": "such as", "1e2%": "such as",
	} {
		var got Ratio
		if err := got.UnmarshalText([]byte(in)); err == nil || !strings.Contains(err.Error(), fix) {
			t.Errorf("%q gave %v, %v; want the fix %q", in, got, err, fix)
		}
	}
}

func TestDurations(t *testing.T) {
	for in, want := range map[string]time.Duration{
		"0": 0, "0s": 0, "250ms": 250 * time.Millisecond, "1h30m": 90 * time.Minute, "7d": 7 * day, "1.5d": 36 * time.Hour,
	} {
		if got, err := parseDuration(in); err != nil || got != want {
			t.Errorf("%q gave %v, %v", in, got, err)
		}
	}
	for in, fix := range map[string]string{
		"30": "write 30s for seconds", "1 minute": "such as 30s", "-5s": "such as", "": "such as", "99999999d": "such as",
	} {
		if got, err := parseDuration(in); err == nil || !strings.Contains(err.Error(), fix) {
			t.Errorf("%q gave %v, %v; want the fix %q", in, got, err, fix)
		}
	}
}

func TestTextFormsReadBack(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		d := time.Duration(rapid.Int64Min(0).Draw(t, "duration"))
		if got, err := parseDuration(formatDuration(d)); err != nil || got != d {
			t.Errorf("%v is written %q and read back as %v, %v", d, formatDuration(d), got, err)
		}
		s := Size(rapid.Int64Range(0, 1<<53-1).Draw(t, "size"))
		var size Size
		if err := size.UnmarshalText([]byte(s.String())); err != nil || size != s {
			t.Errorf("%d is written %q and read back as %d, %v", s, s, size, err)
		}
		var r, ratio Ratio
		if err := r.UnmarshalText([]byte(rapid.StringMatching(`[0-9]{1,3}(\.[0-9]{1,6})?%`).Draw(t, "ratio"))); err != nil {
			t.Fatal(err)
		}
		if err := ratio.UnmarshalText([]byte(r.String())); err != nil || ratio != r {
			t.Errorf("%v is written %q and read back as %v, %v", float64(r), r, float64(ratio), err)
		}
	})
}

func TestNearest(t *testing.T) {
	keys := []string{"replicas", "max_in_flight", "for", "max", "path"}
	for in, want := range map[string]string{
		"replcias": "replicas", "replica": "replicas", "maxInFlight": "max_in_flight", "max-in-flight": "max_in_flight",
		"fro": "for", "paht": "path", "xyz": "", "completely": "", "": "", strings.Repeat("for", 100): "",
	} {
		if got := nearest(in, keys); got != want {
			t.Errorf("%q is near %q, want %q", in, got, want)
		}
	}
}
