package sql

import (
	"github.com/bezoar-dev/bezoar/guard/cost"
	"github.com/bezoar-dev/bezoar/guard/redos"
)

// regex reads a ~ b, a REGEXP b.
func (r *Reader) regex(b *block, c comparison, left, right *operand) verdict {
	r.connect(b, left, right)
	r.regexCondition(span{left.from, right.to})
	d := redos.Postgres
	if c.word == wRegexp {
		d = redos.MySQL
		if r.dialect.pcre {
			d = redos.PCRE
		}
		if r.dialect.kind == generic {
			d = redos.RE2
		}
	}
	if k := right.from; right.to > k && (r.kindAt(k) == text || r.kindAt(k) == param) {
		r.analyse(k, d)
	}
	return verdict{}
}

func (r *Reader) regexCondition(at span) {
	r.pending = append(r.pending, measured{
		predictor: cost.Regex, at: at, value: 1, path: "WHERE", why: "an expression is matched against every remaining row", always: true,
	})
}

// argumentPattern analyses the second argument of a function.
func (r *Reader) argumentPattern(k int) {
	end := r.skip(k+1) - 1
	for i := k + 2; i < end; i = r.skip(i) {
		if r.kindAt(i) != comma {
			continue
		}
		d := redos.Postgres
		switch {
		case r.dialect.pcre:
			d = redos.PCRE
		case r.dialect.kind == mysql:
			d = redos.MySQL
		case r.dialect.kind == generic:
			d = redos.RE2
		}
		if r.kindAt(i+1) == text || r.kindAt(i+1) == param {
			r.analyse(i+1, d)
		}
		return
	}
}

// analyse measures an expression: the growth of its time for a backtracking engine, the
// size of the automaton for an automaton engine.
func (r *Reader) analyse(k int, d redos.Dialect) {
	b, ok := r.textAt(k)
	if !ok {
		return
	}
	if t := r.tok(k); t.kind == text && r.dialect.backslash && (r.text[t.start] == '\'' || r.text[t.start] == '"') {
		b = r.unslash(b)
	}
	if r.patterns++; r.patterns > maxPatterns {
		if r.patterns == maxPatterns+1 {
			m := r.add(cost.RegexUnknown, 1, k, "regular expression")
			if r.o.Explain {
				m.Detail = format("only the first %d expressions of a text are analyzed", maxPatterns)
			}
		}
		return
	}
	m := r.add(cost.RegexLength, float64(len(b)), k, "regular expression")
	if r.o.Explain {
		m.Detail = "bytes"
	}
	const budget = redos.DefaultBudget / 4
	got := redos.Analyze(string(b), redos.Options{Dialect: d, Budget: budget})
	if !d.Backtracks() {
		if got.States > 1 {
			m := r.add(cost.RegexStates, float64(got.States), k, "regular expression")
			if r.o.Explain {
				m.Detail = "states, with counted repeats written out"
			}
		}
		return
	}
	r.backtracks(k, got)
}
