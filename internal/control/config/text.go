package config

import (
	"math"
	"strconv"
	"strings"
	"time"
)

// Size is a number of bytes, such as 64KiB.
type Size int64

// units returns the suffixes of sizes, largest first.
func units() []struct {
	name string
	size Size
} {
	return []struct {
		name string
		size Size
	}{{"TiB", 1 << 40}, {"GiB", 1 << 30}, {"MiB", 1 << 20}, {"KiB", 1 << 10}, {"B", 1}}
}

// String returns the shortest exact form: 64KiB, 1500B, 0.
func (s Size) String() string {
	if s == 0 {
		return "0"
	}
	for _, u := range units() {
		if s%u.size == 0 {
			return strconv.FormatInt(int64(s/u.size), 10) + u.name
		}
	}
	return strconv.FormatInt(int64(s), 10) + "B"
}

// MarshalText returns String.
func (s Size) MarshalText() ([]byte, error) { return []byte(s.String()), nil }

// UnmarshalText reads 64KiB, 1.5GiB, 100B or 0.
func (s *Size) UnmarshalText(text []byte) error {
	in := string(text)
	if in == "0" {
		*s = 0
		return nil
	}
	if n, err := strconv.ParseInt(in, 10, 64); err == nil && n > 0 {
		fix := "write " + Size(n).String()
		if n%1024 != 0 {
			fix += " for bytes, or another of KiB, MiB, GiB, TiB"
		}
		return flawf(fix, "%s has no unit", quoted(in))
	}
	for _, u := range units() {
		num, ok := strings.CutSuffix(in, u.name)
		if !ok {
			continue
		}
		f, ok := decimal(strings.TrimRight(num, " "))
		if v := f * float64(u.size); ok && v < 1<<53 && v == math.Trunc(v) {
			*s = Size(v)
			return nil
		}
		break
	}
	fix := "write a number of B, KiB, MiB, GiB or TiB, such as 64KiB"
	for _, k := range []string{"K", "M", "G", "T"} {
		num := strings.TrimRight(strings.TrimSuffix(strings.TrimSuffix(strings.ToUpper(in), "B"), k), " ")
		if f, ok := decimal(num); ok && f > 0 && num != strings.ToUpper(in) && strings.Contains(strings.ToUpper(in), k) {
			fix = "write " + num + k + "iB"
		}
	}
	return flawf(fix, "%s is not a size", quoted(in))
}

// Ratio is a share, such as 20%: 0.2.
type Ratio float64

// String returns the percentage.
func (r Ratio) String() string {
	return strconv.FormatFloat(math.Round(float64(r)*1e8)/1e6, 'f', -1, 64) + "%"
}

// MarshalText returns String.
func (r Ratio) MarshalText() ([]byte, error) { return []byte(r.String()), nil }

// UnmarshalText reads 20% or 12.5%.
func (r *Ratio) UnmarshalText(text []byte) error {
	in := string(text)
	if num, ok := strings.CutSuffix(in, "%"); ok {
		if f, ok := decimal(strings.TrimRight(num, " ")); ok && f <= 1e6 {
			*r = Ratio(math.Round(f*1e6) / 1e8)
			return nil
		}
	}
	switch f, ok := decimal(in); {
	case ok && f > 0 && f < 1:
		return flawf("write "+Ratio(f).String(), "%s has no percent sign", quoted(in))
	case ok && f <= 1e6:
		return flawf("write "+in+"%", "%s has no percent sign", quoted(in))
	}
	return flawf("write a percentage such as 20%", "%s is not a percentage", quoted(in))
}

// UnmarshalText accepts the three values.
func (r *Replay) UnmarshalText(text []byte) error {
	switch v := Replay(text); v {
	case ReplayIdempotent, ReplayAll, ReplayNone:
		*r = v
		return nil
	}
	return flawf("write idempotent, all or none"+didYouMean(string(text), []string{"idempotent", "all", "none"}),
		"%s is not allowed here", quoted(string(text)))
}

// UnmarshalText accepts text that fits on one header line.
func (v *HeaderValue) UnmarshalText(text []byte) error {
	if hasControl(string(text)) {
		return flawf("write it on one line", "has a control character")
	}
	*v = HeaderValue(text)
	return nil
}

func (v HeaderValue) String() string { return string(v) }

// decimal parses an unsigned number without exponent, sign, NaN or underscores.
func decimal(s string) (float64, bool) {
	if s == "" || strings.Trim(s, "0123456789.") != "" {
		return 0, false
	}
	f, err := strconv.ParseFloat(s, 64)
	return f, err == nil
}

// day is a common unit that time.ParseDuration lacks.
const day = 24 * time.Hour

// Duration parses a duration of the settings file: 250ms, 1h30m, 7d or 0s.
func Duration(text string) (time.Duration, error) { return parseDuration(text) }

func parseDuration(in string) (time.Duration, error) {
	const example = "write a number with ms, s, m, h or d, such as 30s"
	if num, ok := strings.CutSuffix(in, "d"); ok {
		if f, ok := decimal(num); ok && f <= 36500 {
			return time.Duration(f * float64(day)), nil
		}
	}
	if f, ok := decimal(in); ok {
		if f == 0 {
			return 0, nil
		}
		return 0, flawf("write "+in+"s for seconds, or another of ms, m, h, d", "%s has no unit", quoted(in))
	}
	d, err := time.ParseDuration(in)
	if err != nil {
		return 0, flawf(example, "%s is not a duration", quoted(in))
	}
	if d < 0 {
		return 0, flawf(example, "%s is negative", quoted(in))
	}
	return d, nil
}

// formatDuration formats a duration without zero parts: 10m instead of 10m0s.
func formatDuration(d time.Duration) string {
	s := d.String()
	if strings.HasSuffix(s, "m0s") {
		s = strings.TrimSuffix(s, "0s")
	}
	if strings.HasSuffix(s, "h0m") {
		s = strings.TrimSuffix(s, "0m")
	}
	return s
}
