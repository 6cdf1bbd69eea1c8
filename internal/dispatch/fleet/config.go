package fleet

import (
	"cmp"
	"errors"
	"time"

	"github.com/bezoar-dev/bezoar/internal/faults"
	"github.com/bezoar-dev/bezoar/policy/balance"
)

// DefaultLaneShare is the part of a fleet that may run suspects at the same time.
const DefaultLaneShare = 0.25

// Config describes a fleet. Only Name is required.
type Config struct {
	Name        string
	MaxInFlight int                                        // per worker; 0 means no limit
	MaxWaiting  int                                        // who may wait in Acquire; default 4,096
	Connect     func(addr string) any                      // what the wire keeps for one epoch; closed with it if an io.Closer
	Opened      func(epoch uint64, worker string)          // before the epoch gets work
	Ended       func(epoch uint64, worker string, end End) // before Settle tells anybody
	Changed     func()                                     // after any change of state; must not block
	SlowStart   time.Duration                              // over which a fresh worker's share grows; default 0: at once
	Eject       balance.Eject                              // when a worker is an outlier
	PanicBelow  float64                                    // share of well workers below which opinions are distrusted; default 0.5
	LaneShare   float64                                    // part of the places that may be the lane at the same time, at least one; default 0.25
	Judged      func(Judgement)                            // after a worker or the fleet came to look otherwise; must not block
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
