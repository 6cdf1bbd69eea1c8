package config

import (
	"fmt"
	"strings"
	"time"
)

// Concurrency bounds the concurrent requests of a fleet. Requests above the limit wait for
// a short time; the least important are refused first.
type Concurrency struct {
	Limit     int           `yaml:"limit" range:"0..1000000"`     // Fixed limit. 0: adaptive, between min and max.
	Min       int           `yaml:"min" range:"1..1000000"`       // Lower bound of the adaptive limit.
	Max       int           `yaml:"max" range:"1..1000000"`       // Upper bound of the adaptive limit.
	Queue     int           `yaml:"queue" range:"0..65536"`       // Most requests that wait.
	Wait      time.Duration `yaml:"wait" range:"1ms..10m"`        // Longest wait.
	PerCaller int           `yaml:"per_caller" range:"0..100000"` // Most requests, and most streams, of one caller. 0: no bound.
	Streams   int           `yaml:"streams" range:"0..1000000"`   // Most open streams, which do not count as requests. 0: they count as requests.
}

func (c *Concurrency) setDefaults() {
	*c = Concurrency{Min: 4, Max: 1000, Queue: 128, Wait: time.Second, Streams: 10_000}
}

// Priority is the importance of a route's requests.
type Priority struct {
	Default string `yaml:"default"` // Priority of requests: critical-plus, critical, sheddable-plus or sheddable.
	Header  string `yaml:"header"`  // Header that may name another priority. Use it only where callers are trusted.
}

func (p *Priority) setDefaults() { *p = Priority{Default: "critical"} }

func (p *Priority) fromWord(word string) error {
	p.Default = word
	return nil
}

func (p Priority) toWord() (string, bool) { return p.Default, p.Header == "" }

// Shard assigns a few of a fleet's workers to each caller, so that a caller who kills
// workers does not affect all of them.
type Shard struct {
	Size     int    `yaml:"size" range:"0..64"`  // Workers of each caller. 0: by the fleet's size.
	Cells    int    `yaml:"cells" range:"0..64"` // Instead of size: number of fixed parts of the fleet.
	Overflow string `yaml:"overflow"`            // When other workers may help: never, down or busy.
}

func (s *Shard) setDefaults() { *s = Shard{Overflow: "down"} }

func (s *Shard) fromWord(word string) error {
	if word != "auto" {
		return flawf("write auto, or keys such as size: 2", "is the value %s, want keys with values", quoted(word))
	}
	s.setDefaults()
	return nil
}

func (s Shard) toWord() (string, bool) { return "auto", s == Shard{Overflow: "down"} }

// Breaker stops requests of a route to a fleet for a while after failures.
type Breaker struct {
	Window       time.Duration `yaml:"window" range:"100ms..1h"`       // Time over which results are counted.
	MinVolume    int           `yaml:"min_volume" range:"1..1000000"`  // Fewest results in the window before a ratio counts.
	FailureRatio Ratio         `yaml:"failure_ratio" range:"0%..100%"` // Share of failures that opens the breaker. 0%: not used.
	SlowRatio    Ratio         `yaml:"slow_ratio" range:"0%..100%"`    // Share of slow results that opens the breaker. 0%: not used.
	Slow         time.Duration `yaml:"slow" range:"0s..1h"`            // Results that take longer are slow. 0s: none is.
	Consecutive  int           `yaml:"consecutive" range:"0..1000000"` // Failures in a row that open the breaker. 0: not used.
	Open         time.Duration `yaml:"open" range:"10ms..1h"`          // First time that the breaker stays open. It doubles each time.
	MaxOpen      time.Duration `yaml:"max_open" range:"10ms..24h"`     // Longest time that the breaker stays open.
	Probes       int           `yaml:"probes" range:"1..64"`           // Requests that must succeed before the breaker closes.
	Off          bool          `yaml:"-"`
}

func (b *Breaker) setDefaults() {
	*b = Breaker{
		Window: 10 * time.Second, MinVolume: 20, FailureRatio: 0.5, SlowRatio: 0.8,
		Consecutive: 10, Open: 5 * time.Second, MaxOpen: 5 * time.Minute, Probes: 3,
	}
}

func (b *Breaker) fromWord(word string) error {
	b.setDefaults()
	switch word {
	case "on", "true", "yes":
		return nil
	case "off", "false", "no":
		b.Off = true
		return nil
	}
	return flawf("write on, off, or keys such as failure_ratio: 50%", "is the value %s, want keys with values", quoted(word))
}

func (b Breaker) toWord() (string, bool) {
	if b.Off {
		return "off", true
	}
	var d Breaker
	d.setDefaults()
	return "on", b == d
}

// Fallback is an answer for times when the workers cannot answer. Exactly one of Static,
// Stale and Fleet is set.
type Fallback struct {
	On     []string      `yaml:"on"`                     // Refusals that the answer is for: open, shed or unavailable. Default: all.
	Static *Static       `yaml:"static"`                 // A fixed answer.
	Stale  time.Duration `yaml:"stale" range:"0s..168h"` // The last good answer, if it is not older than this.
	Fleet  string        `yaml:"fleet"`                  // Another fleet that answers.
}

// Static is a fixed answer.
type Static struct {
	Status      int    `yaml:"status" range:"200..599"` // Status code.
	ContentType string `yaml:"content_type"`            // Content type.
	Body        string `yaml:"body"`                    // Body.
}

func (s *Static) setDefaults() { *s = Static{Status: 200, ContentType: "text/plain; charset=utf-8"} }

// maxFallbacks is the maximum number of fallbacks of a route.
const maxFallbacks = 4

func (r *Route) checkProtection(k *checker, at string, c *Config) {
	checkLimits(k, at, r.Limits)
	for i, name := range r.Plans {
		if _, ok := c.Plans[name]; !ok {
			k.add(fmt.Sprintf("%s.plans[%d]", at, i), flawf("define it under plans"+didYouMean(name, sortedKeys(c.Plans)), "there is no plan %s", quoted(name)), "plans")
		}
	}
	most := 0
	for _, name := range r.Plans {
		most = max(most, len(c.Plans[name].Limits))
	}
	if n := len(r.Limits) + most; n > maxLimits && most > 0 && len(r.Limits) <= maxLimits {
		k.add(at+".plans", flawf("keep fewer limits", "the route's limits and those of a plan are %d, more than %d", n, maxLimits), at+".limits")
	}
	if r.Client == "" {
		for _, of := range []struct {
			key string
			set bool
		}{{"plans", len(r.Plans) > 0}, {"limits", usesClient(r.Limits)}} {
			k.add(at+"."+of.key, flawIf(of.set, "add client: header:X-Api-Key, jwt:sub or ip to the route", "needs to identify callers"), at+".client")
		}
		if f, ok := c.Fleets[r.Fleet]; ok && f.Shard != nil {
			k.add(at, flawf("add client: header:X-Api-Key, jwt:sub or ip", "leads to a fleet with shards, but does not identify callers"), at+".client")
		}
	}
	if r.Guard != nil {
		r.Guard.check(k, at+".guard", &r.Match)
	}
	k.add(at+".priority.default", priorityFlaw(r.Priority.Default))
	if h := r.Priority.Header; h != "" {
		k.add(at+".priority.header", headerFlaw(h))
	}
	if b := r.Breaker; b != nil && b.Open > b.MaxOpen {
		k.add(at+".breaker.open", flawf("lower it, or raise max_open", "%s is more than max_open, %s", formatDuration(b.Open), formatDuration(b.MaxOpen)), at+".breaker.max_open")
	}
	if n := len(r.Fallback); n > maxFallbacks {
		k.addf(at+".fallback", "keep fewer", "has %d items, more than %d", n, maxFallbacks)
	}
	for i := range r.Fallback {
		r.Fallback[i].check(k, fmt.Sprintf("%s.fallback[%d]", at, i), r, c)
	}
	if r.Enqueue != "" {
		for _, of := range []struct {
			key string
			set bool
		}{{"breaker", r.Breaker != nil}, {"fallback", len(r.Fallback) > 0}, {"guard", r.Guard != nil}} {
			k.when(of.set, at+"."+of.key, "remove it", "has no effect for enqueued requests")
		}
	}
}

func usesClient(limits []Limit) bool {
	for _, l := range limits {
		for p := range strings.SplitSeq(l.Key, "+") {
			if p == "client" {
				return true
			}
		}
	}
	return false
}

func (f *Fallback) check(k *checker, at string, r *Route, c *Config) {
	n := 0
	for _, is := range []bool{f.Static != nil, f.Stale > 0, f.Fleet != ""} {
		if is {
			n++
		}
	}
	k.add(at, flawIf(n != 1, "set exactly one of static, stale and fleet; use a separate item for each", "has %d answers", n), at+".static", at+".stale", at+".fleet")
	for i, on := range f.On {
		k.add(fmt.Sprintf("%s.on[%d]", at, i), choiceFlaw(on, []string{"open", "shed", "unavailable"}))
	}
	if f.Fleet == "" {
		return
	}
	switch _, ok := c.Fleets[f.Fleet]; {
	case !ok:
		k.add(at+".fleet", flawf("define it under fleets"+didYouMean(f.Fleet, sortedKeys(c.Fleets)), "there is no fleet %s", quoted(f.Fleet)), "fleets")
	case f.Fleet == r.Fleet:
		k.addf(at+".fleet", "name another one", "is the route's own fleet")
	}
}
