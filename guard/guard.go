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

// Config configures a Guard. The zero value has default limits, no hints and no log.
type Config struct {
	Limits Limits
	Hints  cost.Hints // may be nil

	// Log gets one line for each query that is not accepted, and for each slow query that
	// is passed to Observe: at most LogRate lines per second, with bursts of LogBurst.
	Log       *slog.Logger
	LogRate   float64       // default 5
	LogBurst  int           // default 20
	SlowAfter time.Duration // default 10 s
	// SlowText is the number of bytes of a slow query's text in the log. The default is 0,
	// because queries contain secrets.
	SlowText int

	// Print computes the identity of a shape from the common parts of its queries, with a
	// key that callers do not know. Nil: a hash without a key. Scope, such as the name of a
	// route, separates the shapes of different guards.
	Print func(skeleton []byte) bezoar.Fingerprint `json:"-"`
	Scope string

	// Turns limits how many memory-intensive queries are judged at once, by its capacity.
	// Guards may share it. Nil: the result of [NewTurns].
	Turns chan struct{} `json:"-"`
	// ShowQueries adds the text of one query, without values, to each shape in lists and
	// logs.
	ShowQueries bool

	MaxCallers int // callers counted by name; others are counted as Others; default 1000
	MaxShapes  int // maximum number of counted shapes; default 1000
}

// NewTurns returns a value for Config.Turns with one place per processor, at most four:
// each judged query may hold a hundred MiB.
func NewTurns() chan struct{} { return make(chan struct{}, min(runtime.GOMAXPROCS(0), 4)) }

// Others is the caller that stands for all callers beyond MaxCallers.
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

// Validate returns one error that names every invalid field, or nil.
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
	load      atomic.Uint64 // bits of a float64, set by SetLoad
	scratches sync.Pool     // of *scratch
	log       logBucket
	counts    counts

	update sync.Mutex // serializes updates of the policy, so that versions increase
}

// New returns a Guard, or an error if c is invalid.
func New(c Config) (*Guard, error) {
	if err := c.Validate(); err != nil {
		return nil, fmt.Errorf("create a guard: %w", err)
	}
	c.setDefaults()
	p, err := compile(c.Limits, 1, nil)
	if err != nil {
		return nil, fmt.Errorf("create a guard: %w", err)
	}
	g := &Guard{config: c}
	g.policy.Store(p)
	g.scratches.New = func() any { return newScratch() }
	g.log.init(c)
	g.counts.init(c)
	return g, nil
}

// Update replaces the limits and returns their version. Queries that are being judged use
// the old limits. If the new limits are invalid, the old ones stay in force.
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

// Limits returns the limits in force and their version.
func (g *Guard) Limits() (Limits, int64) {
	p := g.policy.Load()
	return p.limits, p.version
}

// SetLoad sets the pressure on the backend, from 0 to 1. If the limits have a LoadFloor,
// they shrink linearly towards it.
func (g *Guard) SetLoad(pressure float64) {
	g.load.Store(math.Float64bits(max(0, min(1, pressure))))
}

// Dial returns the factor of the overrides for all classes, and the value of SetLoad.
func (g *Guard) Dial() (factor, load float64) {
	return g.policy.Load().dial, math.Float64frombits(g.load.Load())
}

// scale returns the factor for the limits of one class.
func (g *Guard) scale(p *policy, c *classPolicy) float64 {
	scale := c.dial
	if p.limits.Dial > 0 {
		scale *= p.limits.Dial
	}
	if floor := p.limits.LoadFloor; floor > 0 {
		scale *= 1 - math.Float64frombits(g.load.Load())*(1-floor)
	}
	return scale
}
