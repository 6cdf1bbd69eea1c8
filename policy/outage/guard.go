package outage

import (
	"fmt"
	"math"
	"time"

	"github.com/bezoar-dev/bezoar"
)

// Guard watches one queue. The zero value with the zero Config is ready. It is
// not safe for concurrent use.
type Guard struct {
	Config Config

	is     Snapshot
	before Snapshot // the state that the last canary replaced
	wake   int64    // when a pause or a canary's time ends, by this process's clock
	sample sample
}

// Pause describes the pause of a queue.
type Pause struct {
	Until   time.Time // the end of the pause, or of the canary's time
	Trying  bool      // a canary is out
	Failure string    // the failure that tripped the guard
	Level   uint8     // pauses in a row
	Why     string
}

// Trip describes the decision that failures are an outage.
type Trip struct {
	Pause
	Alike, Ended int       // distinct payloads, in the sample
	Sampled      int       // the sample is one in this many of all payloads
	Since        time.Time // give back the attempts since then that ended in Failure
}

// Result is how a canary ended.
type Result uint8

// The results.
const (
	Worked Result = iota
	Failed        // in any way
	Lost          // interrupted, or never sent: says nothing
)

// Failed records that payload ended in failure, and returns a Trip if that makes it an outage. id identifies the payload if
// its fingerprint is zero.
func (g *Guard) Failed(now time.Time, failure string, payload bezoar.Fingerprint, id uint64) *Trip {
	if g.is.State != Running {
		return nil
	}
	c, n, f := g.Config.WithDefaults(), now.UnixNano(), hashFailure(failure)
	g.sample.add(n, c.Window, hashPayload(payload, id), f)
	if f == 0 {
		return nil
	}
	alike, ended := g.sample.count(n, c.Window, f)
	if alike < c.Least || float64(alike) < c.Share*float64(ended)-1e-9 {
		return nil
	}
	t := &Trip{Alike: alike, Ended: ended, Sampled: sampled(g.sample.trust), Since: now.Add(-c.Window)}
	next := g.is
	next.Failure, next.Why = text(failure), text(t.why(&c))
	level := uint8(0)
	if now.Before(g.is.Until) {
		level = g.is.Level
	}
	g.pause(now, &c, next, level+1)
	t.Pause, _ = g.Paused()
	return t
}

// sampled returns how many payloads each one in the sample stands for.
func sampled(shift uint8) int { return 1 << min(shift, 62) }

func (t *Trip) why(c *Config) string {
	need := max(c.Least, int(math.Ceil(c.Share*float64(t.Ended)-1e-9)))
	of := ""
	if t.Sampled > 1 {
		of = fmt.Sprintf(", in a sample of 1 in %d", t.Sampled)
	}
	return fmt.Sprintf("%d of %d distinct payloads that ended within %v failed alike (%.0f %%%s); an outage begins at %d, the larger of %d and %.4g %% of %d",
		t.Alike, t.Ended, c.Window, 100*float64(t.Alike)/float64(t.Ended), of, need, c.Least, 100*c.Share, t.Ended)
}

// Succeeded records that payload was done. id identifies the payload if its fingerprint is zero.
func (g *Guard) Succeeded(now time.Time, payload bezoar.Fingerprint, id uint64) {
	if g.is.State != Running {
		return
	}
	window := g.Config.Window
	if window == 0 {
		window = g.Config.WithDefaults().Window
	}
	g.sample.add(now.UnixNano(), window, hashPayload(payload, id), 0)
}

// Paused reports whether only canaries may be delivered.
func (g *Guard) Paused() (Pause, bool) {
	if g.is.State == Running {
		return Pause{}, false
	}
	return Pause{
		Until: time.Unix(0, g.wake), Trying: g.is.State == Trying,
		Failure: g.is.Failure, Level: g.is.Level, Why: g.is.Why,
	}, true
}

// Excuses reports whether an attempt that ends in failure now must not count, because the outage is the cause.
func (g *Guard) Excuses(failure string) bool {
	return g.is.State != Running && failure != "" && text(failure) == g.is.Failure
}

// Canary reports whether one message may be delivered although the queue is paused. Pass its result with the generation to
// [Guard.Returned], in any process.
func (g *Guard) Canary(now time.Time) (generation uint64, ok bool) {
	if g.is.State == Running {
		return 0, false
	}
	c := g.Config.WithDefaults()
	limit := c.Cap
	if g.is.State == Trying {
		limit = c.CanaryFor
	}
	left := min(time.Duration(g.wake-now.UnixNano()), limit)
	g.wake = now.UnixNano() + int64(left) // shortens the wait after the clock has stepped back
	if left > 0 {
		return 0, false
	}
	next := g.is
	g.before = g.is
	next.Generation++
	next.State = Trying
	next.Until = clean(now.Add(c.CanaryFor))
	g.enter(next)
	return next.Generation, true
}

// Returned records the result of the canary of a generation: Worked ends the pause, Failed makes it longer, Lost permits
// another canary at once. For an older generation it changes nothing. It reports whether anything changed.
func (g *Guard) Returned(now time.Time, generation uint64, r Result, failure string) (changed bool) {
	if g.is.State != Trying || g.is.Generation != generation {
		return false
	}
	c, next := g.Config.WithDefaults(), g.is
	switch r {
	case Worked:
		g.run(now, &c)
	case Failed:
		next.Why = "a canary failed"
		if failure != "" {
			next.Why = text("a canary failed: " + failure)
		}
		g.pause(now, &c, next, g.is.Level+1)
	case Lost:
		next.Generation++
		next.State, next.Until = Paused, clean(now)
		g.enter(next)
	default:
		return false
	}
	return true
}

// Resume ends a pause by an operator's order, and reports whether there was one.
func (g *Guard) Resume(now time.Time) (changed bool) {
	if g.is.State == Running {
		return false
	}
	c := g.Config.WithDefaults()
	g.run(now, &c)
	return true
}

// run ends a pause. If the guard trips again within the longest pause, the level goes on from here.
func (g *Guard) run(now time.Time, c *Config) {
	g.enter(Snapshot{Generation: g.is.Generation + 1, Level: g.is.Level, Until: clean(now.Add(c.Cap))})
}

// pause begins the level-th pause in a row.
func (g *Guard) pause(now time.Time, c *Config, next Snapshot, level uint8) {
	next.Generation++
	next.State = Paused
	next.Level = min(level, maxLevel)
	next.Until = clean(now.Add(c.pause(next.Level)))
	g.enter(next)
}

// enter begins a state: earlier ends no longer count.
func (g *Guard) enter(next Snapshot) {
	g.is = next
	g.wake = next.Until.UnixNano()
	g.sample.reset()
}
