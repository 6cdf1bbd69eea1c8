package sql

import "github.com/bezoar-dev/bezoar/guard/cost"

// procedure reads procedural code, as in DO $$ … $$ and in MariaDB's compound statements:
// the statements in it, the conditions and loops around them, and loops that only count.
func (r *Reader) procedure(i, j int) {
	if r.blocks >= r.o.MaxDepth {
		r.fail(cost.BodyDepth, "nested too deep", int(r.tok(i).start))
		return
	}
	r.blocks++
	for i < j {
		i = max(r.step(i, j), i+1)
	}
	r.blocks--
	r.deepest = nesting{} // each statement has added its own measure
}

// step reads the part that begins at i, and returns the start of the next one.
func (r *Reader) step(i, j int) int {
	switch w := r.wordAt(i); {
	case r.kindAt(i) == semicolon, w == wBegin, w == wWhen && r.wordIs(i, "else", "then"), r.wordIs(i, "loop", "repeat", "exception", "atomic"):
		return i + 1
	case w == wNot && r.wordIs(i+1, "atomic"):
		return i + 2
	case w == wCase:
		end := r.skip(i)
		if when := r.find(i+1, min(end-1, j), wWhen); when < end-1 {
			r.procedure(when, min(end-1, j))
		}
		return end
	case w == wWhen, r.wordIs(i, "if", "elsif", "elseif", "while", "until"):
		k := r.branch(i+1, j, true)
		r.scanAll(i+1, k)
		return k
	case w == wFor, r.wordIs(i, "foreach"):
		k := r.branch(i+1, j, false)
		r.loop(i, k)
		return k
	}
	end := r.stepEnd(i, j)
	r.simple(i, end)
	return end
}

// branch returns the end of the part at i: at THEN, LOOP or DO, or at the end of the
// statement. In SQL Server, a condition also ends where a statement begins.
func (r *Reader) branch(i, j int, condition bool) int {
	for ; i < j; i = r.skip(i) {
		switch w := r.wordAt(i); w {
		case wDo, wBegin:
			return i
		case wSelect, wUpdate, wDelete, wInsert, wMerge, wCall, wWaitfor:
			if condition && r.kindAt(i+1) != openParen {
				return i
			}
		default:
			if r.kindAt(i) == semicolon || r.wordIs(i, "then", "loop") {
				return i
			}
		}
	}
	return j
}

// stepEnd returns the end of a simple statement.
func (r *Reader) stepEnd(i, j int) int {
	for i = r.skip(i); i < j; i = r.skip(i) {
		if r.kindAt(i) == semicolon || r.wordAt(i) == wEnd || r.wordIs(i, "else") {
			return i
		}
	}
	return j
}

// loop reads FOR row IN query, and FOR n IN 1..1000.
func (r *Reader) loop(i, j int) {
	in := r.find(i, j, wIn)
	if in >= j {
		r.scanAll(i+1, j)
		return
	}
	k := in + 1
	if r.wordIs(k, "reverse") {
		k++
	}
	switch dots := r.dots(k, j); {
	case dots < j:
		r.rounds(in, span{k, dots}, span{dots + 2, j})
	case r.beginsQuery(k), r.kindAt(k) == openParen && r.holdsQuery(k):
		r.one(k, j)
	case r.wordIs(k, "execute"):
		r.simple(k, j)
	default:
		r.scanAll(k, j)
	}
}

// dots is the first .. at this level, or j.
func (r *Reader) dots(i, j int) int {
	for ; i < j; i = r.skip(i) {
		if r.kindAt(i) == dot && r.kindAt(i+1) == dot {
			return i
		}
	}
	return j
}

// simple reads one statement of procedural code.
func (r *Reader) simple(i, j int) {
	switch w := r.wordAt(i); {
	case r.wordIs(i, "perform"):
		r.tokens[i].word = wSelect // nobody receives its rows
		r.one(i, j)
	case r.wordIs(i, "return") && r.wordIs(i+1, "query"):
		if r.wordIs(i+2, "execute") {
			r.dynamic(i+3, j)
			return
		}
		r.one(i+2, j)
	case w == wDeclare, r.wordIs(i, "open"), r.wordIs(i+1, "cursor"):
		k := r.find(i, j, wFor)
		if k < j && (r.beginsQuery(k+1) || r.kindAt(k+1) == openParen) {
			r.one(k+1, j)
			return
		}
		r.scanAll(i+1, j)
	case r.wordIs(i, "execute"):
		r.dynamic(i+1, j)
	case w.acts(), r.kindAt(i) == openParen:
		r.one(i, j)
	default:
		r.scanAll(i+1, j)
	}
}
