package config

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"
)

// Units of limits.
const (
	UnitRequests = "requests"
	UnitBytes    = "bytes"
	UnitCost     = "cost"
)

// Limit is one quota: an amount per time for each key.
type Limit struct {
	Name    string `yaml:"name"`                        // Name of the limit in refusals and metrics. Default: made of key and rate.
	Key     string `yaml:"key"`                         // Whose work is counted together: client, ip, route, header:NAME or jwt:CLAIM, or several joined by +.
	Rate    Rate   `yaml:"rate"`                        // Amount per time, such as 100/s, 5000/10m or 1GiB/h.
	Unit    string `yaml:"unit"`                        // What is counted: requests, bytes or cost. Default: by the rate.
	Burst   int    `yaml:"burst" range:"0..1000000000"` // Size of a token bucket, which replaces the sliding window.
	Buckets int    `yaml:"buckets" range:"1..5"`        // Parts of the sliding window. More are more exact.
	Shared  bool   `yaml:"shared"`                      // Counts over all nodes of the store.
}

func (l *Limit) setDefaults() { *l = Limit{Key: "client", Buckets: 1} }

// Plan is a tier of callers with limits and a priority.
type Plan struct {
	Callers  []string `yaml:"callers"`  // Callers of the plan, as the route's client identifies them. * stands for everybody else.
	Priority string   `yaml:"priority"` // Priority of these callers. Default: the route's.
	Limits   []Limit  `yaml:"limits"`   // Rate limits of each of these callers.
}

// Rate is an amount per time, such as 100/s.
type Rate struct {
	N     int64
	Per   time.Duration
	Bytes bool // N was written as a size
}

// String returns a form that UnmarshalText accepts.
func (r Rate) String() string {
	n := strconv.FormatInt(r.N, 10)
	if r.Bytes {
		n = Size(r.N).String()
	}
	for _, u := range rateUnits() {
		if r.Per == u.per {
			return n + "/" + u.name
		}
	}
	return n + "/" + formatDuration(r.Per)
}

func rateUnits() []struct {
	name string
	per  time.Duration
} {
	return []struct {
		name string
		per  time.Duration
	}{{"s", time.Second}, {"m", time.Minute}, {"h", time.Hour}, {"d", day}}
}

// MarshalText returns String.
func (r Rate) MarshalText() ([]byte, error) { return []byte(r.String()), nil }

// maxPer is the longest time of a rate.
const maxPer = 31 * day

// UnmarshalText reads 100/s, 5000/10m or 1GiB/h.
func (r *Rate) UnmarshalText(text []byte) error {
	const example = "write a number or size, a slash and a time, such as 100/s, 5000/10m or 1GiB/h"
	in := string(text)
	num, per, ok := strings.Cut(in, "/")
	if !ok {
		return flawf(example, "%s is not a rate", quoted(in))
	}
	var out Rate
	num, per = strings.TrimSpace(num), strings.TrimSpace(per)
	if n, err := strconv.ParseInt(num, 10, 64); err == nil {
		out.N = n
	} else {
		var s Size
		if s.UnmarshalText([]byte(num)) != nil {
			return flawf(example, "%s is not a rate", quoted(in))
		}
		out.N, out.Bytes = int64(s), true
	}
	for _, u := range rateUnits() {
		if per == u.name || per == "1"+u.name {
			out.Per = u.per
		}
	}
	if out.Per == 0 {
		d, err := parseDuration(per)
		if err != nil {
			return flawf(example, "%s has no time after the slash", quoted(in))
		}
		out.Per = d
	}
	switch {
	case out.N < 1 || out.N > 1<<50:
		return flawf("write 1 or more", "%s is 0, or too large", quoted(in))
	case out.Per < 100*time.Millisecond || out.Per > maxPer:
		return flawf("write 100ms to 31d after the slash", "%s has a time out of range", quoted(in))
	}
	*r = out
	return nil
}

// fill names a limit and determines its unit.
func (l *Limit) fill() {
	if l.Unit == "" {
		l.Unit = UnitRequests
		if l.Rate.Bytes {
			l.Unit = UnitBytes
		}
	}
	if l.Name == "" && l.Rate.N > 0 {
		l.Name = l.Key + " " + l.Rate.String()
		if l.Unit == UnitCost {
			l.Name += " cost"
		}
	}
}

// Maximum numbers of limits per route, per plan and in both together, and of plans per
// file.
const (
	maxSharedBuckets = 2

	maxLimits  = 8
	maxPlans   = 64
	maxCallers = 1000
)

func (c *Config) checkPlans(k *checker) {
	if n := len(c.Plans); n > maxPlans {
		k.addf("plans", "keep fewer", "has %d plans, more than %d", n, maxPlans)
	}
	for _, name := range sortedKeys(c.Plans) {
		p, at := c.Plans[name], "plans."+shortKey(name)
		k.add(at, flawIf(len(p.Callers) == 0, "list who is on it, or write callers: [\"*\"]", "has no callers"), at+".callers")
		if n := len(p.Callers); n > maxCallers {
			k.addf(at+".callers", "use a jwt: key with few values, or fewer plans", "has %d callers, more than %d", n, maxCallers)
		}
		k.add(at+".priority", priorityFlaw(p.Priority))
		checkLimits(k, at, p.Limits)
	}
}

func checkLimits(k *checker, at string, limits []Limit) {
	if n := len(limits); n > maxLimits {
		k.addf(at+".limits", "keep fewer", "has %d limits, more than %d", n, maxLimits)
	}
	for i := range limits {
		l, path := &limits[i], fmt.Sprintf("%s.limits[%d]", at, i)
		k.add(path, flawIf(l.Rate.N == 0, "add rate: 100/s", "has no rate"), path+".rate")
		k.add(path+".unit", choiceFlaw(l.Unit, []string{UnitRequests, UnitBytes, UnitCost}))
		k.add(path+".unit", flawIf(l.Rate.Bytes && l.Unit != UnitBytes, "write unit: bytes, or a plain number", "%s does not fit a rate in bytes", quoted(l.Unit)), path+".rate")
		k.add(path+".buckets", flawIf(l.Burst > 0 && l.Buckets > 1, "keep one", "burst makes it a token bucket, which has no buckets setting"), path+".burst")
		k.add(path+".buckets", flawIf(l.Shared && l.Buckets > maxSharedBuckets, "write 2 or less, or shared: no", "%d is too much for a shared limit", l.Buckets), path+".shared")
		k.when(len(l.Name) > 64, path+".name", "shorten it to 64 characters", "is too long")
		k.add(path+".key", keyFlaw(l.Key))
		if j := slices.IndexFunc(limits[:i], func(o Limit) bool { return o.Name == l.Name }); j >= 0 && l.Name != "" {
			k.addf(path+".name", "name one of them", "%s is also the name of limits[%d]", quoted(l.Name), j)
		}
	}
}

// keyFlaw checks a key: ip, client, route, header:NAME or jwt:CLAIM, or several joined by
// +.
func keyFlaw(key string) *flaw {
	parts := strings.Split(key, "+")
	if len(parts) > 4 {
		return flawf("join at most four", "%s has %d parts", quoted(key), len(parts))
	}
	for _, p := range parts {
		name, of, named := strings.Cut(p, ":")
		switch {
		case !named && (p == "ip" || p == "client" || p == "route"):
		case named && name == "header":
			if f := headerFlaw(of); f != nil {
				return f
			}
		case named && name == "jwt" && of != "" && len(of) <= 64 && !hasControl(of):
		default:
			return flawf("write ip, client, route, header:NAME or jwt:CLAIM, or several joined by +", "%s is not a valid key of a limit", quoted(p))
		}
	}
	return nil
}

// priorities returns the four priorities, most important first.
func priorities() []string {
	return []string{"critical-plus", "critical", "sheddable-plus", "sheddable"}
}

func priorityFlaw(s string) *flaw {
	if s == "" {
		return nil
	}
	return choiceFlaw(s, priorities())
}
