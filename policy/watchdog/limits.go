package watchdog

import (
	"fmt"
	"math"
	"strconv"
	"time"
)

// Signal is what is measured of a worker.
type Signal uint8

// The signals.
const (
	Memory      Signal = iota // resident bytes
	Growth                    // resident bytes per hour
	HeapGrowth                // bytes per hour that live on the heap
	Descriptors               // share of its file descriptors that are open
	Threads                   // threads of the process
	Goroutines                // of a process that watches itself
	Latency                   // seconds until it comes round to something small
	Pressure                  // share of time in which its group waited for memory
	signals
)

// String returns the signal's name.
func (s Signal) String() string {
	switch s {
	case Memory:
		return "memory"
	case Growth:
		return "growth"
	case HeapGrowth:
		return "heap-growth"
	case Descriptors:
		return "descriptors"
	case Threads:
		return "threads"
	case Goroutines:
		return "goroutines"
	case Latency:
		return "latency"
	case Pressure:
		return "pressure"
	}
	return "signal(" + strconv.Itoa(int(s)) + ")"
}

// MarshalText writes the signal's name.
func (s Signal) MarshalText() ([]byte, error) { return []byte(s.String()), nil }

// Say says a value of the signal for people: "512 MiB", "93 %".
func (s Signal) Say(v float64) string {
	switch s {
	case Memory:
		return sayBytes(v)
	case Growth, HeapGrowth:
		return sayBytes(v) + " per hour"
	case Descriptors, Pressure:
		return strconv.FormatFloat(math.Round(v*1000)/10, 'f', -1, 64) + " %"
	case Latency:
		d := time.Duration(v * float64(time.Second))
		if d >= time.Second {
			return d.Round(10 * time.Millisecond).String()
		}
		return d.Round(100 * time.Microsecond).String()
	case Threads, Goroutines:
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

// shared reports whether the signal is also what load, or the machine, does to
// every worker at once.
func (s Signal) shared() bool { return s == Latency || s == Pressure }

// Limits are what a worker may take. What is 0 is not looked at.
type Limits struct {
	Memory      int64         // resident bytes
	Growth      int64         // resident bytes per hour, while it lasts
	HeapGrowth  int64         // bytes per hour that live on the heap; only a process knows its own
	Descriptors float64       // share of its file descriptors
	Threads     int           // of the process
	Goroutines  int           // only a process knows its own
	Latency     time.Duration // until it comes round to something small
	Pressure    float64       // share of time in which its group waited for memory
}

// of returns the limit of one signal.
func (l *Limits) of(s Signal) float64 {
	switch s {
	case Memory:
		return float64(l.Memory)
	case Growth:
		return float64(l.Growth)
	case HeapGrowth:
		return float64(l.HeapGrowth)
	case Descriptors:
		return l.Descriptors
	case Threads:
		return float64(l.Threads)
	case Goroutines:
		return float64(l.Goroutines)
	case Latency:
		return l.Latency.Seconds()
	case Pressure:
		return l.Pressure
	}
	return 0
}

// Sample is what was measured of one worker at one moment. What is 0 is not
// known, and never a breach.
type Sample struct {
	Memory      int64         `json:"memory,omitempty"` // resident bytes
	Heap        int64         `json:"heap,omitempty"`   // bytes that the last collection left
	Descriptors float64       `json:"descriptors,omitempty"`
	Threads     int           `json:"threads,omitempty"`
	Goroutines  int           `json:"goroutines,omitempty"`
	Latency     time.Duration `json:"latency_ns,omitempty"`
	Pressure    float64       `json:"pressure,omitempty"`
}

// of returns one signal of a sample; those of growth are not in it.
func (s *Sample) of(sig Signal) float64 {
	switch sig {
	case Memory:
		return float64(s.Memory)
	case Descriptors:
		return s.Descriptors
	case Threads:
		return float64(s.Threads)
	case Goroutines:
		return float64(s.Goroutines)
	case Latency:
		return s.Latency.Seconds()
	case Pressure:
		return s.Pressure
	case Growth, HeapGrowth:
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

// String says it for people: "memory is 812 MiB, above 512 MiB for 31s".
func (b Breach) String() string {
	is := "is"
	if s := b.Signal; s == Descriptors || s == Threads || s == Goroutines {
		is = "are"
	}
	return fmt.Sprintf("%v %s %s, above %s for %v", b.Signal, is, b.Signal.Say(b.Value), b.Signal.Say(b.Limit), b.Lasted.Round(time.Second))
}
