package elastic

import (
	"bytes"
	"fmt"
	"math"

	"github.com/bezoar-dev/bezoar/guard/cost"
)

// scriptIn measures the scripts that an object holds under the usual names, and
// says how many there are. With functions, also those of function_score.
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

// scriptValue measures one script: text, or an object with source or inline, or
// one that is stored. It gives 1 when it runs for documents.
func (r *Reader) scriptValue(v int) int {
	if v <= none {
		return 0
	}
	source := v
	if r.isObject(v) {
		source = firstOf(r.get(v, "source"), r.get(v, "inline"), r.get(v, "script"), r.get(v, "code"))
		if source <= none {
			if r.get(v, "id") > none || r.get(v, "file") > none || r.get(v, "stored") > none {
				return 1 // stored: an operator has seen it
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
	weight, loops, ternaries := weigh(text)
	m := r.add(cost.Script, weight, source)
	if r.o.Explain {
		m.Detail = fmt.Sprintf("%d bytes, %d loops, %d ternaries: weight %s", len(text), loops, ternaries, figure(weight))
	}
	return 1
}

// weigh judges the source of a script: 1 for a short one; each KiB adds 1, loops
// double what they may cost, as ternaries beyond the eighth double the time to
// compile; a loop that counts to n adds n/1000, and one without a bound is
// unbounded.
func weigh(s []byte) (weight float64, loops, ternaries int) {
	weight = 1 + math.Floor(float64(len(s))/1024)
	largest := 0.0
	for i := 0; i < len(s); {
		switch c := s[i]; {
		case c == '"' || c == '\'':
			i = quoteEnd(s, i+1, c)
			continue
		case c == '/' && i+1 < len(s) && s[i+1] == '/':
			if end := bytes.IndexByte(s[i:], '\n'); end >= 0 {
				i += end
				continue
			}
			i = len(s)
			continue
		case c == '?' && !(i+1 < len(s) && (s[i+1] == '.' || s[i+1] == ':')):
			ternaries++
		case isLetter(c):
			end := i
			for end < len(s) && (isLetter(s[end]) || s[end] >= '0' && s[end] <= '9') {
				end++
			}
			if isLoop(s[i:end]) {
				loops++
				if endless(s[end:]) {
					weight = math.Inf(1)
				}
				largest = max(largest, largestIn(s[end:min(len(s), end+maxHeader)]))
			}
			i = end
			continue
		}
		i++
	}
	if loops > 0 {
		weight += math.Exp2(min(float64(loops), 64)) + largest/1000
	}
	if ternaries > 8 {
		weight += math.Exp2(min(float64(ternaries-8), 64))
	}
	return weight, loops, ternaries
}

const maxHeader = 128 // bytes of a loop's header that are looked at

// largestIn is the largest number in the parentheses that s begins with.
func largestIn(s []byte) float64 {
	largest, depth := 0.0, 0
	for i := 0; i < len(s); i++ {
		switch c := s[i]; {
		case c == '(':
			depth++
		case c == ')':
			if depth--; depth <= 0 {
				return largest
			}
		case depth > 0 && c >= '0' && c <= '9':
			end := i
			for end < len(s) && s[end] >= '0' && s[end] <= '9' {
				end++
			}
			if v, ok := parseNumber(s[i:end]); ok {
				largest = max(largest, v)
			}
			i = end - 1
		case depth == 0 && c > ' ':
			return 0
		}
	}
	return largest
}

func isLetter(c byte) bool { return c == '_' || c|0x20 >= 'a' && c|0x20 <= 'z' }

func isLoop(word []byte) bool {
	switch string(word) {
	case "for", "while", "do", "each", "forEach", "times":
		return true
	}
	return false
}

// endless: (true) or (;;) right behind the word.
func endless(s []byte) bool {
	var head [8]byte
	n := 0
	for i := 0; i < len(s) && i < 64 && n < len(head); i++ {
		if s[i] > ' ' {
			head[n] = s[i]
			n++
		}
	}
	text := head[:n]
	return bytes.HasPrefix(text, []byte("(true)")) || bytes.HasPrefix(text, []byte("(;;")) || bytes.HasPrefix(text, []byte("(1)"))
}

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
