package schema

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strings"

	"github.com/santhosh-tekuri/jsonschema/v6"
	"github.com/santhosh-tekuri/jsonschema/v6/kind"
)

// The limits of schemas and bodies.
const (
	MaxBytes      = 64 << 10 // of a schema
	MaxDepth      = 128      // of a schema and of a body
	MaxSubschemas = 4096     // objects and booleans of a schema
	MaxPattern    = 1024     // bytes of one pattern
	MaxValues     = 100_000  // of a body
	MaxDigits     = 400      // of a number, and the largest power of ten
	MaxEvaluated  = 10_000   // subschemas that one value may be checked against

	maxIdle  = 4       // checkers kept for later checks
	maxLarge = 8 << 10 // bytes of a schema from which only one checker is kept
)

// base is the address of a schema without an $id. Nothing can be loaded from it.
const base = "https://schema.invalid/schema.json"

// Schema is a compiled schema. It is safe for concurrent use.
type Schema struct {
	doc  any
	idle chan *checker // one per concurrent check: each counts its steps
}

// Compile compiles a schema, or returns what is wrong with it and where.
func Compile(text string) (*Schema, error) {
	if len(text) > MaxBytes {
		return nil, fmt.Errorf("the schema has %d bytes, more than %d", len(text), MaxBytes)
	}
	doc, err := decode([]byte(text))
	if err != nil {
		return nil, fmt.Errorf("the schema is not JSON: %w", err)
	}
	bounds := walk{values: MaxBytes, schemas: MaxSubschemas}
	if v := bounds.visit(doc, 0); v != nil {
		return nil, fmt.Errorf("the schema at %s: %s", v.Path, v.Message)
	}
	keep := maxIdle
	if len(text) > maxLarge {
		keep = 1
	}
	s := &Schema{doc: doc, idle: make(chan *checker, keep)}
	c, err := s.compile()
	if err != nil {
		return nil, err
	}
	s.idle <- c
	return s, nil
}

// Check returns the first violation of a body, or nil.
func (s *Schema) Check(body []byte) *Violation {
	doc, err := decode(body)
	if err != nil {
		return &Violation{Rule: "json", Path: "$", Where: "$", Message: "the body is not JSON: " + bound(err.Error())}
	}
	bounds := walk{values: MaxValues, schemas: -1}
	if v := bounds.visit(doc, 0); v != nil {
		return v
	}
	c, err := s.take()
	if err != nil {
		return &Violation{Rule: "schema", Path: "$", Where: "$", Message: bound(err.Error())}
	}
	v := c.check(doc, stepsFor(MaxValues-bounds.values, len(body)))
	select {
	case s.idle <- c:
	default: // enough are kept
	}
	return v
}

func (s *Schema) take() (*checker, error) {
	select {
	case c := <-s.idle:
		return c, nil
	default:
		return s.compile()
	}
}

// decode parses one JSON text. Its errors name the line and column.
func decode(text []byte) (any, error) {
	d := json.NewDecoder(bytes.NewReader(text))
	d.UseNumber()
	var v any
	err := d.Decode(&v)
	if err == nil {
		if _, more := d.Token(); errors.Is(more, io.EOF) {
			return v, nil
		}
		return nil, fmt.Errorf("%s: something follows the value", place(text, d.InputOffset()))
	}
	if syntax, ok := errors.AsType[*json.SyntaxError](err); ok {
		return nil, fmt.Errorf("%s: %w", place(text, syntax.Offset), err)
	}
	if errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) {
		err = errors.New("it ends too early")
	}
	return nil, err
}

func place(text []byte, offset int64) string {
	before := text[:min(max(offset, 0), int64(len(text)))]
	line := bytes.Count(before, []byte("\n")) + 1
	column := len(before) - (bytes.LastIndexByte(before, '\n') + 1)
	return fmt.Sprintf("line %d, column %d", line, max(column, 1))
}

// refuse loads nothing.
type refuse struct{}

// Load returns an error.
func (refuse) Load(url string) (any, error) {
	return nil, fmt.Errorf("%.200q is somewhere else: a schema has to contain all that it refers to", url)
}

func (s *Schema) compile() (c *checker, err error) {
	c = &checker{}
	defer func() {
		if r := recover(); r != nil {
			c, err = nil, fmt.Errorf("the schema cannot be compiled: %.200v", r)
		}
	}()
	compiler := jsonschema.NewCompiler()
	compiler.DefaultDraft(jsonschema.Draft2020)
	compiler.UseLoader(refuse{})
	compiler.UseRegexpEngine(c.pattern)
	compiler.RegisterVocabulary(&jsonschema.Vocabulary{URL: "https://schema.invalid/vocabulary/cost", Compile: c.meter})
	compiler.AssertVocabs()
	if draft := draftOf(s.doc); draft != "" {
		return nil, fmt.Errorf("the schema at $.$schema: %.100q is not the draft 2020-12", draft)
	}
	if err := compiler.AddResource(base, s.doc); err != nil {
		return nil, explain(err)
	}
	c.steps = maxSteps
	if c.schema, err = compiler.Compile(base); err != nil {
		return nil, explain(err)
	}
	if err := checkCosts(c.schema); err != nil {
		return nil, err
	}
	return c, nil
}

// draftOf returns the $schema if it is another draft.
func draftOf(doc any) string {
	object, _ := doc.(map[string]any)
	named, ok := object["$schema"]
	if !ok {
		return ""
	}
	if text, _ := named.(string); strings.TrimSuffix(text, "#") == "https://json-schema.org/draft/2020-12/schema" {
		return ""
	}
	return fmt.Sprint(named)
}

// explain returns what is wrong with a schema, and where.
func explain(err error) error {
	if mismatch, ok := errors.AsType[*jsonschema.SchemaValidationError](err); ok {
		if wrong, ok := errors.AsType[*jsonschema.ValidationError](mismatch.Err); ok {
			v := violation(wrong, nil)
			if f, ok := leaf(wrong).ErrorKind.(*kind.Format); ok { // a pattern
				v.Message += ": " + bound(fmt.Sprint(f.Err))
			}
			return fmt.Errorf("the schema at %s: %s", v.Path, v.Message)
		}
	}
	return fmt.Errorf("the schema: %s", bound(strings.ReplaceAll(err.Error(), base, "")))
}
