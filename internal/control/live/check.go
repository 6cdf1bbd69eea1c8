package live

import (
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"math"
	"strings"
	"time"
	"unicode"

	"github.com/bezoar-dev/bezoar/internal/faults"
)

// Bounds of what people and nodes write, in bytes.
const (
	maxName  = 255 // routes, callers, plans, nodes, who
	maxNote  = 1000
	maxError = 2000
	maxID    = 64
)

// maxFactor bounds how much an override may loosen.
const maxFactor = 1000

// Sum returns what [Version.Sum] is of text.
func Sum(text []byte) string {
	sum := sha256.Sum256(text)
	return hex.EncodeToString(sum[:])
}

// Validate reports every field that a store does not accept. Number and At are
// the store's own.
func (v Version) Validate() error {
	f := flaws{}
	f.text("By", v.By, 1, maxName)
	f.text("Note", v.Note, 0, maxNote)
	f.If(v.Source != FromFile && v.Source != FromAPI && v.Source != FromRollback, "Source: %.40q is not %s, %s or %s", v.Source, FromFile, FromAPI, FromRollback)
	if len(v.Text) > MaxText {
		f.Add("Text: has %d bytes, more than %d", len(v.Text), MaxText)
	} else if v.Sum != Sum(v.Text) {
		f.Add("Sum: %.80q is not that of the text", v.Sum)
	}
	return f.join()
}

// Validate reports every field that is out of bounds. Since and Until are the
// store's own.
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
		f.If(o.Value != "open" && o.Value != "closed", "Value: %.40q is neither open nor closed", o.Value)
	case Deny:
		f.If(o.Route == "" && o.Caller == "" && o.Plan == "", "What: %s needs a route, a caller or a plan: it would refuse everything", Deny)
	default:
		f.Add("What: %.40q is none of %s", o.What, whats)
		return
	}
	o.checkQueries(f)
	f.If(!factor && o.Factor != 0, "Factor: %s has none", o.What)
	f.If(!value && o.Value != "", "Value: %s has none", o.What)
}

const whats = Rate + ", " + Concurrency + ", " + Priority + ", " + Deny + ", " + Breaker + ", " + Guard + ", " + GuardLimit + " and " + GuardReport

// ForQueries says whether o changes what a guard of queries does.
func (o Override) ForQueries() bool {
	return o.What == Guard || o.What == GuardLimit || o.What == GuardReport
}

// checkQueries checks what only overrides of guards have.
func (o Override) checkQueries(f *flaws) {
	f.If(!o.ForQueries() && o.Class != "", "Class: %s has none", o.What)
	switch {
	case o.What != GuardLimit && (o.Predictor != "" || o.Index != ""):
		f.Add("Predictor, Index: %s has none", o.What)
	case o.What == GuardLimit && o.Predictor == "":
		f.Add("Predictor: is empty")
	}
}

// CheckOverride says whether a store accepts o for ttl.
func CheckOverride(o Override, ttl time.Duration) error {
	err := o.Validate()
	if ttl < time.Millisecond || ttl > MaxOverride {
		err = errors.Join(err, fmt.Errorf("Until: %v from now is not within 1ms to %v", ttl.Round(time.Millisecond), MaxOverride))
	}
	return err
}

// SameTarget says whether o and other are about the same, so that only one of
// them can be in force.
func (o Override) SameTarget(other Override) bool {
	return o.Route == other.Route && o.Caller == other.Caller && o.Plan == other.Plan && o.What == other.What &&
		o.Class == other.Class && o.Predictor == other.Predictor && o.Index == other.Index
}

// CheckLimit says whether so many versions can be listed.
func CheckLimit(limit int) error {
	if limit < 1 || limit > MaxVersions {
		return fmt.Errorf("list versions: limit: %d is not within 1 to %d", limit, MaxVersions)
	}
	return nil
}

// Validate reports every field that a store does not accept.
func (n Node) Validate() error {
	f := flaws{}
	f.text("Name", n.Name, 1, maxName)
	f.text("Error", n.Error, 0, maxError)
	f.If(n.Sum != "" && !isSum(n.Sum), "Sum: %.80q is no SHA-256 in hex", n.Sum)
	f.If(n.Running < 0 || n.Wanted < 0 || n.Overrides < 0, "Running, Wanted, Overrides: %d, %d, %d: none is negative", n.Running, n.Wanted, n.Overrides)
	y := n.Since.UTC().Year()
	f.If(y < 1 || y > 9999, "Since: year %d is not within 1 to 9999", y)
	return f.join()
}

// flaws collects what is wrong.
type flaws struct{ faults.List }

func (f *flaws) join() error { return errors.Join(f.List...) }

// text asks for valid Unicode of some length without control characters, save
// line breaks and tabs.
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

// cleaned makes s something that text accepts.
func cleaned(s string, most int) string {
	s = strings.Map(func(r rune) rune {
		if r == '\n' || r == '\t' || !unicode.IsControl(r) {
			return r
		}
		return unicode.ReplacementChar
	}, strings.ToValidUTF8(s, "\uFFFD"))
	if len(s) > most {
		s = strings.ToValidUTF8(s[:most], "") // no half a rune
	}
	return s
}

func validID(s string) bool {
	if s == "" || len(s) > maxID {
		return false
	}
	for _, c := range []byte(s) {
		if c <= ' ' || c > '~' {
			return false
		}
	}
	return true
}

func isSum(s string) bool {
	raw, err := hex.DecodeString(s)
	return err == nil && len(raw) == sha256.Size
}
