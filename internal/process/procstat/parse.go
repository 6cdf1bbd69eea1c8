package procstat

import (
	"bytes"
	"fmt"
	"math"
	"strconv"
	"time"
)

// tick is the unit of times in /proc/PID/stat (USER_HZ): 100 a second on every
// platform that Go runs on.
const tick = 10 * time.Millisecond

// stat holds the fields that we read of /proc/PID/stat.
type stat struct {
	pid      int
	state    byte
	cpu      time.Duration
	threads  int
	birth    uint64 // ticks since boot
	rssPages int64
}

// dead reports whether the process has ended.
func (s stat) dead() bool { return s.state == 'Z' || s.state == 'X' || s.state == 'x' }

// parseStat parses /proc/PID/stat. The name in it may contain anything, even brackets and line breaks, so the other fields
// begin after the last bracket.
func parseStat(text []byte) (stat, error) {
	open, end := bytes.IndexByte(text, '('), bytes.LastIndexByte(text, ')')
	if open < 1 || end < open {
		return stat{}, fmt.Errorf("stat of a process: no name in brackets")
	}
	pid, err := number(bytes.TrimSpace(text[:open]), math.MaxInt32)
	if err != nil {
		return stat{}, fmt.Errorf("stat of a process: id: %w", err)
	}
	// Field numbers as in proc(5).
	const third, utime, stime, threads, starttime, rss = 3, 14, 15, 20, 22, 24
	var f [rss + 1][]byte
	n := third
	for field := range bytes.FieldsSeq(text[end+1:]) {
		if n > rss {
			break
		}
		f[n] = field
		n++
	}
	if n <= rss || len(f[third]) != 1 {
		return stat{}, fmt.Errorf("stat of a process: %d fields, want %d or more", n-1, rss)
	}
	s := stat{pid: int(pid), state: f[third][0]}
	var v [rss + 1]int64
	for _, i := range [...]int{utime, stime, threads, starttime, rss} {
		most := int64(math.MaxInt64)
		if i == rss {
			most = unlimited / (64 << 10) // times the largest page size, without overflow
		}
		if v[i], err = number(f[i], most); err != nil {
			return stat{}, fmt.Errorf("stat of a process: field %d: %w", i, err)
		}
	}
	const most = int64(math.MaxInt64 / tick / 2)
	s.cpu = time.Duration(min(v[utime], most)+min(v[stime], most)) * tick
	s.threads = int(min(v[threads], math.MaxInt32))
	s.birth = uint64(v[starttime])
	s.rssPages = v[rss]
	return s, nil
}

// parseLimits returns the soft limit of open files in /proc/PID/limits; 0 for none.
func parseLimits(text []byte) (int64, error) {
	for line := range bytes.Lines(text) {
		rest, ok := bytes.CutPrefix(line, []byte("Max open files "))
		if !ok {
			continue
		}
		soft, _, _ := bytes.Cut(bytes.TrimLeft(rest, " "), []byte(" "))
		if string(soft) == "unlimited" {
			return 0, nil
		}
		n, err := number(soft, math.MaxInt64)
		if err != nil {
			return 0, fmt.Errorf("limits of a process: open files: %w", err)
		}
		return n, nil
	}
	return 0, fmt.Errorf("limits of a process: no \"Max open files\" line")
}

// parsePressure parses /proc/pressure/* or a group's *.pressure. Some kernels omit the full line of the processor.
func parsePressure(text []byte) (Stall, error) {
	var s Stall
	found := false
	for line := range bytes.Lines(text) {
		name, rest, _ := bytes.Cut(bytes.TrimSpace(line), []byte(" "))
		var into *Line
		switch string(name) {
		case "some":
			into, found = &s.Some, true
		case "full":
			into = &s.Full
		default:
			continue // a line of a later kernel
		}
		var err error
		if *into, err = parseLine(rest); err != nil {
			return Stall{}, fmt.Errorf("pressure: %s: %w", name, err)
		}
	}
	if !found {
		return Stall{}, fmt.Errorf("pressure: no \"some\" line")
	}
	return s, nil
}

// parseLine reads "avg10=0.00 avg60=0.00 avg300=0.00 total=0".
func parseLine(text []byte) (Line, error) {
	var l Line
	seen := 0
	for field := range bytes.FieldsSeq(text) {
		key, value, ok := bytes.Cut(field, []byte("="))
		if !ok {
			return Line{}, fmt.Errorf("%.40q is not a key=value", field)
		}
		var err error
		switch string(key) {
		case "avg10":
			l.Avg10, err = percent(value)
		case "avg60":
			l.Avg60, err = percent(value)
		case "avg300":
			l.Avg300, err = percent(value)
		case "total":
			var us int64
			us, err = number(value, math.MaxInt64/int64(time.Microsecond))
			l.Total = time.Duration(us) * time.Microsecond
		default:
			continue
		}
		if err != nil {
			return Line{}, fmt.Errorf("%s: %w", key, err)
		}
		seen++
	}
	if seen != 4 {
		return Line{}, fmt.Errorf("%d of 4 numbers", seen)
	}
	return l, nil
}

// percent parses a percentage and returns a share from 0 to 1.
func percent(text []byte) (float64, error) {
	f, err := strconv.ParseFloat(string(text), 64)
	if err != nil || !(f >= 0 && f <= 101) { // the kernel rounds
		return 0, fmt.Errorf("%.40q is not a percentage", text)
	}
	return min(1, f/100), nil
}

// parseMeminfo returns the total and available bytes in /proc/meminfo.
func parseMeminfo(text []byte) (total, available int64, err error) {
	total, available = Unknown, Unknown
	for line := range bytes.Lines(text) {
		key, value, _ := bytes.Cut(line, []byte(":"))
		var into *int64
		switch string(key) {
		case "MemTotal":
			into = &total
		case "MemAvailable":
			into = &available
		default:
			continue
		}
		kib, ok := bytes.CutSuffix(bytes.TrimSpace(value), []byte(" kB"))
		n, err := number(bytes.TrimSpace(kib), math.MaxInt64/1024)
		if err != nil || !ok {
			return 0, 0, fmt.Errorf("meminfo: %s: %.40q is not a number of kB", key, value)
		}
		*into = n * 1024
	}
	if total <= 0 || available < 0 {
		return 0, 0, fmt.Errorf("meminfo: no MemTotal or no MemAvailable line")
	}
	return total, min(available, total), nil
}

// parseKey returns the number after "key " at the start of a line, as in memory.stat; 0 if there is no such line.
func parseKey(text []byte, key string) (int64, error) {
	for line := range bytes.Lines(text) {
		name, value, _ := bytes.Cut(bytes.TrimSpace(line), []byte(" "))
		if string(name) == key {
			return number(value, math.MaxInt64)
		}
	}
	return 0, nil
}

// unlimited is the value from which a memory limit means none: version 1 writes a number near 2^63.
const unlimited = 1 << 60

// parseBytes parses a file with one number, or "max"; 0 means no limit.
func parseBytes(text []byte) (int64, error) {
	text = bytes.TrimSpace(text)
	if string(text) == "max" {
		return 0, nil
	}
	n, err := number(text, math.MaxInt64)
	if n >= unlimited {
		return 0, err
	}
	return n, err
}

// number parses a decimal number from 0 to most.
func number(text []byte, most int64) (int64, error) {
	n, err := strconv.ParseInt(string(text), 10, 64)
	if err != nil || n < 0 || n > most {
		return 0, fmt.Errorf("%.40q is not a number from 0 to %d", text, most)
	}
	return n, nil
}
