package schema

import (
	"errors"
	"fmt"
	"regexp"
	"regexp/syntax"

	"github.com/santhosh-tekuri/jsonschema/v6"
)

// The limits of a check: a few steps for each value and each byte of the body, a minimum for small bodies, and about half a
// second in all. A step may use 170 bytes for errors until the check is over.
const (
	smallSteps = 20_000
	valueSteps = 20
	maxSteps   = 500_000
)

// stepsFor returns how many steps the check of a body may take.
func stepsFor(values, bytes int) int {
	return min(smallSteps+valueSteps*values+bytes, maxSteps)
}

// checker checks one body at a time.
type checker struct {
	schema *jsonschema.Schema
	most   int // steps of this check
	steps  int // left
}

// tooMuch is the panic of a check that has used all its steps: the library cannot be stopped otherwise.
type tooMuch struct{}

func (c *checker) spend(n int) {
	if c.steps -= n; c.steps < 0 {
		panic(tooMuch{})
	}
}

func (c *checker) check(doc any, steps int) (v *Violation) {
	defer func() {
		switch r := recover().(type) {
		case nil:
		case tooMuch:
			v = &Violation{Rule: "cost", Path: "$", Where: "$", Message: fmt.Sprintf("checking the body takes more than %d steps", c.most)}
		default:
			v = &Violation{Rule: "schema", Path: "$", Where: "$", Message: fmt.Sprintf("the body cannot be checked: %.200v", r)}
		}
	}()
	c.most, c.steps = steps, steps
	err := c.schema.Validate(doc)
	if err == nil {
		return nil
	}
	wrong, ok := errors.AsType[*jsonschema.ValidationError](err)
	if !ok {
		return &Violation{Rule: "schema", Path: "$", Where: "$", Message: bound(err.Error())}
	}
	return violation(wrong, doc)
}

// meter makes each subschema count its evaluations. The library evaluates this extension with every subschema that lists
// it.
func (c *checker) meter(_ *jsonschema.CompilerContext, object map[string]any) (jsonschema.SchemaExt, error) {
	m := meter{c: c, weight: 1}
	for _, list := range []string{"allOf", "anyOf", "oneOf", "prefixItems", "enum", "required"} {
		items, _ := object[list].([]any)
		m.weight += len(items)
	}
	if patterns, ok := object["patternProperties"].(map[string]any); ok {
		m.patterns = len(patterns)
	}
	return m, nil
}

type meter struct {
	c                *checker
	weight, patterns int
}

// Validate counts a step and reports no error. Deep nesting costs more, because every error contains the whole path.
func (m meter) Validate(ctx *jsonschema.ValidatorContext, v any) {
	n := m.weight
	switch v := v.(type) {
	case map[string]any:
		n += len(v) * (1 + m.patterns)
	case []any:
		n += len(v)
	}
	m.c.spend(n * (1 + len(ctx.ValueLocation())/8))
}

// pattern compiles a regular expression whose use is counted.
func (c *checker) pattern(text string) (jsonschema.Regexp, error) {
	if len(text) > MaxPattern {
		return nil, fmt.Errorf("the pattern has %d bytes, more than %d", len(text), MaxPattern)
	}
	re, err := regexp.Compile(text)
	if err != nil {
		return nil, err
	}
	size := len(text)
	if parsed, err := syntax.Parse(text, syntax.Perl); err == nil {
		if prog, err := syntax.Compile(parsed.Simplify()); err == nil {
			size = len(prog.Inst)
		}
	}
	return counted{re, c, size}, nil
}

type counted struct {
	*regexp.Regexp
	c    *checker
	size int // instructions
}

// MatchString counts the steps of the worst match of s.
func (r counted) MatchString(s string) bool {
	const perStep = 64 // instructions
	r.c.spend(1 + len(s)*r.size/perStep)
	return r.Regexp.MatchString(s)
}
