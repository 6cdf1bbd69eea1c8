package health

import (
	"maps"
	"slices"
	"strings"
	"time"
	"unicode"
)

// Kind is the source of a check.
type Kind string

// The kinds.
const (
	Local  Kind = "local"  // numbers of this machine
	Called Kind = "called" // measured calls to a dependency
	Custom Kind = "custom" // a function of yours
)

// Report describes the state of the process. Its JSON names are stable. It is bounded: at
// most MaxChecks checks and loops with a detail of 256 bytes each.
type Report struct {
	State    State     `json:"state"`
	Since    time.Time `json:"since,omitzero"`
	Ready    bool      `json:"ready"`
	Alive    bool      `json:"alive"`
	NotReady string    `json:"not_ready,omitempty"` // starting, draining, stopped or failing
	Checks   []Check   `json:"checks"`
	Loops    []Beats   `json:"loops,omitempty"`
	Faults   []string  `json:"faults,omitempty"` // what cannot be watched as configured; may hold secrets
}

// Check describes a check in a report.
type Check struct {
	Name     string    `json:"name"`
	Kind     Kind      `json:"kind"`
	State    State     `json:"state"`
	Optional bool      `json:"optional,omitempty"`
	Pending  bool      `json:"pending,omitempty"` // not run yet
	Since    time.Time `json:"since,omitzero"`    // of State
	At       time.Time `json:"at,omitzero"`       // of the last run
	Measures []Measure `json:"measures,omitempty"`
	Skipped  string    `json:"skipped,omitempty"` // why this system cannot be checked
	Detail   string    `json:"detail,omitempty"`  // may hold secrets: errors, paths, addresses
}

// Measure is one number of a check with its thresholds.
type Measure struct {
	Name       string      `json:"name"`
	Value      float64     `json:"value"`
	Unit       string      `json:"unit,omitempty"` // share, seconds, or "" for a count
	State      State       `json:"state"`
	Thresholds *Thresholds `json:"thresholds,omitempty"` // nil: shown only
}

// Thresholds are the limits of a measure in a report.
type Thresholds struct {
	Degraded    *Edges  `json:"degraded,omitempty"`
	Failing     *Edges  `json:"failing,omitempty"`
	Times       int     `json:"times,omitempty"`
	ForSeconds  float64 `json:"for_seconds,omitempty"`
	CalmSeconds float64 `json:"calm_seconds,omitempty"`
}

// Edges are the thresholds of a state: it begins at Upper and ends below Lower.
type Edges struct {
	Upper float64 `json:"upper"`
	Lower float64 `json:"lower"`
}

// Beats describes a loop in a report.
type Beats struct {
	Name          string  `json:"name"`
	Stuck         bool    `json:"stuck"`
	SilentSeconds float64 `json:"silent_seconds"`
	WithinSeconds float64 `json:"within_seconds"`
}

func thresholds(l Limits) *Thresholds {
	if !l.On() {
		return nil
	}
	edges := func(b Band) *Edges {
		if !b.On() {
			return nil
		}
		return &Edges{b.Upper, b.Lower}
	}
	return &Thresholds{edges(l.Degraded), edges(l.Failing), l.Times, l.For.Seconds(), l.Calm.Seconds()}
}

// Report returns the state of everything, with details. It is for this process; HTTP
// answers leave details out unless Config.Verbose is set.
func (h *Health) Report() Report { return h.report(nil) }

// report leaves out the checks of some names.
func (h *Health) report(without map[string]bool) Report {
	h.mu.Lock()
	defer h.mu.Unlock()
	r := Report{State: h.total(without), Since: h.since, Alive: true, Checks: []Check{}}
	if r.State != h.state {
		r.Since = time.Time{} // of another whole
	}
	r.NotReady = h.notReady(r.State)
	r.Ready = r.NotReady == ""
	for e := range h.entries() {
		if without[e.name] {
			continue
		}
		r.Checks = append(r.Checks, Check{
			Name: e.name, Kind: e.kind, State: e.state, Optional: e.optional, Pending: e.at.IsZero(),
			Since: e.since, At: e.at, Measures: append([]Measure(nil), e.measures...), Skipped: e.skipped, Detail: e.detail,
		})
	}
	for _, l := range h.loops {
		r.Alive = r.Alive && !l.stuck()
		r.Loops = append(r.Loops, Beats{l.name, l.stuck(), l.silent().Seconds(), l.within.Seconds()})
	}
	r.Faults = slices.Sorted(maps.Values(h.faults))
	return r
}

// notReady says why no traffic should come, or "". h.mu is held.
func (h *Health) notReady(total State) string {
	switch {
	case h.phase == stopped:
		return "stopped"
	case h.draining:
		return "draining"
	case h.phase != running:
		return "starting"
	case total == Failing:
		return "failing"
	}
	return ""
}

// public returns r without what may hold secrets.
func (r Report) public() Report {
	r.Faults = nil
	for i := range r.Checks { // ours: report made them
		r.Checks[i].Detail = ""
	}
	return r
}

// maxDetail bounds a detail, in bytes.
const maxDetail = 256

// oneLine makes text harmless to show: short, valid and without line breaks.
func oneLine(text string) string {
	if len(text) > maxDetail {
		text = text[:maxDetail]
	}
	return strings.Map(func(r rune) rune {
		if r == unicode.ReplacementChar || !unicode.IsPrint(r) {
			return ' '
		}
		return r
	}, strings.TrimSpace(strings.ToValidUTF8(text, " ")))
}
