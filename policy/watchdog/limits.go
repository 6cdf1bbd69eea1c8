package watchdog

import (
	"fmt"
	"math"
	"strconv"
	"time"
)

// Signal is a measured quantity of a worker.
type Signal uint8

// The signals.
const (
	Memory      Signal = iota // resident bytes
	Growth                    // resident bytes per hour
	Descriptors               // share of its file descriptors that are open
	Threads                   // threads of the process
	signals
)

// String returns the signal's name.
func (s Signal) String() string {
	if names := [...]string{"memory", "growth", "descriptors", "threads"}; int(s) < len(names) {
		return names[s]
	}
	return "signal(" + strconv.Itoa(int(s)) + ")"
}

// MarshalText encodes the signal's name.
func (s Signal) MarshalText() ([]byte, error) { return []byte(s.String()), nil }

// Say formats a value of the signal for people: "512 MiB", "93 %".
func (s Signal) Say(v float64) string {
	switch s {
	case Memory:
		return sayBytes(v)
	case Growth:
		return sayBytes(v) + " per hour"
	case Descriptors:
		return strconv.FormatFloat(math.Round(v*1000)/10, 'f', -1, 64) + " %"
	case Threads:
	}
	return strconv.FormatFloat(v, 'f', -1, 64)
}

func sayBytes(v float64) string {
	for _, u := range [...]struct {
		size float64
		name string
	}{{1 << 40, "TiB"}, {1 << 30, "GiB"}, {1 << 20, "MiB"}, {1 << 10, "KiB"}} {
		if v >= u.size {
			return strconv.FormatFloat(math.Round(v/u.size*10)/10, 'f', -1, 64) + " " + u.name
		}
	}
	return strconv.FormatFloat(v, 'f', -1, 64) + " B"
}

// Limits are the largest allowed values. 0 means no limit.
type Limits struct {
	Memory      int64   // resident bytes
	Growth      int64   // resident bytes per hour, while it lasts
	Descriptors float64 // share of its file descriptors
	Threads     int     // of the process
}

func (l *Limits) of(s Signal) float64 {
	switch s {
	case Memory:
		return float64(l.Memory)
	case Growth:
		return float64(l.Growth)
	case Descriptors:
		return l.Descriptors
	case Threads:
		return float64(l.Threads)
	}
	return 0
}

// Sample is the measurement of one worker at one moment. 0 means unknown, and is never a breach.
type Sample struct {
	Memory      int64   `json:"memory,omitempty"` // resident bytes
	Descriptors float64 `json:"descriptors,omitempty"`
	Threads     int     `json:"threads,omitempty"`
}

// of returns one signal of a sample. Growth is not part of a sample.
func (s *Sample) of(sig Signal) float64 {
	switch sig {
	case Memory:
		return float64(s.Memory)
	case Descriptors:
		return s.Descriptors
	case Threads:
		return float64(s.Threads)
	case Growth:
	}
	return 0
}

// Breach is a limit that a worker exceeds.
type Breach struct {
	Signal Signal        `json:"signal"`
	Value  float64       `json:"value"` // the newest, in the signal's unit
	Limit  float64       `json:"limit"`
	Since  time.Time     `json:"since"`
	Lasted time.Duration `json:"lasted_ns"`
}

// String formats it for people: "memory is 812 MiB, above 512 MiB for 31s".
func (b Breach) String() string {
	is := "is"
	if s := b.Signal; s == Descriptors || s == Threads {
		is = "are"
	}
	return fmt.Sprintf("%v %s %s, above %s for %v", b.Signal, is, b.Signal.Say(b.Value), b.Signal.Say(b.Limit), b.Lasted.Round(time.Second))
}
