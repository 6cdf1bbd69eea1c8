package sql

import (
	"bytes"

	"github.com/bezoar-dev/bezoar/guard/cost"
)

// nesting is the deepest SELECT.
type nesting struct{ depth, at int }

// statements splits the tokens at semicolons and reads one statement after another. It does
// not judge a statement that a fault cut off: its WHERE may be missing.
func (r *Reader) statements() {
	n := 0
	for i := 0; i < len(r.tokens); {
		end := r.statementEnd(i)
		if end >= len(r.tokens) && r.fault != nil {
			r.fault.Part = n
			break
		}
		if end > i {
			r.part = n
			r.one(i, end)
			n++
		}
		i = end + 1
	}
	r.part = 0
	if n > 1 {
		m := r.add(cost.MultiStatement, float64(n), 0, "text")
		if r.o.Explain {
			m.Detail = "statements separated by semicolons"
		}
	}
}

// statementEnd returns the semicolon that ends the statement at i. It skips semicolons in
// the BEGIN … END of a created routine.
func (r *Reader) statementEnd(i int) int {
	if !r.several {
		return len(r.tokens)
	}
	routine := r.routine(i)
	depth := 0
	for ; i < len(r.tokens); i = r.skip(i) {
		switch t := r.tokens[i]; {
		case t.kind == semicolon && depth == 0:
			return i
		case !routine:
		case t.word == wBegin:
			depth++
		case t.word == wEnd && depth > 0 && !r.wordIs(i+1, "if", "loop", "while", "repeat", "for", "case"):
			depth--
		}
	}
	return i
}

// routine reports whether a statement creates a routine.
func (r *Reader) routine(i int) bool {
	if r.wordAt(i) != wCreate {
		return false
	}
	const most = 12 // CREATE OR REPLACE DEFINER = 'a'@'b' SQL SECURITY INVOKER PROCEDURE
	for k := i + 1; k < i+most && k < len(r.tokens); k++ {
		switch {
		case r.kindAt(k) == semicolon, r.wordAt(k) == wAs:
			return false
		case r.wordIs(k, "procedure", "function", "trigger", "event", "package"):
			return true
		}
	}
	return false
}

// one reads a statement.
func (r *Reader) one(i, j int) {
	r.relations, r.named, r.pending, r.edges, r.items, r.reached = r.relations[:0], r.named[:0], r.pending[:0], r.edges[:0], r.items[:0], r.reached[:0]
	r.depth, r.deepest, r.top, r.reports, r.around, r.rowsEach = 0, nesting{}, r.nested == 0, 0, 0, 1
	r.whole, r.levels, r.planned = r.tok(i).hidden, 0, false
	r.nulls, r.inserted = r.nulls[:0], -1
	r.run(i, j)
	if d := r.deepest; d.depth > 0 {
		m := r.add(cost.SubqueryDepth, float64(d.depth), d.at, "SELECT")
		if r.o.Explain {
			m.Detail = "levels of nested SELECT"
		}
	}
}

// run reads a statement, or a statement inside another.
func (r *Reader) run(i, j int) {
	top := r.top
	r.top = false
	switch w := r.wordAt(i); {
	case i >= j:
	case w == wSelect, w == wValues, r.kindAt(i) == openParen:
		r.query(i, j, top)
	case w == wTable && r.kindAt(i+1) != openParen:
		r.query(i, j, top)
	case w == wFrom:
		r.query(i, j, top)
	case w == wWith:
		r.with(i, j, top)
	case w == wUpdate:
		r.update(i, j)
	case w == wDelete:
		r.delete(i, j)
	case w == wInsert, w == wReplace:
		r.insert(i, j)
	case w == wMerge:
		r.merge(i, j)
	case w == wExplain:
		r.explain(i, j)
	case w == wCreate:
		r.create(i, j)
	case w == wCopy:
		r.copy(i, j)
	case w == wDeclare, w == wPrepare:
		r.prepared(i, j)
	case w == wDo:
		r.do(i, j)
	case w == wWaitfor:
		r.denied(i, "WAITFOR")
	case w == wOrdinary && r.wordIs(i, "analyze", "analyse"):
		r.explain(i, j)
	case w == wOrdinary:
		r.drops(i, j)
		r.load(i, j)
		r.scanAll(i+1, j)
	case w == wCall:
		r.execute(i, j)
	case w == wBegin, w == wFor, w == wCase, w == wWhen, r.wordIs(i, "if", "elseif", "while", "loop", "repeat", "until"):
		r.procedure(i, j)
	case w == wSet, w == wEnd, w == wLock, w == wFetch, w == wProcedure:
		r.scanAll(i+1, j)
	case r.kindAt(i) == operator && r.wordAt(i+1) == wCall: // {call p()} of ODBC
		r.scanAll(i+1, j)
	default:
		r.scanAll(i, j)
		r.unreadable(i, "unknown statement")
	}
}

// execute reads CALL, EXEC and EXECUTE. The effect of a routine is not visible, but a
// statement in a text is.
func (r *Reader) execute(i, j int) {
	switch {
	case r.wordIs(i, "call"):
		r.scanAll(i+1, j)
	case r.wordIs(i+1, "immediate"):
		r.dynamic(i+2, j)
	case r.kindAt(i+1) == openParen, r.wordIs(i+1, "sp_executesql"):
		k := i + 1
		if r.kindAt(k) != openParen {
			k++
		}
		r.dynamic(k, j)
	default:
		r.scanAll(i+1, j)
	}
}

// drops counts what TRUNCATE, DROP and ALTER TABLE … DROP delete. Indexes, views and so on
// contain no rows of their own.
func (r *Reader) drops(i, j int) {
	n, path := 0.0, ""
	switch {
	case r.wordIs(i, "truncate"):
		n, path = float64(r.list(i+1, j)), "TRUNCATE"
	case r.wordIs(i, "drop") && (r.wordAt(i+1) == wTable || r.wordIs(i+1, "database", "schema", "tablespace", "owned") || r.wordIs(i+1, "temporary") && r.wordAt(i+2) == wTable):
		n, path = float64(r.list(i+1, j)), "DROP"
	case r.wordIs(i, "alter") && r.wordAt(i+1) == wTable:
		path = "ALTER TABLE"
		for k := i + 2; k < j; k = r.skip(k) {
			if r.wordIs(k, "drop", "truncate") && !r.wordIs(k+1, "index", "key", "constraint", "primary", "foreign", "check", "default", "not", "expression", "identity") {
				n++
			}
		}
	}
	if n == 0 {
		return
	}
	m := r.add(cost.Drop, n, i, path)
	if r.o.Explain {
		m.Detail = "tables, columns or partitions"
	}
}

// create reads the query of CREATE TABLE … AS and of a materialized view. A view and a
// routine do not run when they are created; their statements are judged when they run.
func (r *Reader) create(i, j int) {
	if r.routine(i) {
		return
	}
	if r.wordIs(j-1, "data") && (r.wordAt(j-2) == wWith || r.wordIs(j-2, "no") && r.wordAt(j-3) == wWith) { // WITH NO DATA
		for j--; r.wordAt(j) != wWith; j-- {
		}
	}
	runs := false
	for k := i + 1; k < j; k = r.skip(k) {
		switch w := r.wordAt(k); {
		case w == wTable, r.wordIs(k, "materialized"):
			runs = true
		case r.wordIs(k, "view", "index", "policy", "rule", "user", "role", "database", "schema", "statistics"):
			if !runs {
				return
			}
		case w == wSelect, w == wWith && r.wordAt(k+2) == wAs, w == wWith && r.wordAt(k+1) == wRecursive, w == wValues && r.wordAt(k-1) == wAs:
			r.run(k, j)
			return
		case w == wAs && (r.wordAt(k+1) == wTable || r.kindAt(k+1) == openParen):
			r.run(k+1, j)
			return
		}
	}
}

// copy reads COPY (query) TO, and refuses programs and files of the server.
func (r *Reader) copy(i, j int) {
	if r.kindAt(i+1) == openParen {
		r.run(i+2, r.skip(i+1)-1)
	}
	for k := i + 1; k < j; k = r.skip(k) {
		switch behind := r.wordAt(k-1) == wFrom || r.wordAt(k-1) == wTo; {
		case behind && r.wordIs(k, "program"):
			r.denied(k, "COPY … PROGRAM")
		case behind && r.file(k):
			r.denied(k, "COPY of a file")
		}
	}
}

// file reports whether a text names a file, and not an object in a store.
func (r *Reader) file(k int) bool {
	return r.kindAt(k) == text && !bytes.Contains(r.bytes(k), []byte("://"))
}

// load refuses LOAD DATA INFILE, which reads a file of the server, unlike LOCAL.
func (r *Reader) load(i, j int) {
	for k := i + 1; k < j && r.wordIs(i, "load"); k = r.skip(k) {
		switch {
		case r.wordIs(k, "local"):
			return
		case r.wordIs(k, "infile"):
			if r.file(k + 1) {
				r.denied(k, "LOAD DATA INFILE")
			}
			return
		}
	}
}

// prepared reads the statement of DECLARE … CURSOR FOR and PREPARE … AS. PREPARE … FROM has
// the statement in a text.
func (r *Reader) prepared(i, j int) {
	for k := i + 1; k < j; k = r.skip(k) {
		switch r.wordAt(k) {
		case wFor, wAs:
			r.run(k+1, j)
			return
		case wFrom:
			r.dynamic(k+1, j)
			return
		}
	}
	r.scanAll(i+1, j)
}

// block searches a text of procedural code for denied functions.
func (r *Reader) block(i int) {
	t := r.tok(i)
	b := inside(r.text[t.start:t.end])
	at := 0
	for k := 0; k < len(b); {
		if classOf(b[k]) != letter {
			k++
			continue
		}
		at, k = k, wordEnd(b, k)
		end := k
		for k < len(b) && classOf(b[k]) == space {
			k++
		}
		if k < len(b) && b[k] == '(' && r.isDenied(b[at:end]) {
			m := r.add(cost.DeniedFunction, 1, i, "DO")
			if r.o.Explain {
				m.Detail = "calls " + string(b[at:end])
			}
		}
	}
}

// wordIs reports whether token i is one of some words that have a meaning only in few
// places.
func (r *Reader) wordIs(i int, list ...string) bool {
	t := r.tok(i)
	if t.kind != bare {
		return false
	}
	for _, s := range list {
		if int(t.end-t.start) == len(s) && foldEqual(r.text[t.start:t.end], s) {
			return true
		}
	}
	return false
}

// foldEqual compares with a word in lower case.
func foldEqual(b []byte, low string) bool {
	if len(b) != len(low) {
		return false
	}
	for i, c := range b {
		if c >= 'A' && c <= 'Z' {
			c += 'a' - 'A'
		}
		if c != low[i] {
			return false
		}
	}
	return true
}
