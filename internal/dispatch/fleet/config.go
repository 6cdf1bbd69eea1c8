package fleet

import (
	"cmp"
	"errors"
	"time"

	"github.com/bezoar-dev/bezoar/internal/faults"
	"github.com/bezoar-dev/bezoar/policy/balance"
)

// DefaultLaneShare is the default share of workers that may be the lane at the same time.
const DefaultLaneShare = 0.25

// Config describes a fleet. Only Name is required.
type Config struct {
	Name        string
	MaxInFlight int                                        // per worker; 0: no limit
	MaxWaiting  int                                        // calls that may wait in Acquire; default 4,096
	Connect     func(addr string) any                      // makes the wire's state for one epoch; closed with the epoch if it is an io.Closer
	Opened      func(epoch uint64, worker string)          // called before the epoch gets work
	Ended       func(epoch uint64, worker string, end End) // called before Settle returns
	Changed     func()                                     // called after any change of state; must not block
	SlowStart   time.Duration                              // time in which a fresh worker's share grows; default 0: no slow start
	Eject       balance.Eject                              // when a worker is an outlier
	PanicBelow  float64                                    // share of healthy workers below which health is ignored; default 0.5
	LaneShare   float64                                    // share of the places that may be the lane at the same time, at least one place; default 0.25
	Judged      func(Judgement)                            // called after a judgement about a worker or the fleet has changed; must not block
}

func (c Config) withDefaults() Config {
	c.MaxWaiting = cmp.Or(c.MaxWaiting, 4096)
	c.PanicBelow = cmp.Or(c.PanicBelow, balance.DefaultPanicBelow)
	c.LaneShare = cmp.Or(c.LaneShare, DefaultLaneShare)
	c.Eject = c.Eject.WithDefaults()
	return c
}

// Validate reports every impossible field.
func (c Config) Validate() error {
	var errs faults.List

	errs.If(c.Name == "", "name is empty")
	errs.If(c.MaxInFlight < 0, "max in flight is %d, want 0 or more", c.MaxInFlight)
	errs.If(c.MaxWaiting < 0, "max waiting is %d, want 0 or more", c.MaxWaiting)
	errs.If(c.SlowStart < 0, "slow start is %v, want 0 or more", c.SlowStart)
	errs.If(!(c.PanicBelow >= 0 && c.PanicBelow <= 1), "panic below is %v, want 0 to 1", c.PanicBelow)
	errs.If(!(c.LaneShare >= 0 && c.LaneShare <= 0.5), "lane share is %v, want 0 to 0.5", c.LaneShare)
	errs.In(c.Eject.Validate(), "eject")
	return errors.Join(errs...)
}
