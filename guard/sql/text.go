package sql

import (
	"bytes"

	"github.com/bezoar-dev/bezoar/guard/cost"
)

// maxTexts is the maximum nesting of texts: DO $$ … EXECUTE '…' … $$.
const maxTexts = 2

// do reads DO expression of MySQL, and the code in DO $$ … $$ of PostgreSQL.
func (r *Reader) do(i, j int) {
	for k := i + 1; k < j && r.dialect.kind != mysql; k = r.skip(k) {
		if r.kindAt(k) == text {
			r.code(i, k, j)
			return
		}
	}
	r.scanAll(i+1, j)
}

// code reads the text k of DO: PL/pgSQL as statements, other languages as words.
func (r *Reader) code(i, k, j int) {
	for l := i + 1; l+1 < j; l++ {
		if r.wordIs(l, "language") && !r.wordIs(l+1, "plpgsql") {
			r.block(k)
			return
		}
	}
	r.statementsIn(k, true)
}

// dynamic reads the statement that EXECUTE, PREPARE … FROM and so on run, if it is a
// literal text.
func (r *Reader) dynamic(i, j int) {
	for r.kindAt(i) == openParen && r.skip(i) == j {
		i, j = i+1, j-1
	}
	if next := r.tok(i + 1); i < j && r.kindAt(i) == text && (i+1 == j || next.kind == comma || next.word == wUsing || next.word == wInto) {
		r.statementsIn(i, false)
		r.scanAll(i+1, j)
		return
	}
	r.scanAll(i, j)
	if k := r.assigned(i); k >= 0 && (i+1 == j || r.wordAt(i+1) == wUsing) {
		r.statementsIn(k, false)
		return
	}
	r.unreadable(i, "a statement that is composed at run time")
}

// assigned returns the text that the variable at token i was set to shortly before, as in
// SET @q = '…'; PREPARE s FROM @q; or -1 if it is unknown.
func (r *Reader) assigned(i int) int {
	const before = 200 // tokens
	if r.kindAt(i) != param || r.text[r.tok(i).start] != '@' {
		return -1
	}
	for k := i - 1; k > max(0, i-before); k-- {
		r.steps++
		if r.kindAt(k) != param || !bytes.EqualFold(r.bytes(k), r.bytes(i)) {
			continue
		}
		next := r.tok(k + 1)
		switch {
		case (next.word == oEqual || next.word == oAssign) && r.kindAt(k+2) == text && (r.kindAt(k+3) == semicolon || r.kindAt(k+3) == comma):
			return k + 2
		case r.wordAt(k-1) == wInto && r.kindAt(k-2) == text && r.wordAt(k-3) == wSelect:
			return k - 2
		case r.wordAt(k-1) != wFrom: // the variable may have changed by then
			return -1
		}
	}
	return -1
}

// statementsIn reads the statements in the text of token i, which run now. Their positions
// refer to the whole text, unless the text has doubled quotes.
func (r *Reader) statementsIn(i int, procedural bool) {
	if r.nested >= maxTexts {
		r.unreadable(i, "a statement in a text within another")
		return
	}
	if r.inner == nil {
		r.inner = &Reader{nested: r.nested + 1}
	}
	in := r.inner
	raw := r.bytes(i)
	body := inside(raw)
	base, exact := int(r.tok(i).start)+cap(raw)-cap(body), true
	if raw[0] != '$' {
		if r.escapes(int(r.tok(i).start), int(r.tok(i).start)+bytes.IndexByte(raw, '\'')) && bytes.IndexByte(body, '\\') >= 0 {
			r.unreadable(i, "a statement in a text with escapes")
			return
		}
		if bytes.Contains(body, []byte("''")) {
			in.doubled = undouble(in.doubled[:0], body)
			body, exact = in.doubled, false
		}
	}
	in.begin(in.kept[:0], &cost.Query{Body: body}, &r.o)
	in.dialect, in.patterns = r.dialect, r.patterns
	in.lexAll()
	if procedural {
		in.procedures()
	} else {
		in.statements()
	}
	in.uncap()
	r.steps, r.patterns = r.steps+in.steps, in.patterns
	for _, m := range in.out {
		switch {
		case m.Offset < 0:
		case exact:
			m.Offset += base
		default:
			m.Offset = int(r.tok(i).start)
		}
		m.Part, m.Cap = r.part, cost.Cap{}
		*r.keep(m.Predictor, m.Value) = m
	}
	if f := in.fault; f != nil && f.Predictor != cost.Unparsable {
		r.fail(f.Predictor, f.Reason, int(r.tok(i).start))
	} else if f != nil {
		r.unreadable(i, f.Reason)
	}
	if in.kept = in.out[:0]; cap(in.kept) > maxMeasures {
		in.kept = nil
	}
	if cap(in.doubled) > keepTokens {
		in.doubled = nil
	}
	in.end()
}

// procedures reads all tokens as procedural code. It does not judge a statement that a
// fault cut off.
func (r *Reader) procedures() {
	end := len(r.tokens)
	for r.fault != nil && end > 0 && r.tokens[end-1].kind != semicolon {
		end--
	}
	r.deepest = nesting{}
	r.procedure(0, end)
}

// undouble appends a text with each pair of quotes as one quote.
func undouble(dst, b []byte) []byte {
	for i := 0; i < len(b); i++ {
		dst = append(dst, b[i])
		if b[i] == '\'' && i+1 < len(b) && b[i+1] == '\'' {
			i++
		}
	}
	return dst
}
