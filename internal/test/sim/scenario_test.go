package sim

import (
	"fmt"
	"math/rand/v2"
	"strings"
	"time"
)

// Pills is a set of kinds of poison.
type Pills uint16

// The kinds of poison.
const (
	Crash       Pills = 1 << iota // kills its worker within milliseconds
	Late                          // kills it after a while, before it answers
	Hang                          // never answers; stops an event loop
	OOM                           // has it killed for memory
	Unique                        // every copy another payload of one shape
	Burst                         // 64 copies at one moment
	Conditional                   // kills only workers that are busy
	Tail                          // kills after its answer has begun
	Deserted                      // its caller hangs up before it kills
	allPills    Pills = 1<<iota - 1
)

// Noise is a set of kinds of faults that no work is to blame for.
type Noise uint16

// The kinds of noise.
const (
	Aborts     Noise = 1 << iota // callers hang up
	Deploys                      // rolling restarts, planned
	IdleDeaths                   // workers die with nothing in flight
	Faults                       // connections break, workers live
	MassCrash                    // all workers die at once
	BadDeploy                    // a build that dies of everything
	allNoise   Noise = 1<<iota - 1
)

var (
	pillNames  = []string{"Crash", "Late", "Hang", "OOM", "Unique", "Burst", "Conditional", "Tail", "Deserted"}
	noiseNames = []string{"Aborts", "Deploys", "IdleDeaths", "Faults", "MassCrash", "BadDeploy"}
)

func setString(set uint16, names []string) string {
	var on []string
	for i, n := range names {
		if set&(1<<i) != 0 {
			on = append(on, "sim."+n)
		}
	}
	if len(on) == 0 {
		return "0"
	}
	return strings.Join(on, "|")
}

// Scenario is all there is to one run.
type Scenario struct {
	Seed     uint64
	Workers  int
	Requests int
	Pills    Pills
	Noise    Noise
}

// String returns s as it is written in Go.
func (s Scenario) String() string {
	return fmt.Sprintf("sim.Scenario{Seed: %d, Workers: %d, Requests: %d, Pills: %s, Noise: %s}",
		s.Seed, s.Workers, s.Requests, setString(uint16(s.Pills), pillNames), setString(uint16(s.Noise), noiseNames))
}

// From derives the scenario of a seed: each kind of pill and noise is in most
// of them.
func From(seed uint64, workers, requests int) Scenario {
	r := rand.New(rand.NewPCG(seed, 1))
	s := Scenario{Seed: seed, Workers: workers, Requests: requests}
	for k := Pills(1); k <= allPills; k <<= 1 {
		if r.IntN(4) != 0 {
			s.Pills |= k
		}
	}
	for k := Noise(1); k <= allNoise; k <<= 1 {
		if r.IntN(3) != 0 {
			s.Noise |= k
		}
	}
	if s.settings().after == 1 {
		// With N = 1 whatever dies alone on its worker is convicted, be the
		// worker's death its doing or not: that is what the rule says.
		s.Noise &^= IdleDeaths | BadDeploy
	}
	if workers < 6 {
		// Too few to tell a sick fleet from sick work.
		s.Noise &^= MassCrash | BadDeploy
	}
	return s
}

// settings are what a scenario's seed decides besides.
type settings struct {
	length    time.Duration // during which requests arrive
	service   time.Duration // mean of ordinary work
	slow      time.Duration // of the slow and busy URL
	timeout   time.Duration
	window    time.Duration // until an answer counts as a success; negative: it does at once
	patience  time.Duration // how long a request waits, all in all
	restart   time.Duration
	grace     time.Duration // what is in flight at a planned end is given
	after     int           // N
	eventLoop bool          // one hang stops the whole worker
	popular   int           // distinct popular works
	unique    float64       // part of the traffic that is one of a kind
	suspends  bool          // rollouts are announced to the state
	unsafe    float64       // part of the traffic that may not be replayed
}

func (s Scenario) settings() settings {
	r := rand.New(rand.NewPCG(s.Seed, 2))
	between := func(a, b time.Duration) time.Duration { return a + time.Duration(r.Int64N(int64(b-a))) }
	p := settings{
		length:    between(40*time.Second, 4*time.Minute),
		service:   between(2*time.Millisecond, 150*time.Millisecond),
		restart:   between(100*time.Millisecond, 3*time.Second),
		after:     1 + r.IntN(3),
		eventLoop: r.IntN(2) == 0,
		popular:   20 + r.IntN(400),
		unique:    0.02 + 0.3*r.Float64(),
		suspends:  r.IntN(2) == 0,
		unsafe:    0.3 * r.Float64(),
		timeout:   5 * time.Second,
		patience:  15 * time.Second,
	}
	p.grace = time.Duration(r.Float64() * float64(5*time.Second))
	if r.IntN(2) == 0 {
		p.grace /= 100
	}
	p.window = time.Second
	if r.IntN(4) == 0 {
		p.window = -1
	}
	p.slow = min(20*p.service, 2*time.Second)
	// Small fleets get as much work as they can do, large ones what there is.
	load := float64(s.Requests) * p.service.Seconds() / p.length.Seconds() / float64(s.Workers)
	if load > 3 {
		p.length = time.Duration(float64(p.length) * load / 3)
	}
	return p
}

// stream returns the random numbers of one aspect of s, so that taking another
// aspect away does not change them.
func (s Scenario) stream(aspect uint64) *rand.Rand {
	return rand.New(rand.NewPCG(s.Seed, 16+aspect))
}
