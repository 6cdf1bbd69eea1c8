package sql

import (
	"bytes"

	"github.com/bezoar-dev/bezoar/guard/cost"
)

// sign reads an operator, or a comment that begins like one.
func (l *lexer) sign(i int) int {
	c, next := l.text[i], byte(0)
	if i+1 < len(l.text) {
		next = l.text[i+1]
	}
	switch {
	case c == '-' && next == '-' && l.dashes(i):
		return l.line(i)
	case c == '/' && next == '*':
		return l.comment(i)
	case c == '*' && next == '/' && l.hidden:
		l.hidden = false
		return i + 2
	}
	n, w := operatorAt(l.text[i:])
	l.ors = l.ors || w == oConcat
	return l.add(operator, w, i, i+n)
}

// dashes reports whether -- begins a comment: MySQL requires a space after it.
func (l *lexer) dashes(i int) bool {
	return l.dialect.kind != mysql || i+2 >= len(l.text) || l.text[i+2] <= ' '
}

// line skips the rest of the line.
func (l *lexer) line(i int) int {
	n := bytes.IndexByte(l.text[i:], '\n')
	if n < 0 {
		n = len(l.text) - i - 1
	}
	l.steps += n
	return i + n + 1
}

// comment skips /* … */. PostgreSQL nests comments, MySQL does not. MySQL executes the text
// of /*! … */, also inside another one, where the first */ ends both. If the dialect is
// unknown, more text is read as code.
func (l *lexer) comment(i int) int {
	if l.dialect.kind != postgres {
		if to := executable(l.text, i); to > 0 {
			l.hidden, l.hides = true, true
			return to
		}
	}
	from := i
	depth, free := 1, i+2 // start of the bytes that belong to no token yet
	for i = free; i+1 < len(l.text); {
		n := bytes.IndexByte(l.text[i:len(l.text)-1], '*')
		if n < 0 {
			break
		}
		i += n
		switch {
		case l.dialect.kind == postgres && i > free && l.text[i-1] == '/':
			depth++
			i++
			free = i
		case l.text[i+1] == '/':
			depth--
			i += 2
			free = i
			if depth == 0 {
				l.steps += i - from
				return i
			}
		default:
			i++
		}
	}
	l.fail(cost.Unparsable, "unterminated comment", from)
	return len(l.text)
}

// executable returns the start of the code in /*!40101 … */ or /*M! … */, or 0 for a
// comment.
func executable(text []byte, i int) int {
	i += 2
	if i < len(text) && text[i] == 'M' {
		i++
	}
	if i >= len(text) || text[i] != '!' {
		return 0
	}
	i++
	const shortest, longest = 5, 6 // digits of a version; fewer belong to the code
	n := 0
	for n < longest && i+n < len(text) && classOf(text[i+n]) == digit {
		n++
	}
	if n < shortest {
		n = 0
	}
	return i + n
}

// operatorAt returns the longest operator at the start of text.
func operatorAt(text []byte) (int, word) {
	if len(text) > 1 && classOf(text[1]) < sign { // the usual case: no character continues it
		return 1, operatorOf(text[0])
	}
	for n := min(4, len(text)); n > 1; n-- {
		if w := operatorWord(text[:n]); w != none {
			return n, w
		}
	}
	return 1, operatorOf(text[0])
}

func operatorOf(c byte) word {
	switch c {
	case '=':
		return oEqual
	case '<', '>':
		return oOrdered
	case '~':
		return oRegex
	case '*':
		return oStar
	case '-', '+':
		return oMinus
	}
	return oOther
}

func operatorWord(b []byte) word {
	if len(b) == 2 && classOf(b[1]) != sign && classOf(b[1]) != special {
		return none
	}
	switch string(b) {
	case "<=>", "==":
		return oEqual
	case "<>", "!=", "^=":
		return oUnequal
	case "<=", ">=":
		return oOrdered
	case "~*", "!~", "!~*":
		return oRegex
	case "~~", "~~*", "!~~", "!~~*":
		return oLike
	case "||":
		return oConcat
	case "@>", "<@", "&&", "@@", "@@@", "@?", "?|", "?&", "&<", "&>", "<<|", "|>>", "&<|", "|&>", "~=", "<%", "%>", "<<%", "%>>", "^@":
		return oHolds
	case "->", "->>", "#>", "#>>", "<<", ">>", "#-", "<->", "<#>", "-|-", "##":
		return oOther
	}
	return none
}

// special reads tokens that depend on their neighbours: placeholders, variables, casts,
// dollar quotes.
func (l *lexer) special(i int) int {
	rest := l.text[i:]
	switch rest[0] {
	case '$':
		return l.dollar(i)
	case ':':
		return l.colon(i)
	case '@':
		return l.atSign(i)
	case '?':
		return l.question(i)
	case '#':
		return l.hash(i)
	case '{':
		if n := bytes.IndexByte(rest[:min(len(rest), 64)], '}'); n > 1 && classOf(rest[1]) == letter && word1(rest[1:n]) {
			return l.add(param, none, i, i+n+1) // {name}
		}
	case '%':
		if n := percent(rest); n > 0 && !l.afterOperand() {
			if n == 2 {
				return l.addParam(i, i+n)
			}
			return l.add(param, none, i, i+n)
		}
	case '\\':
		if len(rest) > 1 && (rest[1] == 'G' || rest[1] == 'g') { // as in the shells of MySQL and PostgreSQL
			l.several = true
			return l.add(semicolon, none, i, i+2)
		}
	}
	n, w := operatorAt(rest)
	return l.add(operator, w, i, i+n)
}

// word1 reports whether b is one word.
func word1(b []byte) bool { return len(b) > 0 && wordEnd(b, 0) == len(b) }

// wordEnd is where the word at i ends.
func wordEnd(b []byte, i int) int {
	for i < len(b) && (classOf(b[i]) == letter || classOf(b[i]) == digit) {
		i++
	}
	return i
}

// percent is the length of %s or %(name)s; 0 when it is neither.
func percent(b []byte) int {
	if len(b) > 1 && (b[1] == 's' || b[1] == 'd' || b[1] == 'b' || b[1] == 't') && wordEnd(b, 1) == 2 {
		return 2
	}
	if len(b) > 3 && b[1] == '(' {
		if end := wordEnd(b[:min(len(b), 128)], 2); end > 2 && end+1 < len(b) && b[end] == ')' && b[end+1] == 's' {
			return end + 2
		}
	}
	return 0
}

func (l *lexer) colon(i int) int {
	rest := l.text[i:]
	switch {
	case len(rest) > 1 && rest[1] == ':':
		return l.add(operator, oCast, i, i+2)
	case len(rest) > 1 && rest[1] == '=':
		return l.add(operator, oAssign, i, i+2)
	case len(rest) > 1 && (classOf(rest[1]) == letter || classOf(rest[1]) == digit):
		return l.add(param, none, i, i+wordEnd(rest, 1))
	}
	return l.add(operator, oOther, i, i+1)
}

// atSign reads @name and @@name; in PostgreSQL @@ is an operator.
func (l *lexer) atSign(i int) int {
	rest := l.text[i:]
	from := 1
	if len(rest) > 1 && rest[1] == '@' && l.dialect.kind != postgres {
		from = 2
	}
	if len(rest) > from && (classOf(rest[from]) == letter || classOf(rest[from]) == digit) {
		return l.add(param, none, i, i+wordEnd(rest, from))
	}
	if len(rest) > 1 && l.dialect.kind != postgres && (rest[1] == '\'' || rest[1] == '`' || rest[1] == '"') {
		return l.quoted(i, i+1) // @'name' of MySQL
	}
	n, w := operatorAt(rest)
	return l.add(operator, w, i, i+n)
}

// question reads a placeholder, or an operator of jsonb.
func (l *lexer) question(i int) int {
	rest := l.text[i:]
	if len(rest) > 1 && (rest[1] == '|' || rest[1] == '&') && l.dialect.kind == postgres && l.afterOperand() {
		return l.add(operator, oHolds, i, i+2)
	}
	if l.dialect.kind == postgres && l.afterOperand() {
		return l.add(operator, oHolds, i, i+1)
	}
	if end := wordEnd(rest, 1); end > 1 {
		return l.add(param, none, i, i+end)
	}
	return l.addParam(i, i+1)
}

// hash reads a comment of MySQL, an operator of PostgreSQL, or #{name}.
func (l *lexer) hash(i int) int {
	rest := l.text[i:]
	if len(rest) > 2 && rest[1] == '{' {
		if n := bytes.IndexByte(rest[:min(len(rest), 128)], '}'); n > 2 && classOf(rest[2]) == letter {
			return l.add(param, none, i, i+n+1)
		}
	}
	n, w := operatorAt(rest)
	switch {
	case l.dialect.kind == postgres, l.dialect.kind == generic && n > 1:
		return l.add(operator, w, i, i+n)
	case l.dialect.kind == generic && temporary(l.last().word) && len(rest) > 1 && classOf(rest[1]) == letter:
		return l.add(quoted, none, i, i+wordEnd(rest, 1)) // #table of SQL Server
	}
	return l.line(i)
}

// temporary reports whether the name of a table follows.
func temporary(w word) bool {
	switch w {
	case wFrom, wJoin, wInto, wUpdate, wTable:
		return true
	default:
		return false
	}
}
