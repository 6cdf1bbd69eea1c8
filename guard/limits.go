package guard

import (
	"errors"
	"fmt"
	"slices"

	"github.com/bezoar-dev/bezoar/guard/cost"
	"github.com/bezoar-dev/bezoar/internal/faults"
)

// Action is what a rule does with a value above its limit.
type Action string

const (
	Off    Action = "off"    // the rule does nothing
	Report Action = "report" // the query is passed on, and the finding is counted
	Cap    Action = "cap"    // the value is lowered in the query, or the query is rejected if that is impossible
	Reject Action = "reject"
)

// weight orders actions by severity.
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

// Limits defines what queries may cost. Rules take precedence over those of the Profile. The
// most specific rule for a value decides.
type Limits struct {
	Name string // of the file; appears in findings

	// Profile selects the default rules; "" means ProfileDefault.
	Profile Profile

	// Dial multiplies all limits; 0 means 1.
	Dial float64
	// LoadFloor is the factor for the limits under full load, in addition to Dial. It
	// ranges from 0 to 1; 0 means 1: load has no effect.
	LoadFloor float64

	// ReportOnly turns rejections and caps into reports of what would have happened.
	ReportOnly bool

	Classes []Class
	Rules   []Rule

	// DeniedFunctions lists SQL functions to deny, in addition to the built-in list.
	DeniedFunctions []string

	// Assume holds the assumptions about fields and indices without hints.
	Assume cost.Defaults
}

// Class is a group of callers with limits of their own. See [Guard.Classify] for how a
// caller is assigned.
type Class struct {
	Name     string
	Match    Match
	Inherits string // another class, whose rules apply if this class has none for a predictor
	Dial     float64
	// ReportOnly is Limits.ReportOnly for this class and the classes that inherit from it.
	ReportOnly bool
}

// Match holds conditions on a caller. Each non-empty condition must match one of its
// patterns: * matches any text and ? any one character. A class without conditions can only
// be selected by name.
type Match struct {
	OpaqueID []string // values of X-Opaque-Id
	APIKey   []string // ID of the key, never its secret
	User     []string
	Header   []string // "X-Team: search-*"
}

// Rule is a limit on one predictor.
type Rule struct {
	Predictor cost.Predictor
	Limit     float64 // the highest allowed value; math.Inf(1): no limit
	Action    Action
	Class     string // empty: all classes
	Index     string // pattern of indices or tables; empty: all
	Kind      Kind   // empty: all kinds
	Where     string // file:line; appears in findings
}

// Limits of a Limits value.
const (
	MaxClasses = 200
	MaxRules   = 1000
	MaxDial    = 1000
	maxInherit = 8 // length of an inheritance chain
)

// Validate returns one error that names every invalid field, or nil.
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
			errs.Add("Classes[%d].Name is %q, the name of another class", i, c.Name)
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

// HasClass reports whether there is a class with this name.
func (l Limits) HasClass(name string) bool {
	return slices.ContainsFunc(l.Classes, func(c Class) bool { return c.Name == name })
}

// lineage returns the class and the classes that it inherits from, nearest first.
func (l Limits) lineage(name string) ([]Class, error) {
	var line []Class
	for next := name; next != ""; {
		i := slices.IndexFunc(l.Classes, func(c Class) bool { return c.Name == next })
		switch {
		case i < 0:
			return nil, fmt.Errorf("there is no class %q", next)
		case len(line) == maxInherit:
			return nil, fmt.Errorf("class %q inherits in a circle, or from more than %d classes", name, maxInherit)
		}
		line = append(line, l.Classes[i])
		next = l.Classes[i].Inherits
	}
	return line, nil
}
