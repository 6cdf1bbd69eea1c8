package queue

import (
	"bytes"
	"slices"
	"strings"
)

// maxSought bounds each text of a [Selection] that is searched in letters.
const maxSought = 1024

// ByContent reports whether the selection depends on the content of letters. A store must
// then read them one by one.
func (s *Selection) ByContent() bool { return s.Body != "" || s.Reason != "" || len(s.Attributes) > 0 }

// Holds reports whether the selection matches a letter with this body, these attributes
// (including those of fronts) and this reason.
func (s *Selection) Holds(body []byte, reason string, attributes ...map[string]Attribute) bool {
	if !bytes.Contains(body, []byte(s.Body)) || !strings.Contains(reason, s.Reason) {
		return false
	}
	for name, value := range s.Attributes {
		if !has(attributes, name, value) {
			return false
		}
	}
	return true
}

// has reports whether an attribute has exactly this text as its value.
func has(attributes []map[string]Attribute, name, value string) bool {
	return slices.ContainsFunc(attributes, func(some map[string]Attribute) bool {
		a, ok := some[name]
		return ok && a.String == value && len(a.Binary) == 0
	})
}

func (s *Selection) validateContent() error {
	if len(s.Body) > maxSought || len(s.Reason) > maxSought || !plain(s.Body, s.Reason) {
		return invalid("Selection: Body or Reason is longer than %d bytes, holds a NUL, or is no UTF-8", maxSought)
	}
	if len(s.Attributes) > MaxAttributes {
		return invalid("Selection.Attributes: %d are more than %d", len(s.Attributes), MaxAttributes)
	}
	for name, value := range s.Attributes {
		if name == "" || len(name) > 256 || len(value) > maxSought || !plain(name, value) {
			return invalid("Selection.Attributes: %.40q has no name or one above 256 bytes, a value above %d bytes, a NUL, or is no UTF-8", name, maxSought)
		}
	}
	return nil
}
