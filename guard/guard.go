package guard

import (
	"errors"
	"fmt"
	"log/slog"
	"math"
	"runtime"
	"sync"
	"sync/atomic"
	"time"

	"github.com/bezoar-dev/bezoar"
	"github.com/bezoar-dev/bezoar/guard/cost"
	"github.com/bezoar-dev/bezoar/internal/faults"
)

// Config is what a Guard is made of. Its zero value is a guard with default
// limits, without hints and without a log.
type Config struct {
	Limits Limits
	Hints  cost.Hints // may be nil

	// Log gets one line for each query that is not accepted, and for each that
	// Observe calls slow: at most LogRate a second, LogBurst at once.
	Log       *slog.Logger
	LogRate   float64       // default 5
	LogBurst  int           // default 20
	SlowAfter time.Duration // default 10 s
	// SlowText is how many bytes of a slow query the log has. The default is none:
	// queries have secrets in them.
	SlowText int

	// Print makes the identity of a shape out of what queries of the shape have in
	// common, with a key that callers do not know. Nil: a hash without a key. Scope,
	// such as the name of a route, keeps shapes of one guard apart from others'.
	Print func(skeleton []byte) bezoar.Fingerprint `json:"-"`
	Scope string

	// Turns has a place for each query at once that takes much memory to judge; guards
	// may share it. Nil: its own of [NewTurns].
	Turns chan struct{} `json:"-"`
	// ShowQueries shows and logs one query of each shape with it: its text without
	// values.
	ShowQueries bool

	MaxCallers int // counted by name; the others together as Others; default 1000
	MaxShapes  int // counted; default 1000
}

// NewTurns makes a Config.Turns with one place for each processor, and at most four:
// each may hold a hundred MiB.
func NewTurns() chan struct{} { return make(chan struct{}, min(runtime.GOMAXPROCS(0), 4)) }

// Others is the caller under whom callers beyond MaxCallers are counted.
const Others = "(others)"

func (c *Config) setDefaults() {
	c.LogRate = or(c.LogRate, 5)
	c.LogBurst = or(c.LogBurst, 20)
	c.SlowAfter = or(c.SlowAfter, 10*time.Second)
	c.MaxCallers = or(c.MaxCallers, 1000)
	c.MaxShapes = or(c.MaxShapes, 1000)
	if c.Turns == nil {
		c.Turns = NewTurns()
	}
}

func or[T int | float64 | time.Duration](v, otherwise T) T {
	if v == 0 {
		return otherwise
	}
	return v
}

// Validate joins every fault.
func (c Config) Validate() error {
	var errs faults.List
	bad := func(name string, v any) { errs = append(errs, fmt.Errorf("%s is %v, want 0 or more", name, v)) }
	if !(c.LogRate >= 0) {
		bad("LogRate", c.LogRate)
	}
	if c.LogBurst < 0 {
		bad("LogBurst", c.LogBurst)
	}
	if c.SlowAfter < 0 {
		bad("SlowAfter", c.SlowAfter)
	}
	if c.SlowText < 0 {
		bad("SlowText", c.SlowText)
	}
	if c.MaxCallers < 0 {
		bad("MaxCallers", c.MaxCallers)
	}
	if c.MaxShapes < 0 {
		bad("MaxShapes", c.MaxShapes)
	}
	errs.In(c.Limits.Validate(), "Limits")
	return errors.Join(errs...)
}

// Guard judges queries. It is safe for concurrent use.
type Guard struct {
	config    Config
	policy    atomic.Pointer[policy]
	dial      atomic.Uint64 // bits of a float64: SetDial's, beside the limits' own
	load      atomic.Uint64 // bits of a float64: SetLoad's
	scratches sync.Pool     // of *scratch
	log       logBucket
	counts    counts

	update sync.Mutex // guards the making of a new policy, so that versions follow one another
}

// New makes a Guard.
func New(c Config) (*Guard, error) {
	if err := c.Validate(); err != nil {
		return nil, fmt.Errorf("make a guard: %w", err)
	}
	c.setDefaults()
	p, err := compile(c.Limits, 1, nil)
	if err != nil {
		return nil, fmt.Errorf("make a guard: %w", err)
	}
	g := &Guard{config: c}
	g.policy.Store(p)
	g.dial.Store(math.Float64bits(1))
	g.scratches.New = func() any { return newScratch() }
	g.log.init(c)
	g.counts.init(c)
	return g, nil
}

// Update replaces the limits, and returns the version of the new ones. Queries
// that are being judged keep the old. When the new are invalid, the old stay.
func (g *Guard) Update(l Limits) (version int64, err error) {
	g.update.Lock()
	defer g.update.Unlock()
	old := g.policy.Load()
	p, err := compile(l, old.version+1, old.overrides)
	if err != nil {
		return old.version, fmt.Errorf("update limits: %w", err)
	}
	g.policy.Store(p)
	return p.version, nil
}

// Limits are those in force, and their version.
func (g *Guard) Limits() (Limits, int64) {
	p := g.policy.Load()
	return p.limits, p.version
}

// SetDial multiplies all limits by factor, beside the dial of the limits
// themselves: 0.5 halves them, 1 takes it back. Flags, such as a missing WHERE,
// have nothing to multiply.
func (g *Guard) SetDial(factor float64) error {
	if !(factor > 0 && factor <= MaxDial) {
		return fmt.Errorf("set the dial: %v is not above 0 and at most %d", factor, MaxDial)
	}
	g.dial.Store(math.Float64bits(factor))
	return nil
}

// SetLoad tells how much pressure the backend is under, 0 to 1. Where the limits
// have a LoadFloor, they shrink towards it in a straight line.
func (g *Guard) SetLoad(pressure float64) {
	g.load.Store(math.Float64bits(max(0, min(1, pressure))))
}

// Dial returns what SetDial and SetLoad have said, with the dials of overrides
// that are for all.
func (g *Guard) Dial() (factor, load float64) {
	return math.Float64frombits(g.dial.Load()) * g.policy.Load().dial, math.Float64frombits(g.load.Load())
}

// scale is what limits are multiplied by, for one class.
func (g *Guard) scale(p *policy, c *classPolicy) float64 {
	scale := math.Float64frombits(g.dial.Load()) * c.dial
	if p.limits.Dial > 0 {
		scale *= p.limits.Dial
	}
	if floor := p.limits.LoadFloor; floor > 0 {
		scale *= 1 - math.Float64frombits(g.load.Load())*(1-floor)
	}
	return scale
}
