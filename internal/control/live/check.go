package live

import (
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"math"
	"slices"
	"strings"
	"time"
	"unicode"

	"github.com/bezoar-dev/bezoar/internal/faults"
)

// Limits of texts, in bytes.
const (
	maxName  = 255 // routes, callers, plans, nodes, actors
	maxNote  = 1000
	maxError = 2000
	maxID    = 64
)

// maxFactor is the largest factor of an override.
const maxFactor = 1000

// Sum returns the [Version.Sum] of text.
func Sum(text []byte) string {
	sum := sha256.Sum256(text)
	return hex.EncodeToString(sum[:])
}

// Validate returns one error that names every field that a store does not accept. The store
// sets Number and At.
func (v Version) Validate() error {
	f := flaws{}
	f.text("By", v.By, 1, maxName)
	f.text("Note", v.Note, 0, maxNote)
	f.If(v.Source != FromFile && v.Source != FromAPI && v.Source != FromRollback, "Source: %.40q is not %s, %s or %s", v.Source, FromFile, FromAPI, FromRollback)
	if len(v.Text) > MaxText {
		f.Add("Text: has %d bytes, more than %d", len(v.Text), MaxText)
	} else if v.Sum != Sum(v.Text) {
		f.Add("Sum: %.80q does not match the text", v.Sum)
	}
	return f.join()
}

// Validate returns one error that names every invalid field. The store sets Since and
// Until.
func (o Override) Validate() error {
	f := flaws{}
	f.If(!validID(o.ID), "ID: %.80q is not 1 to %d printable ASCII characters", o.ID, maxID)
	f.text("Route", o.Route, 0, maxName)
	f.text("Caller", o.Caller, 0, maxName)
	f.text("Plan", o.Plan, 0, maxName)
	f.text("Class", o.Class, 0, maxName)
	f.text("Predictor", o.Predictor, 0, maxName)
	f.text("Index", o.Index, 0, maxName)
	f.text("By", o.By, 1, maxName)
	f.text("Reason", o.Reason, 0, maxNote)
	o.checkWhat(&f)
	return f.join()
}

func (o Override) checkWhat(f *flaws) {
	factor, value := false, false
	switch o.What {
	case Rate, Concurrency, Guard:
		factor = true
		f.If(math.IsNaN(o.Factor) || o.Factor <= 0 || o.Factor > maxFactor, "Factor: %v is not above 0 and at most %d; %s refuses everything", o.Factor, maxFactor, Deny)
	case Priority:
		value = true
		f.text("Value", o.Value, 1, maxName)
	case GuardLimit:
		value = true
		f.text("Value", o.Value, 1, maxName)
	case GuardReport:
	case Breaker:
		value = true
		f.If(o.Value != "open" && o.Value != "closed", "Value: %.40q is not open or closed", o.Value)
	case Deny:
		f.If(o.Route == "" && o.Caller == "" && o.Plan == "", "What: %s needs a route, a caller or a plan: it would refuse everything", Deny)
	default:
		f.Add("What: %.40q is not one of %s", o.What, whats)
		return
	}
	o.checkQueries(f)
	f.If(!factor && o.Factor != 0, "Factor: %s does not have a factor", o.What)
	f.If(!value && o.Value != "", "Value: %s does not have a value", o.What)
}

const whats = Rate + ", " + Concurrency + ", " + Priority + ", " + Deny + ", " + Breaker + ", " + Guard + ", " + GuardLimit + " and " + GuardReport

// ForQueries reports whether o changes a guard of queries.
func (o Override) ForQueries() bool {
	return o.What == Guard || o.What == GuardLimit || o.What == GuardReport
}

// checkQueries checks the fields for overrides of guards.
func (o Override) checkQueries(f *flaws) {
	f.If(!o.ForQueries() && o.Class != "", "Class: %s does not have a class", o.What)
	switch {
	case o.What != GuardLimit && (o.Predictor != "" || o.Index != ""):
		f.Add("Predictor, Index: %s does not have them", o.What)
	case o.What == GuardLimit && o.Predictor == "":
		f.Add("Predictor: is empty")
	}
}

// CheckOverride returns an error if a store does not accept o for ttl.
func CheckOverride(o Override, ttl time.Duration) error {
	err := o.Validate()
	if ttl < time.Millisecond || ttl > MaxOverride {
		err = errors.Join(err, fmt.Errorf("Until: %v from now is not between 1ms and %v", ttl.Round(time.Millisecond), MaxOverride))
	}
	return err
}

// SameTarget reports whether o and other have the same target, so that only one of them can
// be in force.
func (o Override) SameTarget(other Override) bool {
	return o.Route == other.Route && o.Caller == other.Caller && o.Plan == other.Plan && o.What == other.What &&
		o.Class == other.Class && o.Predictor == other.Predictor && o.Index == other.Index
}

// CheckLimit returns an error if limit versions cannot be listed.
func CheckLimit(limit int) error {
	if limit < 1 || limit > MaxVersions {
		return fmt.Errorf("list versions: limit: %d is not between 1 and %d", limit, MaxVersions)
	}
	return nil
}

// Validate returns one error that names every field that a store does not accept.
func (n Node) Validate() error {
	f := flaws{}
	f.text("Name", n.Name, 1, maxName)
	f.text("Error", n.Error, 0, maxError)
	f.If(n.Sum != "" && !isSum(n.Sum), "Sum: %.80q is not a hexadecimal SHA-256", n.Sum)
	f.If(n.Running < 0 || n.Wanted < 0 || n.Overrides < 0, "Running, Wanted, Overrides: %d, %d, %d: must not be negative", n.Running, n.Wanted, n.Overrides)
	y := n.Since.UTC().Year()
	f.If(y < 1 || y > 9999, "Since: year %d is not between 1 and 9999", y)
	return f.join()
}

// flaws collects errors.
type flaws struct{ faults.List }

func (f *flaws) join() error { return errors.Join(f.List...) }

// text checks that s is valid Unicode of a length from least to most, without control
// characters except line breaks and tabs.
func (f *flaws) text(field, s string, least, most int) {
	switch {
	case len(s) < least:
		f.Add("%s: is empty", field)
	case len(s) > most:
		f.Add("%s: has %d bytes, more than %d", field, len(s), most)
	case cleaned(s, most) != s:
		f.Add("%s: %.80q is not Unicode without control characters", field, s)
	}
}

// cleaned returns s in a form that text accepts.
func cleaned(s string, most int) string {
	s = strings.Map(func(r rune) rune {
		if r == '\n' || r == '\t' || !unicode.IsControl(r) {
			return r
		}
		return unicode.ReplacementChar
	}, strings.ToValidUTF8(s, "\uFFFD"))
	if len(s) > most {
		s = strings.ToValidUTF8(s[:most], "") // without a partial character
	}
	return s
}

func validID(s string) bool {
	if s == "" || len(s) > maxID {
		return false
	}
	return !slices.ContainsFunc([]byte(s), func(c byte) bool { return c <= ' ' || c > '~' })
}

func isSum(s string) bool {
	raw, err := hex.DecodeString(s)
	return err == nil && len(raw) == sha256.Size
}
