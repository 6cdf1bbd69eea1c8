package schema

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/santhosh-tekuri/jsonschema/v6"
)

// costs counts, for each subschema, how many subschemas a value may be checked against.
type costs struct {
	of      map[*jsonschema.Schema]int
	pending []*jsonschema.Schema // of other values
}

// checkCosts refuses a schema in which references multiply: each of two alternatives refers to two others, and so on.
func checkCosts(root *jsonschema.Schema) error {
	c := costs{of: map[*jsonschema.Schema]int{}, pending: []*jsonschema.Schema{root}}
	for len(c.pending) > 0 {
		s := c.pending[len(c.pending)-1]
		c.pending = c.pending[:len(c.pending)-1]
		if c.count(s) > MaxEvaluated {
			_, at, _ := strings.Cut(s.Location, "#")
			return fmt.Errorf("the schema at #%.200s: one value may have to be checked against more than %d subschemas, because references multiply: refer to each alternative once", at, MaxEvaluated)
		}
	}
	return nil
}

// count returns at most MaxEvaluated+1. A subschema that refers to itself counts once: a check finds the circle.
func (c *costs) count(s *jsonschema.Schema) int {
	if n, ok := c.of[s]; ok {
		return n
	}
	c.of[s] = 0
	n := 1
	for _, sub := range same(s) {
		if n = min(n+c.count(sub), MaxEvaluated+1); n > MaxEvaluated {
			break
		}
	}
	c.of[s] = n
	for _, sub := range within(s) {
		if _, ok := c.of[sub]; !ok {
			c.pending = append(c.pending, sub)
		}
	}
	return n
}

// same returns the subschemas of s that apply to the same value.
func same(s *jsonschema.Schema) []*jsonschema.Schema {
	list := append(append(append([]*jsonschema.Schema(nil), s.AllOf...), s.AnyOf...), s.OneOf...)
	list = slices.AppendSeq(list, maps.Values(s.DependentSchemas))
	if s.DynamicRef != nil {
		list = append(list, s.DynamicRef.Ref)
	}
	return present(append(list, s.Ref, s.Not, s.If, s.Then, s.Else))
}

// within returns the subschemas of s that apply to parts of the value.
func within(s *jsonschema.Schema) []*jsonschema.Schema {
	list := append([]*jsonschema.Schema(nil), s.PrefixItems...)
	list = slices.AppendSeq(list, maps.Values(s.Properties))
	list = slices.AppendSeq(list, maps.Values(s.PatternProperties))
	if sub, ok := s.AdditionalProperties.(*jsonschema.Schema); ok {
		list = append(list, sub)
	}
	return present(append(list, s.PropertyNames, s.UnevaluatedProperties, s.Items2020, s.Contains, s.UnevaluatedItems))
}

func present(list []*jsonschema.Schema) []*jsonschema.Schema {
	kept := list[:0]
	for _, s := range list {
		if s != nil {
			kept = append(kept, s)
		}
	}
	return kept
}
