package sql

import (
	"github.com/bezoar-dev/bezoar/guard/cost"
	"github.com/bezoar-dev/bezoar/guard/redos"
)

// wildcards is what is known of a LIKE pattern.
type wildcards struct {
	runs    int  // of % that follow one another
	leading bool // the first character may be anything
	known   bool // its beginning is
	only    bool // nothing but %
	plain   bool // no wildcard at all
}

// like reads a LIKE b and its relatives.
func (r *Reader) like(b *block, c comparison, left, right *operand, negated bool) verdict {
	r.connect(b, left, right)
	not := c.not || negated
	w := r.likePattern(right.from, right.to, c.word == wGlob)
	if w.runs > 1 {
		r.pending = append(r.pending, measured{
			predictor: cost.LikeWildcards, at: span{left.from, right.to}, value: float64(w.runs), path: "LIKE", why: "wildcards in one pattern", always: true,
		})
	}
	switch {
	case left.columns == 0 || left.aggregate:
		if w.only && left.constant() && left.value {
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
			why: "the pattern begins with a wildcard and no other condition selects rows: every row is read", written: right.single() && r.kindAt(right.from) == text,
		}
		if not || left.relation >= 0 && r.relations[b.base+left.relation].narrow {
			m.predictor = cost.NonSargable // it costs no more than reading those rows without it
			m.why = "the pattern begins with a wildcard: every row that is left is read"
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

// likePattern looks through the pattern: its first part decides how it begins,
// all parts are counted.
func (r *Reader) likePattern(i, j int, glob bool) wildcards {
	w := wildcards{only: true, plain: true}
	begun, several := false, r.wordAt(i) == wAny || r.wordAt(i) == wAll
	for k := i; k < j && k < len(r.tokens); k++ {
		t := &r.tokens[k]
		if t.word == wEscape {
			break
		}
		if t.kind == openParen && r.holdsQuery(k) {
			begun, w.only = true, false
			k = r.skip(k) - 1
			continue
		}
		switch t.kind {
		case text, param, quoted:
			if t.kind == quoted && r.text[t.start] != '"' {
				begun, w.only = true, false // a column
				continue
			}
			b, ok := r.textAt(k)
			if !ok {
				begun, w.only, w.plain = true, false, false
				continue
			}
			if len(b) == 0 {
				continue
			}
			p := countWildcards(b, glob)
			w.runs += p.runs
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
				begun, w.only = true, false
				continue
			}
			p := countWildcards(b, glob)
			w.runs += p.runs
			w.known, w.leading, begun, w.only = true, p.leading, true, p.only
		case bare:
			if r.kindAt(k+1) == text && r.text[t.start] == '_' { // _utf8mb4'…'
				continue
			}
			if r.kindAt(k+1) == openParen || t.word != none || r.wordAt(k-1) == oCast || r.wordAt(k-1) == wAs {
				continue // a function, a type: what is in it counts
			}
			begun, w.only = true, false // a column
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

// textAt is the text of a string or a bound placeholder, decoded as far as
// wildcards need it.
func (r *Reader) textAt(k int) ([]byte, bool) {
	t := r.tok(k)
	if t.kind == param {
		v, ok := r.bound(k)
		if !ok {
			return nil, false
		}
		room, ok := asText(r.room[:0], v)
		r.room = room
		return room, ok
	}
	raw := r.text[t.start:t.end]
	in := inside(raw)
	switch raw[0] | 0x20 {
	case 'e':
		return r.unescape(in), true
	case 'u':
		return r.unicode(in), true
	case 'x':
		return r.hexText(in), true
	}
	return in, true // in MySQL \% stays as it is
}

// unescape decodes what could hide a wildcard in E'…': \x25, \45, \u0025.
func (r *Reader) unescape(b []byte) []byte {
	r.room = r.room[:0]
	for i := 0; i < len(b); i++ {
		if b[i] != '\\' || i+1 >= len(b) {
			r.room = append(r.room, b[i])
			continue
		}
		i++
		switch c := b[i]; {
		case c == 'x' || c == 'u' || c == 'U':
			v, n := 0, 0
			for most := hexDigits(c); n < most && i+1+n < len(b); n++ {
				d, ok := hexDigit(b[i+1+n])
				if !ok {
					break
				}
				v = v<<4 | int(d)
			}
			i += n
			r.room = append(r.room, byte(min(v, 0xff)))
		case c >= '0' && c <= '7':
			v, n := 0, 0
			for ; n < 3 && i+n < len(b) && b[i+n] >= '0' && b[i+n] <= '7'; n++ {
				v = v<<3 | int(b[i+n]-'0')
			}
			i += n - 1
			r.room = append(r.room, byte(v))
		case c == '\\':
			r.room = append(r.room, '\\')
		default:
			r.room = append(r.room, c)
		}
	}
	return r.room
}

// hexDigits is how many hexadecimal digits an escape has at most.
func hexDigits(c byte) int {
	switch c {
	case 'x':
		return 2
	case 'u':
		return 4
	}
	return 8
}

// unicode decodes U&'\0025'.
func (r *Reader) unicode(b []byte) []byte {
	r.room = r.room[:0]
	for i := 0; i < len(b); i++ {
		v, n := 0, 0
		if b[i] == '\\' {
			for ; n < 4 && i+1+n < len(b); n++ {
				d, ok := hexDigit(b[i+1+n])
				if !ok {
					break
				}
				v = v<<4 | int(d)
			}
		}
		if n < 4 {
			r.room = append(r.room, b[i])
			continue
		}
		i += n
		r.room = append(r.room, byte(min(v, 0xff)))
	}
	return r.room
}

// hexNumber is the text that 0x25 stands for in MySQL.
func (r *Reader) hexNumber(k int) ([]byte, bool) {
	b := r.bytes(k)
	if r.dialect.kind == postgres || len(b) < 4 || b[0] != '0' || b[1]|0x20 != 'x' {
		return nil, false
	}
	return r.hexText(b[2:]), true
}

// hexText decodes X'25'.
func (r *Reader) hexText(b []byte) []byte {
	r.room = r.room[:0]
	for i := 0; i+1 < len(b); i += 2 {
		h, _ := hexDigit(b[i])
		l, _ := hexDigit(b[i+1])
		r.room = append(r.room, h<<4|l)
	}
	return r.room
}

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
		predictor: cost.Regex, at: at, value: 1, path: "WHERE", why: "an expression is matched against every row that is left", always: true,
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

// analyse measures an expression: for an engine that backtracks how its time
// grows, for an automaton how large it becomes.
func (r *Reader) analyse(k int, d redos.Dialect) {
	b, ok := r.textAt(k)
	if !ok {
		return
	}
	if r.patterns++; r.patterns > maxPatterns {
		if r.patterns == maxPatterns+1 {
			m := r.add(cost.RegexUnknown, 1, k, "regular expression")
			if r.o.Explain {
				m.Detail = format("only the first %d expressions of a text are analysed", maxPatterns)
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
