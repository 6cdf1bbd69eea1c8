package elastic

import (
	"fmt"
	"math"

	"github.com/bezoar-dev/bezoar/guard/cost"
)

// scriptIn measures the scripts under the usual names in an object, and returns their
// number. functions includes those of function_score.
func (r *Reader) scriptIn(n int, functions bool) int {
	found := 0
	if !r.isObject(n) {
		return 0
	}
	for k := n + 1; k < r.next(n); k = r.next(k + 1) {
		v := k + 1
		switch string(r.bytes(k)) {
		case "script", "_script", "value_script", "minimum_should_match_script", "script_heuristic":
			found += r.scriptValue(v)
		case "init_script", "map_script", "combine_script", "reduce_script":
			found += r.scriptValue(v)
		case "script_score":
			found += r.scriptIn(v, functions)
		case "functions":
			if functions {
				r.each(v, func(e int) { found += r.scriptIn(e, functions) })
			}
		case "source", "inline":
			// The source of a script is read with its script.
		}
	}
	return found
}

// scriptValue measures one script: text, an object with source or inline, or a stored
// script. It returns 1 if the script runs for documents.
func (r *Reader) scriptValue(v int) int {
	if v <= none {
		return 0
	}
	source := v
	if r.isObject(v) {
		source = firstOf(r.get(v, "source"), r.get(v, "inline"), r.get(v, "script"), r.get(v, "code"))
		if source <= none {
			if r.get(v, "id") > none || r.get(v, "file") > none || r.get(v, "stored") > none {
				return 1 // stored: an operator has approved it
			}
			return 0
		}
		if r.isObject(source) {
			return r.scriptValue(source)
		}
	}
	if !r.isText(source) {
		return 0
	}
	text := r.bytes(source)
	if lang := r.get(v, "lang"); lang > none && isCompiled(r.bytes(lang)) {
		r.add(cost.Script, 1+math.Floor(float64(len(text))/compiledPart), source)
		return 1
	}
	w := weigh(text)
	m := r.add(cost.Script, w.total(), source)
	if r.o.Explain {
		m.Detail = fmt.Sprintf("%d bytes, %d loops, %d of them nested, %d ternaries in one statement: weight %s",
			len(text), w.loops, w.deepest, w.chained, figure(w.total()))
	}
	return 1
}

// isCompiled reports whether the language is one in which OpenSearch's SQL and PPL
// serialize compiled expressions, in base64. They need no compilation and contain no loops.
func isCompiled(lang []byte) bool {
	switch string(lang) {
	case "opensearch_query_expression", "opensearch_compounded_script", "opensearch_calcite_expression":
		return true
	}
	return false
}

// compiledPart is the number of bytes of serialized expressions that count as one KiB of
// code.
const compiledPart = 8 << 10

// scripts measures script_fields: {"name": {"script": …}}.
func (r *Reader) scripts(n int) {
	if !r.isObject(n) {
		return
	}
	for k := n + 1; k < r.next(n); k = r.next(k + 1) {
		r.scriptIn(k+1, false)
	}
}

// runtime measures runtime_mappings: {"field": {"type", "script"}}.
func (r *Reader) runtime(n int) { r.scripts(n) }
