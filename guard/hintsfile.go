package guard

import (
	"fmt"
	"math"
	"strings"
	"time"

	"github.com/bezoar-dev/bezoar/guard/cost"
	"github.com/bezoar-dev/bezoar/internal/control/config"
)

// Values of the words for cardinality.
const (
	lowCardinality    = 100
	mediumCardinality = 10_000
	highCardinality   = 10_000_000
)

// ParseHints parses hints in YAML or JSON: for each index, table or pattern
//
//	docs, shards, indices, mapped_fields, span (a time), same_as,
//	fields: {NAME: unique | high | medium | low | about 10k | 5000 | keyword …
//	               | {type, cardinality, unique, min, max}}
//
// Unknown words are not errors: ParseHints returns them as warnings. The error lists
// invalid YAML with line and column.
func ParseHints(name string, data []byte) (set HintSet, warnings []string, err error) {
	root, err := config.Tree(name, data)
	if err != nil {
		return nil, nil, err
	}
	r := &hintsReader{name: name, set: HintSet{}}
	switch root.Kind {
	case config.Null:
	case config.Map:
		for i, key := range root.Keys {
			r.index(key.Text, root.Values[i])
		}
	case config.Scalar, config.List:
		return nil, nil, fmt.Errorf("%s:%d:%d: hints must be a mapping — write lines such as index: {fields: {…}}", name, root.Line, root.Column)
	}
	for _, n := range r.same {
		if _, ok := r.set[n.Text]; !ok {
			r.warn(n, "same_as: there are no hints for %s", config.Quoted(n.Text))
		}
	}
	return r.set, r.warnings, nil
}

type hintsReader struct {
	name     string
	set      HintSet
	same     []*config.Node // values of same_as
	warnings []string
}

const maxWarnings = 50

func (r *hintsReader) warn(n *config.Node, format string, args ...any) {
	if len(r.warnings) < maxWarnings {
		r.warnings = append(r.warnings, fmt.Sprintf("%s:%d:%d: ", r.name, n.Line, n.Column)+fmt.Sprintf(format, args...))
	}
}

func (r *hintsReader) index(name string, n *config.Node) {
	if strings.HasPrefix(name, "_") && name != "_all" { // a comment
		return
	}
	if n.Kind != config.Map {
		r.warn(n, "%s has no hints: want keys such as docs and fields", config.Quoted(name))
		return
	}
	h := IndexHints{Fields: map[string]cost.FieldHint{}}
	for i, key := range n.Keys {
		r.entry(&h, key, n.Values[i])
	}
	name = strings.TrimSpace(strings.TrimSuffix(strings.TrimSpace(name), "(sql)")) // a comment about the kind of name
	if old, ok := r.set[name]; ok {
		for field, hint := range old.Fields {
			if _, ok := h.Fields[field]; !ok {
				h.Fields[field] = hint
			}
		}
		if h.IndexHint == (cost.IndexHint{}) {
			h.IndexHint = old.IndexHint
		}
	}
	if h.SameAs == name {
		h.SameAs = ""
	}
	r.set[name] = h
}

func (r *hintsReader) entry(h *IndexHints, key, value *config.Node) {
	switch k := key.Text; k {
	case "fields":
		for i, f := range value.Keys {
			r.field(h, f, value.Values[i])
		}
		if value.Kind == config.Scalar { // number of fields
			r.number(&h.IndexHint.Fields, value)
		}
	case "docs", "documents", "rows":
		r.number(&h.Docs, value)
	case "shards":
		r.number(&h.Shards, value)
	case "indices":
		r.number(&h.Indices, value)
	case "mapped_fields":
		r.number(&h.IndexHint.Fields, value)
	case "same_as":
		h.SameAs = value.Text
		r.same = append(r.same, value)
	case "span", "time_span", "time_span_days", "time_span_unfiltered", "time_span_days_unfiltered":
		r.span(h, value, strings.Contains(k, "days"))
	case "source", "note", "notes", "comment", "why", "description":
	default:
		if !r.buckets(h, k, value) && !strings.HasPrefix(k, "_") {
			r.warn(key, "%s is not a hint for an index", config.Quoted(k))
		}
	}
}

func (r *hintsReader) number(to *float64, n *config.Node) {
	if f, ok := proseNumber(n.Text); ok {
		*to = f
		return
	}
	r.warn(n, "%s contains no number", config.Quoted(n.Text))
}

func (r *hintsReader) span(h *IndexHints, n *config.Node, days bool) {
	if f, ok := number(n.Text); ok && days {
		h.Span = spanOf(f * 24 * float64(time.Hour))
		return
	}
	if d, ok := interval(n.Text); ok {
		h.Span = d
		return
	}
	if f, ok := proseNumber(n.Text); ok && days && !strings.Contains(n.Text, "unknown") {
		h.Span = spanOf(f * 24 * float64(time.Hour))
		return
	}
	h.Endless = true // an unknown type may have long values
}

// buckets reads a counted number of buckets, such as buckets_1m_entire_range: above 65536.
func (r *hintsReader) buckets(h *IndexHints, key string, n *config.Node) bool {
	rest, ok := strings.CutPrefix(key, "buckets_")
	if !ok {
		return false
	}
	word, _, _ := strings.Cut(rest, "_")
	width, okWidth := interval(word)
	count, okCount := proseNumber(n.Text)
	if !okWidth || !okCount {
		return false
	}
	if strings.Contains(n.Text, "above") || strings.Contains(n.Text, "over") || strings.Contains(n.Text, "more") {
		count++
	}
	h.Span = spanOf(count * float64(width))
	return true
}

func spanOf(ns float64) time.Duration {
	return time.Duration(min(ns, math.MaxInt64/2))
}

// interval parses 1m, 30s, 7d.
func interval(text string) (time.Duration, bool) {
	if n, ok := strings.CutSuffix(text, "d"); ok {
		if f, ok := number(n); ok {
			return spanOf(f * 24 * float64(time.Hour)), true
		}
	}
	d, err := time.ParseDuration(text)
	return d, err == nil && d > 0
}

func (r *hintsReader) field(h *IndexHints, key, value *config.Node) {
	name := key.Text
	f := h.Fields[name]
	switch value.Kind {
	case config.Scalar:
		if base, ok := strings.CutSuffix(name, ".type"); ok && isType(value.Text) { // a comment about another field
			other := h.Fields[base]
			other.Type = value.Text
			h.Fields[base] = other
			return
		}
		if !word(&f, value.Text) {
			r.warn(value, "%s is not a hint for a field", config.Quoted(value.Text))
		}
	case config.Map:
		r.fieldKeys(&f, value)
	case config.Null, config.List:
		r.warn(value, "field %s has no hints", config.Quoted(name))
	}
	h.Fields[name] = f
}

func (r *hintsReader) fieldKeys(f *cost.FieldHint, n *config.Node) {
	low, high := math.Inf(-1), math.Inf(1)
	for i, key := range n.Keys {
		v := n.Values[i]
		ok := true
		switch key.Text {
		case "type":
			f.Type = v.Text
		case "cardinality":
			ok = word(f, v.Text)
		case "unique":
			f.Unique = v.Text == "true"
		case "min":
			low, ok = point(v.Text)
		case "max":
			high, ok = point(v.Text)
		case "note", "comment", "why", "source":
		default:
			ok = strings.HasPrefix(key.Text, "_")
		}
		if !ok {
			r.warn(key, "%s: %s is not a hint for a field", config.Quoted(key.Text), config.Quoted(v.Text))
		}
	}
	if !math.IsInf(low, 0) && !math.IsInf(high, 0) && low <= high {
		f.HasRange, f.Min, f.Max = true, low, high
	}
}

// word parses a short description of a field.
func word(f *cost.FieldHint, text string) bool {
	text = strings.TrimSpace(text)
	first, _, _ := strings.Cut(strings.ToLower(text), " ")
	switch strings.Trim(first, ",.;:()") {
	case "unique":
		f.Unique = true
	case "high", "huge", "millions":
		f.Cardinality = highCardinality
	case "medium", "thousands":
		f.Cardinality = mediumCardinality
	case "low", "few":
		f.Cardinality = lowCardinality
	default:
		if isType(text) {
			f.Type = text
			return true
		}
		n, ok := proseNumber(text)
		if ok {
			f.Cardinality = n
		}
		return ok
	}
	return true
}

func isType(text string) bool {
	switch text {
	case "keyword", "constant_keyword", "wildcard", "text", "match_only_text", "search_as_you_type", "date", "date_nanos", "boolean", "ip",
		"byte", "short", "integer", "int", "long", "unsigned_long", "float", "half_float", "scaled_float", "double",
		"geo_point", "geo_shape", "object", "nested", "flattened", "flat_object", "binary", "join", "dense_vector", "percolator", "version", "histogram":
		return true
	}
	return false
}

// proseNumber finds the first number in a short text: about 10k, above 65536.
func proseNumber(text string) (float64, bool) {
	for w := range strings.FieldsSeq(text) {
		w = strings.Trim(w, "~<>≈,;:()")
		if f, ok := number(strings.ReplaceAll(w, ",", "")); ok && w != "" && w[0] >= '0' && w[0] <= '9' {
			return f, true
		}
	}
	return 0, false
}

// point parses an end of a range: a number, or a date, which becomes milliseconds since
// 1970.
func point(text string) (float64, bool) {
	text = strings.TrimSpace(text)
	if f, ok := number(strings.TrimPrefix(text, "-")); ok {
		if strings.HasPrefix(text, "-") {
			f = -f
		}
		return f, true
	}
	for _, layout := range []string{time.RFC3339Nano, "2006-01-02T15:04:05", "2006-01-02 15:04:05", time.DateOnly, "2006-01"} {
		if t, err := time.Parse(layout, text); err == nil {
			return float64(t.UnixMilli()), true
		}
	}
	return 0, false
}
