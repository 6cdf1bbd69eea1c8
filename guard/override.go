package guard

import (
	"errors"
	"fmt"
	"math"
	"slices"
	"strings"
	"time"

	"github.com/bezoar-dev/bezoar/guard/cost"
	"github.com/bezoar-dev/bezoar/internal/faults"
)

// Override changes the limits for some queries, while [Guard.SetOverrides] has it in force.
// Exactly one of Dial, ReportOnly and Predictor must be set.
type Override struct {
	ID    string // shown in verdicts and findings
	Class string // includes classes that inherit from it; empty: all
	// Caller is a pattern for Query.Caller; empty: all. It must be empty if Predictor is
	// set, because rules belong to classes.
	Caller string

	Dial       float64 // multiplies all limits, in addition to all other dials
	ReportOnly bool    // turns rejections and caps into reports

	// Predictor is the predictor whose limit and action are replaced.
	Predictor cost.Predictor
	Limit     float64
	Action    Action
	Index     string // pattern of indices or tables; empty: all
}

// MaxOverrides is the maximum number of overrides of a guard.
const MaxOverrides = 1000

// Validate returns one error that names every invalid field, or nil. A class that does not
// exist in the limits is valid, because other limits may have it.
func (o Override) Validate() error {
	var errs faults.List
	errs.If(o.ID == "", "ID is empty")
	errs.If(!(o.Dial >= 0 && o.Dial <= MaxDial), "Dial is %v, want above 0 and at most %d", o.Dial, MaxDial)
	changes := 0
	for _, has := range []bool{o.Dial != 0, o.ReportOnly, o.Predictor != cost.None} {
		if has {
			changes++
		}
	}
	errs.If(changes != 1, "%d of Dial, ReportOnly and Predictor are set, want one", changes)
	switch {
	case o.Predictor != cost.None:
		if err := (Rule{Predictor: o.Predictor, Limit: o.Limit, Action: o.Action}).validate(nil); err != nil {
			errs = append(errs, err)
		}
		errs.If(o.Caller != "", "Caller is %q: a limit is for a class", o.Caller)
	case o.Index != "" || o.Action != "" || o.Limit != 0:
		errs.Add("Index, Limit and Action need a Predictor")
	}
	return errors.Join(errs...)
}

// ParseLimit parses the limit and action of an override, such as "5000", "64k report",
// "unbounded" or "off". The default action is reject.
func ParseLimit(text string) (limit float64, action Action, err error) {
	if text == string(Off) {
		return math.Inf(1), Off, nil
	}
	word, after, _ := strings.Cut(text, " ")
	switch action = Action(after); {
	case after == "":
		action = Reject
	case action != Reject && action != Cap && action != Report:
		return 0, "", fmt.Errorf("%.40q is not an action: write reject, cap or report after the limit", after)
	}
	if word == "unbounded" {
		return math.Inf(1), action, nil
	}
	if f, ok := number(word); ok {
		return f, action, nil
	}
	if d, err := time.ParseDuration(word); err == nil && d >= 0 {
		return d.Seconds(), action, nil
	}
	return 0, "", fmt.Errorf("%.40q is not a limit: write a number such as 10000, 64k or 1e6, a time such as 5m, unbounded or off", word)
}

// SetOverrides replaces the overrides, from the next query on. The version of the limits
// does not change; verdicts name the overrides in effect. If an override is invalid,
// nothing changes.
func (g *Guard) SetOverrides(all []Override) error {
	var errs faults.List
	errs.If(len(all) > MaxOverrides, "%d overrides exceed the limit of %d", len(all), MaxOverrides)
	for _, o := range all {
		errs.In(o.Validate(), "%.80s", o.ID)
	}
	g.update.Lock()
	defer g.update.Unlock()
	old := g.policy.Load()
	if slices.Equal(old.overrides, all) {
		return nil
	}
	err := errors.Join(errs...)
	if err == nil {
		var p *policy
		if p, err = compile(old.limits, old.version, slices.Clone(all)); err == nil {
			g.policy.Store(p)
			return nil
		}
	}
	return fmt.Errorf("override limits: %w", err)
}

// Overrides returns the overrides in force.
func (g *Guard) Overrides() []Override { return slices.Clone(g.policy.Load().overrides) }

// ReportOnly reports whether queries of the class or the caller are only reported, because
// of the limits or an override.
func (g *Guard) ReportOnly(class, caller string) bool {
	c := g.policy.Load().class(class)
	return c.reportOnly || c.forCaller(caller).reportOnly
}

// change is the effect of overrides on a class or a caller.
type change struct {
	dial       float64 // product; 0 means 1
	reportOnly bool
	note       string // IDs of the overrides
}

func (l *change) add(o *Override) {
	l.join(change{dial: o.Dial, reportOnly: o.ReportOnly, note: o.ID})
}

func (l *change) join(m change) {
	l.dial = times(l.dial) * times(m.dial)
	l.reportOnly = l.reportOnly || m.reportOnly
	l.note = joinNotes(l.note, m.note)
}

func times(dial float64) float64 {
	if dial == 0 {
		return 1
	}
	return dial
}

// maxOverrideNote is the maximum length of the overrides' IDs in a verdict.
const maxOverrideNote = 200

func joinNotes(a, b string) string {
	switch {
	case a == "" || b == "":
		return a + b
	case strings.HasSuffix(a, "…"):
		return a
	case len(a)+len(b) > maxOverrideNote:
		return a + ", …"
	}
	return a + ", " + b
}

// patterned is a change for the callers that match a pattern.
type patterned struct {
	pattern string
	change
}

// override applies overrides to a class. near contains the class itself and the classes
// that it inherits from.
func (c *classPolicy) override(all []Override, near map[string]int) {
	for i := range all {
		o := &all[i]
		if _, ok := near[o.Class]; !ok {
			continue
		}
		switch {
		case o.Predictor != cost.None:
			r := Rule{Predictor: o.Predictor, Limit: o.Limit, Action: o.Action, Class: o.Class, Index: o.Index, Where: "override " + o.ID}
			for k, kind := range Kinds() {
				c.tables[k].add(r, kind, near, fromOverride)
			}
			c.whole.note = joinNotes(c.whole.note, o.ID)
		case o.Caller == "":
			c.whole.add(o)
		case wild(o.Caller):
			c.patterns = append(c.patterns, patterned{pattern: o.Caller})
			c.patterns[len(c.patterns)-1].add(o)
		default:
			if c.callers == nil {
				c.callers = map[string]change{}
			}
			l := c.callers[o.Caller]
			l.add(o)
			c.callers[o.Caller] = l
		}
	}
	c.dial *= times(c.whole.dial)
	c.reportOnly = c.reportOnly || c.whole.reportOnly
}

// forCaller returns the change for one caller, in addition to the change for its class.
func (c *classPolicy) forCaller(caller string) change {
	l := c.callers[caller]
	for i := range c.patterns {
		if caller != "" && glob(c.patterns[i].pattern, caller) {
			l.join(c.patterns[i].change)
		}
	}
	return l
}
