package admission

import (
	"errors"
	"fmt"
	"time"

	"github.com/bezoar-dev/bezoar/circuit"
	"github.com/bezoar-dev/bezoar/internal/faults"
	"github.com/bezoar-dev/bezoar/internal/gateway/h1"
	"github.com/bezoar-dev/bezoar/internal/gateway/stale"
	"github.com/bezoar-dev/bezoar/overload"
	"github.com/bezoar-dev/bezoar/policy/shed"
	"github.com/bezoar-dev/bezoar/quota"
)

// Limit counts the requests of a route in one quota.
type Limit struct {
	// Quota is the index in the Quotas of the Limiter.
	Quota int
	// Key says which callers share a count: "ip" (IPv6 by /64), "header:NAME", "jwt:CLAIM" (of the bearer's token, which is
	// not verified here), "client" (the route's key of callers), "route", or up to four of them joined by +. Callers
	// without the header or the claim are counted by their address. Default "client", or "ip" on a route without a key of
	// callers.
	//
	// A caller that can choose a header freely chooses its own count. If only the worker checks a key, add a limit by "ip".
	Key string
	// Answers also counts the bytes of answers, in a quota of bytes. They are known only afterwards, so the last answer may
	// exceed the limit.
	Answers bool
}

// Plan is a tier of callers, with limits in addition to those of the route.
type Plan struct {
	Name string
	// Callers reports whether a caller belongs to the plan; nil: all do. It is called for every request.
	Callers  func(caller string) bool
	Limits   []Limit
	Priority *shed.Priority // nil: the route's
}

// PriorityRule sets the priority of a route's requests.
type PriorityRule struct {
	Default shed.Priority
	// Header overrides plan and default, if a request has it with the name of a priority. Set it only if callers are
	// trusted not to overstate their priority.
	Header string
}

// Override changes the limits of a caller, a plan or a route for some time. The zero Override changes nothing.
type Override struct {
	Rate        float64        // multiplies the limits of quotas; 0 means 1
	Concurrency float64        // multiplies how many requests of one caller run at once; 0 means 1
	Priority    *shed.Priority // instead of what the request would have; nil: nothing
	Deny        bool           // every request is refused

	// Reason is for the refusals of Deny.
	Reason string
	Until  time.Time // zero: not known
}

// FallbackCause is why a request could not be sent to a worker, so that a [Fallback] may answer it.
type FallbackCause string

// The causes of a [Fallback].
const (
	Open        FallbackCause = "open"        // the circuit breaker refuses
	Shed        FallbackCause = "shed"        // too much at once
	Unavailable FallbackCause = "unavailable" // there is no worker
)

func fallbackCauses() []FallbackCause { return []FallbackCause{Open, Shed, Unavailable} }

// maxCharges bounds the limits that one request is counted in.
const maxCharges = 8

// maxFallbacks bounds the fallbacks of a route.
const maxFallbacks = 8

// Config holds the admission rules of a route or of a protected handler.
type Config struct {
	Route string // for problem documents, keys and records

	Client   string // what identifies callers, in the form of a Limit's Key; "": nothing
	Limits   []Limit
	Plans    []Plan
	Cost     int64 // units of one request in quotas of cost; default 1
	Breaker  *circuit.Breaker
	Slow     time.Duration
	Pool     *overload.Pool
	Priority PriorityRule
	Fallback []Fallback // fallbacks of the front, in order
	Other    string     // the front's name for its own kind of fallback, for faults
	Stale    *stale.Cache
	Optional bool

	Limiter    *quota.Limiter
	HideLimits bool
	Overrides  func(route, caller, plan string) Override
}

// asksNothing reports whether every request is admitted.
func (d *Config) asksNothing() bool {
	return d.Client == "" && len(d.Limits) == 0 && len(d.Plans) == 0 && d.Pool == nil && d.Breaker == nil && len(d.Fallback) == 0 &&
		d.Stale == nil && !d.Optional && d.Overrides == nil
}

// Faults returns every fault, each with its field.
func (d *Config) Faults() []error {
	var errs faults.List
	client, err := d.clientKey()
	errs.If(err != nil, "Client %w", err)
	errs = append(errs, d.limitFaults("Limits", d.Limits, client)...)
	most := 0
	for i, p := range d.Plans {
		at := fmt.Sprintf("Plans[%d].", i)
		if p.Name == "" {
			errs = append(errs, errors.New(at+"Name is empty"))
		}
		if p.Callers != nil && d.Client == "" {
			errs = append(errs, errors.New(at+"Callers is set, and Client does not tell callers apart"))
		}
		errs = append(errs, d.limitFaults(at+"Limits", p.Limits, client)...)
		most = max(most, len(p.Limits))
	}
	if n := len(d.Limits) + most; n > maxCharges {
		errs = append(errs, fmt.Errorf("Limits and those of a plan together are %d, want at most %d", n, maxCharges))
	}
	if h := d.Priority.Header; h != "" && !h1.Token(h) {
		errs = append(errs, fmt.Errorf("Priority.Header is %q, which is not the name of a header", h))
	}
	if n := len(d.Fallback); n > maxFallbacks {
		errs = append(errs, fmt.Errorf("Fallback has %d items, want at most %d", n, maxFallbacks))
	}
	for i := range d.Fallback {
		if err := d.Fallback[i].fault(d.Other); err != nil {
			errs = append(errs, fmt.Errorf("Fallback[%d]%w", i, err))
		}
	}
	return errs
}

func (d *Config) clientKey() (*Key, error) {
	if d.Client == "" {
		return nil, nil
	}
	return ParseKey(d.Client, nil)
}

func (d *Config) limitFaults(at string, limits []Limit, client *Key) []error {
	var errs faults.List
	quotas := 0
	if d.Limiter != nil {
		quotas = len(d.Limiter.Quotas())
	}
	for i, l := range limits {
		errs.If(l.Quota < 0 || l.Quota >= quotas, "%s[%d].Quota is %d, and the Limiter has %d", at, i, l.Quota, quotas)
		if _, err := ParseKey(l.key(client), client); err != nil {
			errs = append(errs, fmt.Errorf("%s[%d].Key %w", at, i, err))
		}
	}
	return errs
}

func (l *Limit) key(client *Key) string {
	switch {
	case l.Key != "":
		return l.Key
	case client != nil:
		return "client"
	}
	return "ip"
}
