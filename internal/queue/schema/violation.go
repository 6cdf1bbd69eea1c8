package schema

import (
	"encoding/json"
	"fmt"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"github.com/santhosh-tekuri/jsonschema/v6"
	"github.com/santhosh-tekuri/jsonschema/v6/kind"
	"golang.org/x/text/language"
	"golang.org/x/text/message"
)

// maxText is the most bytes of paths and messages.
const maxText = 200

// Violation is the first fault of a body in the order of paths.
type Violation struct {
	Rule    string // the keyword of the schema; or json, depth, size, number, cost, schema
	Path    string // the faulty value: $.items[3].id
	Where   string // the same for all elements of an array: $.items[*].id
	Message string // without values of the body
}

func (v *Violation) Error() string { return v.Rule + " at " + v.Path + ": " + v.Message }

// violation chooses the violation to report: the first place, then the first keyword, so that equal bodies give equal
// violations.
func violation(e *jsonschema.ValidationError, doc any) *Violation {
	first := leaf(e)
	v := &Violation{Rule: rule(first), Message: bound(say(first))}
	v.Path, v.Where = path(doc, first.InstanceLocation)
	return v
}

// leaf returns the error inside errors that only group others. For anyOf and oneOf it is unknown which alternative was
// meant, so it stops there.
func leaf(e *jsonschema.ValidationError) *jsonschema.ValidationError {
	switch e.ErrorKind.(type) {
	case *kind.Schema, *kind.Group, *kind.AllOf, *kind.Reference:
	default:
		return e
	}
	var first *jsonschema.ValidationError
	for _, cause := range e.Causes {
		if l := leaf(cause); first == nil || before(l, first) {
			first = l
		}
	}
	if first == nil {
		return e
	}
	return first
}

func before(a, b *jsonschema.ValidationError) bool {
	if c := slices.CompareFunc(a.InstanceLocation, b.InstanceLocation, compareToken); c != 0 {
		return c < 0
	}
	return rule(a) < rule(b)
}

// compareToken sorts indexes by their number.
func compareToken(a, b string) int {
	if len(a) != len(b) && isIndex(a) && isIndex(b) {
		return len(a) - len(b)
	}
	return strings.Compare(a, b)
}

func isIndex(s string) bool {
	return s != "" && strings.Trim(s, "0123456789") == ""
}

func rule(e *jsonschema.ValidationError) string {
	if keywords := e.ErrorKind.KeywordPath(); len(keywords) > 0 {
		return keywords[0]
	}
	if _, ok := e.ErrorKind.(*kind.RefCycle); ok {
		return "$ref"
	}
	return "false"
}

// say describes a violation without content of the body.
func say(e *jsonschema.ValidationError) string {
	switch k := e.ErrorKind.(type) {
	case *kind.FalseSchema:
		return "nothing is allowed here"
	case *kind.Pattern:
		return fmt.Sprintf("does not match %q", k.Want)
	case *kind.Format:
		return "is no " + k.Want
	case *kind.AdditionalProperties:
		return fmt.Sprintf("has %d properties that are not allowed", len(k.Properties))
	case *kind.PropertyNames:
		return "has a property whose name is not allowed"
	case *kind.Required:
		slices.Sort(k.Missing)
	}
	return e.ErrorKind.LocalizedString(message.NewPrinter(language.English))
}

// path formats a location as a JSON path. Only the document distinguishes an index from a name; without one, all tokens are
// names.
func path(doc any, tokens []string) (exact, general string) {
	var one, all strings.Builder
	one.WriteByte('$')
	all.WriteByte('$')
	for _, t := range tokens {
		switch v := doc.(type) {
		case []any:
			i, err := strconv.Atoi(t)
			if err != nil || i < 0 || i >= len(v) {
				return bound(one.String()), bound(all.String())
			}
			doc = v[i]
			one.WriteString("[" + t + "]")
			all.WriteString("[*]")
			continue
		case map[string]any:
			doc = v[t]
		}
		name := "." + t
		if !plain.MatchString(t) {
			quoted, _ := json.Marshal(t)
			name = "[" + string(quoted) + "]"
		}
		one.WriteString(name)
		all.WriteString(name)
	}
	return bound(one.String()), bound(all.String())
}

var plain = regexp.MustCompile(`^[$A-Za-z_][A-Za-z0-9_$-]*$`)

func bound(s string) string {
	if len(s) <= maxText {
		return s
	}
	return strings.ToValidUTF8(s[:maxText], "") + "…"
}

// walk checks that a document is within the limits.
type walk struct {
	values  int // left
	schemas int // objects and booleans left; negative: not counted
}

func (w *walk) visit(v any, depth int) *Violation {
	refuse := func(rule, format string, args ...any) *Violation {
		return &Violation{Rule: rule, Path: "$", Where: "$", Message: fmt.Sprintf(format, args...)}
	}
	if depth > MaxDepth {
		return refuse("depth", "nests deeper than %d", MaxDepth)
	}
	if w.values--; w.values < 0 {
		return refuse("size", "has more than %d values", MaxValues)
	}
	switch v := v.(type) {
	case json.Number:
		if !modest(string(v)) {
			return refuse("number", "has a number beyond %d digits or the power of ten %d", MaxDigits, MaxDigits)
		}
	case bool:
		return w.schema()
	case []any:
		for _, e := range v {
			if wrong := w.visit(e, depth+1); wrong != nil {
				return wrong
			}
		}
	case map[string]any:
		if wrong := w.schema(); wrong != nil {
			return wrong
		}
		for _, e := range v {
			if wrong := w.visit(e, depth+1); wrong != nil {
				return wrong
			}
		}
	}
	return nil
}

func (w *walk) schema() *Violation {
	if w.schemas == 0 {
		return &Violation{Rule: "size", Path: "$", Where: "$", Message: fmt.Sprintf("has more than %d objects and booleans", MaxSubschemas)}
	}
	w.schemas--
	return nil
}

// modest reports whether a number is small enough for exact arithmetic.
func modest(n string) bool {
	digits, power, has := strings.Cut(strings.ToLower(n), "e")
	if len(digits) > MaxDigits {
		return false
	}
	if !has {
		return true
	}
	p, err := strconv.Atoi(power)
	return err == nil && p >= -MaxDigits && p <= MaxDigits
}
