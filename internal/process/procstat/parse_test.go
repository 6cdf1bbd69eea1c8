package procstat

import (
	"math"
	"strings"
	"testing"
	"time"
)

const tail = " 1 1 0 -1 4194304 100 0 0 0 250 50 0 0 20 0 7 0 4025964 3133440 415 18446744073709551615 1 1 0"

func TestParseStat(t *testing.T) {
	for name, comm := range map[string]string{
		"plain": "cat", "brackets": "a) R 1 (b", "line breaks": "x\n) Z 9\n", "spaces": "tmux: server 1 2 3", "nothing": "",
	} {
		s, err := parseStat([]byte("26408 (" + comm + ") S 17" + tail + "\n"))
		want := stat{pid: 26408, state: 'S', cpu: 3 * time.Second, threads: 7, birth: 4025964, rssPages: 415}
		if err != nil || s != want {
			t.Errorf("%s: %+v, %v, want %+v", name, s, err, want)
		}
	}
	if s, err := parseStat([]byte("7 (x) Z 1" + tail)); err != nil || !s.dead() {
		t.Errorf("a zombie: %+v, %v", s, err)
	}
	for name, text := range map[string]string{
		"empty": "", "no brackets": "1 cat S 1" + tail, "brackets turned round": "1 )cat( S 1" + tail,
		"short": "1 (cat) S 1 2 3", "no id": "(cat) S 17" + tail, "id below 0": "-1 (cat) S 17" + tail,
		"state of two letters": "1 (cat) SS 17" + tail,
		"resident below 0":     "1 (cat) S 17" + strings.Replace(tail, " 415 ", " -415 ", 1),
		"more than any memory": "1 (cat) S 17" + strings.Replace(tail, " 415 ", " 9223372036854775807 ", 1),
		"not a number":         "1 (cat) S 17" + strings.Replace(tail, " 250 ", " 25x ", 1),
		"beyond every number":  "1 (cat) S 17" + strings.Replace(tail, " 7 ", " 99999999999999999999 ", 1),
	} {
		if s, err := parseStat([]byte(text)); err == nil {
			t.Errorf("%s: %+v, want an error", name, s)
		}
	}
}

func TestParseLimits(t *testing.T) {
	const head = "Limit                     Soft Limit           Hard Limit           Units     \nMax processes             96365                96365                processes \n"
	for _, tc := range []struct {
		text string
		want int64
		ok   bool
	}{
		{head + "Max open files            20000                524288               files     \n", 20000, true},
		{head + "Max open files            unlimited            unlimited            files     \n", 0, true},
		{head + "Max open files            0                    0                    files     \n", 0, true},
		{head + "Max open files            many                 many                 files     \n", 0, false},
		{head + "Max open files            -1                   1                    files     \n", 0, false},
		{head + "Max open files ", 0, false},
		{head, 0, false},
		{"", 0, false},
	} {
		if got, err := parseLimits([]byte(tc.text)); got != tc.want || err == nil != tc.ok {
			t.Errorf("%q: %d, %v, want %d", tc.text, got, err, tc.want)
		}
	}
}

func TestParsePressure(t *testing.T) {
	const some = "some avg10=12.50 avg60=1.00 avg300=100.00 total=2000000\n"
	want := Line{0.125, 0.01, 1, 2 * time.Second}
	for name, tc := range map[string]struct {
		text string
		want Stall
	}{
		"both":                     {some + "full avg10=50.00 avg60=0.00 avg300=0.00 total=7\n", Stall{want, Line{0.5, 0, 0, 7 * time.Microsecond}}},
		"some alone":               {some, Stall{Some: want}},
		"of a later kernel":        {"most avg10=1\n" + strings.Replace(some, "total", "avg900=5.00 total", 1), Stall{Some: want}},
		"rounded above a hundred":  {strings.Replace(some, "100.00", "100.01", 1), Stall{Some: want}},
		"without a line break":     {strings.TrimSpace(some), Stall{Some: want}},
		"numbers in another order": {"some total=2000000 avg300=100.00 avg60=1.00 avg10=12.50\n", Stall{Some: want}},
	} {
		if got, err := parsePressure([]byte(tc.text)); err != nil || got != tc.want {
			t.Errorf("%s: %+v, %v, want %+v", name, got, err, tc.want)
		}
	}
	for name, text := range map[string]string{
		"empty": "", "full alone": "full avg10=0.00 avg60=0.00 avg300=0.00 total=0\n",
		"NaN":          strings.Replace(some, "12.50", "NaN", 1),
		"infinite":     strings.Replace(some, "12.50", "+Inf", 1),
		"below 0":      strings.Replace(some, "12.50", "-1", 1),
		"too much":     strings.Replace(some, "12.50", "102", 1),
		"no total":     strings.Replace(some, " total=2000000", "", 1),
		"no value":     strings.Replace(some, "=12.50", "", 1),
		"endless time": strings.Replace(some, "2000000", "9223372036854775807", 1),
	} {
		if got, err := parsePressure([]byte(text)); err == nil {
			t.Errorf("%s: %+v, want an error", name, got)
		}
	}
}

func TestParseMeminfo(t *testing.T) {
	total, available, err := parseMeminfo([]byte("MemTotal:       1000 kB\nMemFree:        1 kB\nMemAvailable:    400 kB\nHugePages_Total:       0\n"))
	if total != 1000<<10 || available != 400<<10 || err != nil {
		t.Errorf("%d, %d, %v", total, available, err)
	}
	if _, available, err = parseMeminfo([]byte("MemTotal: 10 kB\nMemAvailable: 11 kB\n")); available != 10<<10 || err != nil {
		t.Errorf("more is available than there is: %d, %v", available, err)
	}
	for name, text := range map[string]string{
		"empty": "", "older than 3.14": "MemTotal: 10 kB\nMemFree: 5 kB\n", "no total": "MemAvailable: 10 kB\n",
		"another unit": "MemTotal: 10 MB\nMemAvailable: 5 MB\n", "nothing": "MemTotal: 0 kB\nMemAvailable: 0 kB\n",
		"overflows": "MemTotal: 9223372036854775807 kB\nMemAvailable: 5 kB\n",
	} {
		if total, available, err := parseMeminfo([]byte(text)); err == nil {
			t.Errorf("%s: %d, %d, want an error", name, total, available)
		}
	}
}

func TestParseBytes(t *testing.T) {
	for text, want := range map[string]int64{"max\n": 0, "9223372036854771712\n": 0, "1048576\n": 1 << 20, "0": 0} {
		if got, err := parseBytes([]byte(text)); got != want || err != nil {
			t.Errorf("%q: %d, %v, want %d", text, got, err, want)
		}
	}
	for _, text := range []string{"", "-1", "1 2", "maximum", "18446744073709551615"} {
		if got, err := parseBytes([]byte(text)); err == nil {
			t.Errorf("%q: %d, want an error", text, got)
		}
	}
}

func TestShares(t *testing.T) {
	for _, tc := range []struct {
		name string
		got  float64
		want float64
	}{
		{"bytes are scarcer", Space{Total: 100, Free: 30, Available: 10, Inodes: 10, FreeInodes: 9}.Used(), 70.0 / 80},
		{"inodes are scarcer", Space{Total: 100, Free: 90, Available: 90, Inodes: 10, FreeInodes: 1}.Used(), 0.9},
		{"no inodes are counted", Space{Total: 100, Free: 50, Available: 50}.Used(), 0.5},
		{"an empty file system", Space{}.Used(), 0},
		{"the machine is scarcer", Mem{Total: 100, Available: 20, Group: GroupMem{Limit: 100, Used: 10}}.Used(), 0.8},
		{"the group is scarcer", Mem{Total: 100, Available: 80, Group: GroupMem{Limit: 10, Used: 9}}.Used(), 0.9},
		{"no limit", Mem{Total: 100, Available: 80}.Used(), 0.2},
		{"above the limit", GroupMem{Limit: 10, Used: 11}.Share(), 1},
	} {
		if math.Abs(tc.got-tc.want) > 1e-9 {
			t.Errorf("%s: %g, want %g", tc.name, tc.got, tc.want)
		}
	}
	for _, v := range []Process{{FDs: Unknown, FDLimit: 10}, {FDs: 3}, {FDs: 3, FDLimit: Unknown}} {
		if s, known := v.FDShare(); known {
			t.Errorf("%+v: %g, want unknown", v, s)
		}
	}
	if s, known := (Process{FDs: 3, FDLimit: 4}).FDShare(); s != 0.75 || !known {
		t.Errorf("%g, %v", s, known)
	}
}

// Whatever the texts hold, what comes out is an error or in its range.
func FuzzParsers(f *testing.F) {
	f.Add([]byte("26408 (cat) S 17" + tail))
	f.Add([]byte("1 ((x) ) Z 0" + tail))
	f.Add([]byte("Max open files            20000                524288               files     \n"))
	f.Add([]byte("some avg10=12.50 avg60=1.00 avg300=100.00 total=2000000\nfull avg10=0.00 avg60=0.00 avg300=0.00 total=0\n"))
	f.Add([]byte("MemTotal: 10 kB\nMemAvailable: 11 kB\n"))
	f.Add([]byte("max\n"))
	f.Add([]byte("inactive_file 12\n"))
	f.Fuzz(func(t *testing.T, text []byte) {
		if s, err := parseStat(text); err == nil && (s.pid < 0 || s.cpu < 0 || s.threads < 0 || s.rssPages < 0) {
			t.Errorf("stat %+v", s)
		}
		if n, err := parseLimits(text); err == nil && n < 0 {
			t.Errorf("limit %d", n)
		}
		if s, err := parsePressure(text); err == nil {
			for _, l := range []Line{s.Some, s.Full} {
				for _, avg := range []float64{l.Avg10, l.Avg60, l.Avg300} {
					if !(avg >= 0 && avg <= 1) || l.Total < 0 {
						t.Errorf("pressure %+v", s)
					}
				}
			}
		}
		if total, available, err := parseMeminfo(text); err == nil && (available < 0 || available > total) {
			t.Errorf("%d of %d available", available, total)
		}
		if n, err := parseBytes(text); err == nil && (n < 0 || n >= unlimited) {
			t.Errorf("%d bytes", n)
		}
		if n, err := parseKey(text, "inactive_file"); err == nil && n < 0 {
			t.Errorf("%d of the key", n)
		}
	})
}
