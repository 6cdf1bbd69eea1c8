package gateway

import (
	"fmt"
	"slices"
	"strings"

	"github.com/bezoar-dev/bezoar/internal/faults"
	"github.com/bezoar-dev/bezoar/internal/gateway/h1"
	"github.com/bezoar-dev/bezoar/internal/gateway/urlpath"
)

// Edit changes header fields: it removes some, then it sets others, which replace all fields with their names.
type Edit struct {
	Set    []Header
	Remove []string
}

// Header is one header field.
type Header struct{ Name, Value string }

// edit is a compiled [Edit].
type edit struct {
	set   []h1.Field
	lines []byte   // of set
	drop  []string // names of removed and set fields, in lower case
}

func newEdit(e Edit) edit {
	var out edit
	for _, h := range e.Set {
		out.set = append(out.set, h1.Field{Name: h.Name, Value: h.Value, Key: h1.KeyOf(h.Name)})
		out.lines = h1.AppendField(out.lines, h.Name, h.Value)
		out.drop = append(out.drop, h1.LowerName(h.Name))
	}
	for _, name := range e.Remove {
		out.drop = append(out.drop, h1.LowerName(name))
	}
	return out
}

// drops reports whether the field is removed.
func (e *edit) drops(name string) bool {
	for _, lower := range e.drop {
		if h1.SameName(name, lower) {
			return true
		}
	}
	return false
}

func (e *edit) apply(fields []h1.Field) []h1.Field {
	if len(e.drop) == 0 {
		return fields
	}
	fields = slices.DeleteFunc(fields, func(f h1.Field) bool { return e.drops(f.Name) })
	return append(fields, e.set...)
}

// faults returns the faults of an edit of a request, or of an answer.
func (e Edit) faults(what string) []error {
	var errs faults.List
	check := func(name string) {
		if !h1.Token(name) {
			errs = append(errs, fmt.Errorf("%s has %q, which is not a header", what, name))
		} else if !Editable(name) {
			errs = append(errs, fmt.Errorf("%s has %s, which only the gateway writes", what, name))
		}
	}
	for _, h := range e.Set {
		check(h.Name)
		errs.If(!h1.PlainText([]byte(h.Value)), "%s sets %s to a value that cannot be sent", what, h.Name)
	}
	for _, name := range e.Remove {
		check(name)
	}
	return errs
}

// Editable reports whether settings may set and remove the header field. They may not change fields that frame a message,
// end at a proxy, or are written by the gateway.
func Editable(name string) bool {
	switch h1.KeyOf(name) {
	case h1.Other, h1.ContentType, h1.Date, h1.IdempotencyKey, h1.OfProxies:
		return true
	default:
		return false
	}
}

// stripped returns the target for the worker, without the route's prefix.
func (r *route) stripped(target string) (string, bool) {
	if r.StripPrefix == "" {
		return target, false
	}
	path, query, asked := strings.Cut(target, "?")
	rest, ok := withoutPrefix(path, r.StripPrefix)
	if !ok {
		if rest, ok = withoutPrefix(urlpath.Resolve(path), r.StripPrefix); !ok {
			return target, false
		}
	}
	// Exactly one slash: a target that begins with two could be taken for a host.
	rest = "/" + strings.TrimLeft(rest, "/")
	if asked {
		rest += "?" + query
	}
	return rest, true
}

// withoutPrefix removes whole segments, in any case of letters.
func withoutPrefix(path, prefix string) (rest string, ok bool) {
	if len(path) < len(prefix) || !strings.EqualFold(path[:len(prefix)], prefix) {
		return path, false
	}
	rest = path[len(prefix):]
	return rest, rest == "" || rest[0] == '/'
}
