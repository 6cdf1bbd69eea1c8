package mysql

import (
	"context"
	"database/sql"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"unicode"

	guardsql "github.com/bezoar-dev/bezoar/guard/sql"
)

// mode is a sql_mode of the server and the dialect that the guard has for it.
type mode struct{ sql, dialect string }

func modes() []mode {
	return []mode{
		{"", "mariadb"},
		{"ANSI_QUOTES", "mariadb+ansi_quotes"},
		{"NO_BACKSLASH_ESCAPES", "mariadb+no_backslash_escapes"},
		{"ANSI_QUOTES,NO_BACKSLASH_ESCAPES", "mariadb+ansi_quotes+no_backslash_escapes"},
	}
}

func (m mode) backslash() bool  { return !strings.Contains(m.sql, "NO_BACKSLASH") }
func (m mode) ansiQuotes() bool { return strings.Contains(m.sql, "ANSI") }

// result is what a SELECT of texts gives: values, and the names of columns where
// it gives them.
type result struct{ values, names []string }

// unknown stands for the value of an expression, and the name of a column that
// the text does not name.
const unknown = "?"

// asGuard is what the guard takes a text for: SELECT 'a' 'b' AS `c`, -'d'. ok is
// false when it is nothing of that kind.
func (m mode) asGuard(text string) (result, bool) {
	type token struct {
		kind guardsql.TokenKind
		text string
	}
	var tokens []token
	guardsql.Tokens([]byte(text), m.dialect, func(k guardsql.TokenKind, from, to int) { tokens = append(tokens, token{k, text[from:to]}) })
	if len(tokens) == 0 || !strings.EqualFold(tokens[0].text, "SELECT") {
		return result{}, false
	}
	var r result
	value, name, pure := "", unknown, true
	end := func() {
		if !pure {
			value = unknown
		}
		r.values, r.names = append(r.values, value), append(r.names, name)
		value, name, pure = "", unknown, true
	}
	for i, t := range tokens[1:] {
		switch last := tokens[i]; {
		case t.text == ",":
			end()
		case t.text == ";" && i == len(tokens)-2, strings.EqualFold(t.text, "AS"):
		case strings.EqualFold(last.text, "AS") && t.kind == guardsql.Text, t.kind == guardsql.Name:
			name = m.decode(t.text, t.kind == guardsql.Text)
		case t.kind == guardsql.Word:
			name = t.text
		case t.kind == guardsql.Text:
			pure = pure && !strings.ContainsAny(t.text[:1], "bBxX") // bits and bytes
			value += m.decode(t.text, true)
		case t.kind == guardsql.Sign, t.kind == guardsql.Number:
			pure = false
		default:
			return result{}, false
		}
	}
	end()
	return r, true
}

// decode is what a text or a name in quotes says.
func (m mode) decode(t string, isText bool) string {
	t = strings.TrimLeft(t, "nNbBxX") // what may stand before the quotes
	q, in := t[:1], t[1:len(t)-1]
	var b strings.Builder
	for i := 0; i < len(in); i++ {
		switch {
		case in[i] == '\\' && isText && m.backslash() && i+1 < len(in):
			i++
			switch c := in[i]; c {
			case 'n':
				b.WriteByte('\n')
			case 'b':
				b.WriteByte('\b')
			case '%', '_':
				b.WriteString(`\` + string(c))
			default:
				b.WriteByte(c)
			}
		case in[i] == q[0]:
			i++ // doubled
			b.WriteByte(q[0])
		default:
			b.WriteByte(in[i])
		}
	}
	return b.String()
}

// asServer is what the server gives for a text; ok is false when it refuses it.
func asServer(t *testing.T, conn *sql.Conn, text string) (result, bool) {
	t.Helper()
	rows, err := conn.QueryContext(t.Context(), text)
	if err != nil {
		return result{}, false
	}
	defer rows.Close()
	names, err := rows.Columns()
	if err != nil {
		t.Fatal(err)
	}
	values, into := make([]string, len(names)), make([]any, len(names))
	for i := range values {
		into[i] = &values[i]
	}
	if !rows.Next() {
		return result{}, false
	}
	if err := rows.Scan(into...); err != nil {
		return result{}, false // a NULL: it was no text
	}
	return result{values, names}, rows.Err() == nil
}

// pieces are what strings, and what stands between them, are made of here.
const (
	insides = `'"\` + "`" + `ab n%_,;-#/*! `
	spoil   = `'"\` + "`" + `#-/*!,; ` + "\n"
)

func between(r *rand.Rand) string {
	list := []string{
		" ", "\n", " ", "/* ' */", "/**/", "/* \" ` */", "-- '\n", "--\t\"\n", "#'\n", "# /* \n", "/* /* */", "/* -- */", "/*! */", "/*!50000 */", "/*M! */",
		"/*!50000 'x' */", "/*! \"y\" */", "/*! /* ' */ */",
	}
	return list[r.IntN(len(list))]
}

// quoted writes a text that is whole in the mode, or nearly.
func quoted(r *rand.Rand, m mode, q byte) string {
	b := []byte{q}
	for range r.IntN(6) {
		c := insides[r.IntN(len(insides))]
		switch {
		case c == q, c == '\\' && m.backslash() && q != '`' && (q != '"' || !m.ansiQuotes()):
			b = append(b, c, c)
		case c == '\\' && r.IntN(2) == 0:
			b = append(b, c, 'b')
		default:
			b = append(b, c)
		}
	}
	return string(append(b, q))
}

func statement(r *rand.Rand, m mode) string {
	var b strings.Builder
	b.WriteString("SELECT")
	for i := range 1 + r.IntN(3) {
		if i > 0 {
			b.WriteString(between(r) + ",")
		}
		quotes := `''"`
		if m.ansiQuotes() {
			quotes = `'`
		}
		for range 1 + r.IntN(2) {
			b.WriteString(between(r) + " " + quoted(r, m, quotes[r.IntN(len(quotes))]))
		}
		if r.IntN(2) == 0 {
			b.WriteString(between(r) + " AS " + between(r) + quoted(r, m, "`\""[r.IntN(2)]))
		}
	}
	text := b.String() + " " + between(r)
	for range r.IntN(3) { // and then something goes wrong
		at, c := 6+r.IntN(len(text)-6), spoil[r.IntN(len(spoil))]
		if r.IntN(2) == 0 {
			text = text[:at] + text[at+1:]
		} else {
			text = text[:at] + string(c) + text[at:]
		}
	}
	return text
}

// TestReadsAsTheServer: whatever the server takes for texts and names, the guard
// does too, in each mode: nothing that one of them reads as code is text for the
// other.
func TestReadsAsTheServer(t *testing.T) {
	db := open(t, "mariadb")
	run(t, db.plain, "SET GLOBAL general_log = OFF") // it would slow down thousands of queries
	for _, m := range modes() {
		t.Run(m.dialect, func(t *testing.T) {
			conn, err := db.plain.Conn(t.Context())
			if err != nil {
				t.Fatal(err)
			}
			defer conn.Close()
			if _, err := conn.ExecContext(context.WithoutCancel(t.Context()), "SET SESSION sql_mode = ?", m.sql); err != nil {
				t.Fatal(err)
			}
			r := rand.New(rand.NewPCG(1, uint64(len(m.dialect))))
			compared := 0
			for range 3000 {
				text := statement(r, m)
				server, ok := asServer(t, conn, text)
				if !ok {
					continue
				}
				compared++
				compare(t, m, text, server)
			}
			t.Logf("%d of 3000 compared", compared)
			if compared < 1000 {
				t.Errorf("the server took only %d of 3000", compared)
			}
		})
	}
}

func compare(t *testing.T, m mode, text string, server result) {
	t.Helper()
	read, ok := m.asGuard(text)
	if !ok {
		t.Errorf("%q: the server gives %q, the guard reads no texts", text, server.values)
		return
	}
	for i := range min(len(read.names), len(server.names)) {
		if read.names[i] == unknown {
			server.names[i] = unknown // it makes one up
		}
		if read.values[i] == unknown {
			server.values[i] = unknown
		}
	}
	if !slices.Equal(read.values, server.values) || !slices.Equal(trimmed(read.names), trimmed(server.names)) {
		t.Errorf("%q:\nthe server gives %q as %q,\nthe guard reads %q as %q", text, server.values, server.names, read.values, read.names)
	}
}

// trimmed are names without what the server takes off: space, and what cannot be
// printed.
func trimmed(names []string) []string {
	list := make([]string, len(names))
	for i, n := range names {
		list[i] = strings.TrimFunc(n, func(r rune) bool { return !unicode.IsGraphic(r) || unicode.IsSpace(r) })
	}
	return list
}
