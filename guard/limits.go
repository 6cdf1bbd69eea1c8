package guard

import (
	"errors"
	"fmt"
	"slices"

	"github.com/bezoar-dev/bezoar/guard/cost"
	"github.com/bezoar-dev/bezoar/internal/faults"
)

// Action is what a rule does with a value beyond its limit.
type Action string

const (
	Off    Action = "off"    // nothing
	Report Action = "report" // the query goes on, and the finding is counted
	Cap    Action = "cap"    // the value is lowered in the query; what cannot be lowered is rejected
	Reject Action = "reject"
)

// weight orders actions by gravity.
func (a Action) weight() int {
	switch a {
	case Report:
		return 1
	case Cap:
		return 2
	case Reject:
		return 3
	case Off:
	}
	return 0
}

// Limits is what queries may cost. Rules lie over those of the Profile; the most
// specific one that is about a value decides.
type Limits struct {
	Name string // of the file; in findings

	// Profile is what holds where no rule says otherwise; "" is ProfileDefault.
	Profile Profile

	// Dial multiplies all limits; 0 counts as 1.
	Dial float64
	// LoadFloor is what the limits are multiplied by, beside Dial, under full
	// pressure; 0 counts as 1: load changes nothing.
	LoadFloor float64

	// ReportOnly rejects and caps nothing, and says what it would have done.
	ReportOnly bool

	Classes []Class
	Rules   []Rule

	// DeniedFunctions are names of SQL functions beside the built-in ones.
	DeniedFunctions []string

	// Assume is what is taken for granted of fields and indices without hints.
	Assume cost.Defaults
}

// Class is callers with limits of their own. Callers belong to the class with
// the most conditions that all match, then the one with the longest patterns.
type Class struct {
	Name     string
	Match    Match
	Inherits string // another class, whose rules apply where this has none
	Dial     float64
	// ReportOnly, as in Limits, for this class and those that inherit from it.
	ReportOnly bool
}

// Match is conditions on a caller. Each that is given must match with one of
// its patterns, in which * is any text and ? any one character. A class
// without conditions is only chosen by name.
type Match struct {
	OpaqueID []string // X-Opaque-Id
	APIKey   []string // the key's id, never its secret
	User     []string
	Header   []string // "X-Team: search-*"
}

// Rule is a limit on one predictor.
type Rule struct {
	Predictor cost.Predictor
	Limit     float64 // values above it; math.Inf(1) is no limit
	Action    Action
	Class     string // "" is all
	Index     string // pattern of indices or tables; "" is all
	Kind      Kind   // "" is all
	Where     string // file:line, in findings
}

// The bounds of Limits.
const (
	MaxClasses = 200
	MaxRules   = 1000
	MaxDial    = 1000
	maxInherit = 8 // classes in a row
)

// Validate joins every fault.
func (l Limits) Validate() error {
	var errs faults.List
	if l.Profile != "" && !slices.Contains(Profiles(), l.Profile) {
		errs.Add("Profile is %q, want one of %v", l.Profile, Profiles())
	}
	errs.If(!(l.Dial >= 0 && l.Dial <= MaxDial), "Dial is %v, want 0 to %d", l.Dial, MaxDial)
	errs.If(!(l.LoadFloor >= 0 && l.LoadFloor <= 1), "LoadFloor is %v, want 0 to 1", l.LoadFloor)
	errs.If(len(l.Classes) > MaxClasses, "Classes has %d, more than %d", len(l.Classes), MaxClasses)
	errs.If(len(l.Rules) > MaxRules, "Rules has %d, more than %d", len(l.Rules), MaxRules)
	seen := map[string]bool{}
	for i, c := range l.Classes {
		switch {
		case c.Name == "":
			errs.Add("Classes[%d].Name is empty", i)
		case seen[c.Name]:
			errs.Add("Classes[%d].Name is %q, which another class has", i, c.Name)
		case !(c.Dial >= 0 && c.Dial <= MaxDial):
			errs.Add("Classes[%d].Dial is %v, want 0 to %d", i, c.Dial, MaxDial)
		}
		seen[c.Name] = true
	}
	for i, c := range l.Classes {
		if c.Inherits != "" {
			if _, err := l.lineage(c.Name); err != nil {
				errs.Add("Classes[%d].Inherits: %w", i, err)
			}
		}
	}
	for i, r := range l.Rules {
		if err := r.validate(seen); err != nil {
			errs.Add("Rules[%d].%w", i, err)
		}
	}
	return errors.Join(errs...)
}

func (r Rule) validate(classes map[string]bool) error {
	switch {
	case !slices.Contains(cost.Predictors(), r.Predictor):
		return fmt.Errorf("Predictor is %v", r.Predictor)
	case !(r.Limit >= 0):
		return fmt.Errorf("Limit is %v, want 0 or more", r.Limit)
	case r.Action != Off && r.Action.weight() == 0:
		return fmt.Errorf("Action is %q, want reject, cap, report or off", r.Action)
	case r.Class != "" && !classes[r.Class]:
		return fmt.Errorf("Class is %q, which does not exist", r.Class)
	case r.Kind != "" && r.Kind.index() < 0:
		return fmt.Errorf("Kind is %q, want one of %v", r.Kind, Kinds())
	}
	return nil
}

// HasClass reports whether there is a class with the name.
func (l Limits) HasClass(name string) bool {
	return slices.ContainsFunc(l.Classes, func(c Class) bool { return c.Name == name })
}

// lineage is the class and those it inherits from, nearest first.
func (l Limits) lineage(name string) ([]Class, error) {
	var line []Class
	for next := name; next != ""; {
		i := slices.IndexFunc(l.Classes, func(c Class) bool { return c.Name == next })
		switch {
		case i < 0:
			return nil, fmt.Errorf("there is no class %q", next)
		case len(line) == maxInherit:
			return nil, fmt.Errorf("class %q inherits in a circle, or over more than %d classes", name, maxInherit)
		}
		line = append(line, l.Classes[i])
		next = l.Classes[i].Inherits
	}
	return line, nil
}
