package overload

import (
	"cmp"
	"errors"
	"time"

	"github.com/bezoar-dev/bezoar/internal/faults"
	"github.com/bezoar-dev/bezoar/policy/shed"
)

// Off as Config.Queue lets no request wait. As Config.Streams it makes streams count
// like other work.
const Off = -1

// DefaultLong is the default of Config.Long.
const DefaultLong = 3 * time.Second

const (
	maxQueue   = 1 << 16   // bounds Config.Queue
	maxStreams = 1_000_000 // bounds Config.Streams
)

// Config says how many requests a pool admits. The zero value finds the limit by itself.
type Config struct {
	Name      string        // in refusals, statistics and metrics; default "pool"
	Limit     shed.Config   // how many requests are in flight at once
	Queue     int           // how many requests wait at most; default 128, Off, at most 65,536
	Wait      time.Duration // how long a request waits at most; default 500 ms, 1 ms to 10 min
	PerCaller int           // how many requests one caller may have in flight and waiting, and how many streams besides; 0: no bound
	Streams   int           // how many streams are open at most; default 10,000, at most 1,000,000; Off: streams count as other work
	Long      time.Duration // an answer that lasts longer counts as a stream; default 3 s
}

// WithDefaults returns c with every zero field set to its default.
func (c Config) WithDefaults() Config {
	c.Name = cmp.Or(c.Name, "pool")
	c.Queue = cmp.Or(c.Queue, 128)
	c.Wait = cmp.Or(c.Wait, 500*time.Millisecond)
	c.Streams = cmp.Or(c.Streams, 10_000)
	c.Long = cmp.Or(c.Long, DefaultLong)
	c.Limit = c.Limit.WithDefaults()
	return c
}

// Validate reports every impossible field.
func (c Config) Validate() error {
	c = c.WithDefaults()
	var errs faults.List
	errs.In(c.Limit.Validate(), "limit")
	errs.If(c.Queue < Off || c.Queue > maxQueue, "queue is %d, want 1 to %d, or %d for none", c.Queue, maxQueue, Off)
	errs.If(c.Wait < time.Millisecond || c.Wait > 10*time.Minute, "wait is %v, want 1ms to 10m", c.Wait)
	errs.If(c.PerCaller < 0 || c.PerCaller > shed.MaxLimit, "per caller is %d, want 1 to %d, or 0 for no cap", c.PerCaller, shed.MaxLimit)
	errs.If(c.Streams < Off || c.Streams > maxStreams, "streams is %d, want 1 to %d, or %d to count them as other work", c.Streams, maxStreams, Off)
	errs.If(c.Long < time.Millisecond || c.Long > time.Hour, "long is %v, want 1ms to 1h", c.Long)
	return errors.Join(errs...)
}
