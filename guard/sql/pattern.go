package sql

import (
	"bytes"
	"math"

	"github.com/bezoar-dev/bezoar/guard/cost"
)

// wildcards describes a LIKE pattern.
type wildcards struct {
	runs    int  // number of runs of %
	leading bool // the first character may be anything
	known   bool // its start is known
	ends    bool // the last character may be anything
	only    bool // only %
	plain   bool // no wildcard at all
}

// like reads a LIKE b and its relatives.
func (r *Reader) like(b *block, c comparison, left, right *operand, negated bool) verdict {
	r.connect(b, left, right)
	not := (c.not != negated) != b.negative
	w := r.likePattern(right.from, right.to, c.word == wGlob)
	if w.runs > 1 {
		r.pending = append(r.pending, measured{
			predictor: cost.LikeWildcards, at: span{left.from, right.to}, value: float64(w.runs), path: "LIKE", why: "wildcards in one pattern", always: true,
		})
	}
	switch {
	case left.columns == 0 || left.aggregate:
		if left.constant() && left.value && (w.only || w.plain && r.sameConstant(left, right) == always) {
			return verdict{truth: truthOf(!c.not)}
		}
		return verdict{}
	case w.only:
		if c.not {
			return verdict{truth: never}
		}
		return verdict{truth: always}
	case w.leading:
		m := measured{
			predictor: cost.LeadingWildcard, at: span{left.from, right.to}, value: 1, path: "LIKE",
			why: "the pattern begins with a wildcard, and no other condition selects rows: every row is read", written: right.single() && r.kindAt(right.from) == text,
		}
		if right.columns > 0 && right.relation != unknownRelation && left.relation != unknownRelation && right.relation != left.relation {
			m.value, m.why = math.Inf(1), "the pattern begins with a wildcard, and nothing else joins the tables: each row of one is compared with each row of the other"
		}
		if not || left.relation >= 0 && r.relations[b.base+left.relation].narrow {
			m.predictor = cost.NonSargable // it costs no more than reading these rows without it
			m.why = "the pattern begins with a wildcard: every remaining row is read"
		}
		r.pending = append(r.pending, m)
		return verdict{}
	case not:
		return verdict{}
	}
	if w.known {
		r.wrapped(b, left, right, "LIKE")
	}
	return verdict{selects: left.bare && right.outside()}
}

// likeWithin reads the LIKE at token k of an expression inside a condition, as in CASE WHEN
// name LIKE '%x' THEN …, which no index serves.
func (r *Reader) likeWithin(e *operand, k, j int, b *block) {
	if b == nil || e.columns == 0 {
		return
	}
	end := k + 1
	for end < j && r.kindAt(end) != comma && r.kindAt(end) != closeParen && !r.separates(end) {
		end = r.skip(end)
	}
	w := r.likePattern(k+1, min(end, j), false)
	if !w.leading || w.only {
		return
	}
	m := measured{
		predictor: cost.LeadingWildcard, at: span{e.from, min(end, j)}, value: 1, path: "LIKE",
		why: "the pattern begins with a wildcard, and no other condition selects rows: every row is read", written: r.kindAt(k+1) == text,
	}
	if (r.wordAt(k-1) == wNot) != b.negative || e.relation >= 0 && r.relations[b.base+e.relation].narrow {
		m.predictor, m.why = cost.NonSargable, "the pattern begins with a wildcard: every remaining row is read"
	}
	r.pending = append(r.pending, m)
}

// likePattern reads the pattern: its first part determines how it begins, all parts are
// counted.
func (r *Reader) likePattern(i, j int, glob bool) wildcards {
	w := wildcards{only: true, plain: true}
	begun, several := false, r.wordAt(i) == wAny || r.wordAt(i) == wAll
	for k := i; k < j && k < len(r.tokens); k++ {
		t := &r.tokens[k]
		if t.word == wEscape {
			break
		}
		if t.kind == openParen && r.holdsQuery(k) && !(r.kindAt(k+2) == text && r.skip(k) == k+4) { // (SELECT '%x')
			begun, w.only, w.ends = true, false, false
			k = r.skip(k) - 1
			continue
		}
		switch t.kind {
		case text, param, quoted:
			if t.kind == quoted && r.text[t.start] != '"' {
				begun, w.only, w.ends = true, false, false // a column
				continue
			}
			b, ok := r.textAt(k)
			if !ok {
				begun, w.only, w.plain, w.ends = true, false, false, false
				continue
			}
			if len(b) == 0 {
				continue
			}
			p := countWildcards(b, glob)
			w.runs += p.runs
			w.ends = p.ends
			if !begun {
				w.known, w.leading, begun = true, p.leading, true
			} else if w.leading && w.only && !p.only { // '%' || 'x'
				w.only = false
			}
			w.only, w.plain = w.only && p.only, w.plain && p.plain
			if several { // LIKE ANY (ARRAY['a%', '%b'])
				w.leading, w.only = w.leading || p.leading, false
			}
		case number:
			b, ok := r.hexNumber(k)
			if !ok || begun {
				begun, w.only, w.ends = true, false, false
				continue
			}
			p := countWildcards(b, glob)
			w.runs += p.runs
			w.known, w.leading, begun, w.only, w.ends = true, p.leading, true, p.only, p.ends
		case bare:
			if r.kindAt(k+1) == text && r.text[t.start] == '_' { // _utf8mb4'…'
				continue
			}
			if p, ok := r.patternCall(k, glob); ok && k < j {
				w.runs += p.runs
				if !begun {
					w.known, w.leading, begun = p.known, p.leading, true
				}
				w.only, w.plain, w.ends = w.only && p.only, w.plain && p.plain, p.ends
				k = r.skip(k+1) - 1
				continue
			}
			if r.kindAt(k+1) == openParen || t.word != none || r.wordAt(k-1) == oCast || r.wordAt(k-1) == wAs {
				continue // a function or a type: its content counts
			}
			begun, w.only, w.ends = true, false, false // a column
		}
	}
	if !begun {
		return wildcards{}
	}
	return w
}

// countWildcards counts the runs of % in a pattern. * and ? do the same for GLOB.
func countWildcards(p []byte, glob bool) wildcards {
	many, one := byte('%'), byte('_')
	if glob {
		many, one = '*', '?'
	}
	w := wildcards{known: true, only: true, plain: true}
	for i := 0; i < len(p); i++ {
		w.ends = p[i] == many || p[i] == one
		switch c := p[i]; {
		case c == '\\' && !glob:
			i++
			w.only = false
		case c == many:
			if i == 0 || p[i-1] != many {
				w.runs++
			}
			w.leading = w.leading || i == 0
			w.plain = false
		case c == one:
			w.leading = w.leading || i == 0
			w.only, w.plain = false, false
		default:
			w.only = false
		}
	}
	return w
}

// patternCall reads a call that forms a pattern in another way than concatenation.
func (r *Reader) patternCall(k int, glob bool) (wildcards, bool) {
	if r.kindAt(k+1) != openParen || r.skip(k+1) <= k+3 {
		return wildcards{}, false
	}
	first, end := k+2, r.skip(k+1)-1
	switch {
	case r.wordIs(k, "reverse"):
		w := r.likePattern(first, end, glob)
		w.leading, w.ends = w.ends, w.leading
		return w, true
	case r.wordIs(k, "chr", "char", "nchar"):
		r.room = r.room[:0]
		for i := first; i < end && r.kindAt(i) == number; i += 2 { // CHAR(37, 120)
			if v, ok := r.numberAt(i); ok && v < 0x80 {
				r.room = append(r.room, byte(v))
			}
		}
		return countWildcards(r.room, glob), len(r.room) > 0
	case r.wordIs(k, "unhex") && r.kindAt(first) == text:
		return countWildcards(r.hexText(inside(r.bytes(first))), glob), true
	case r.wordIs(k, "replace") && end == first+5 && r.kindAt(first) == text && r.kindAt(first+2) == text && r.kindAt(first+4) == text:
		return r.replacedPattern(inside(r.bytes(first)), inside(r.bytes(first+2)), inside(r.bytes(first+4)), glob), true
	}
	if r.cuts(k) {
		for i := first; i < end; i++ {
			if r.kindAt(i) == text && bytes.IndexByte(r.bytes(i), '%') >= 0 {
				return wildcards{runs: 1, known: true, leading: true}, true
			}
		}
	}
	return wildcards{}, false
}

// cuts reports whether a function may move a part of a text to its beginning.
func (r *Reader) cuts(k int) bool {
	return r.wordIs(k, "substr", "substring", "mid", "right", "lpad", "split_part", "elt")
}

// replacedPattern returns the wildcards of replace('*x*', '*', '%').
func (r *Reader) replacedPattern(s, old, with []byte, glob bool) wildcards {
	r.room = r.room[:0]
	for len(old) > 0 && len(r.room) < maxText {
		before, after, ok := bytes.Cut(s, old)
		r.room = append(r.room, before...)
		if s = after; !ok {
			break
		}
		r.room = append(r.room, with...)
	}
	return countWildcards(append(r.room, s...), glob)
}
