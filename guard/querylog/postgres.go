package querylog

import (
	"cmp"
	"errors"
	"fmt"
	"io"
	"strconv"
	"strings"
	"time"

	"github.com/bezoar-dev/bezoar/guard"
)

// MaxOpen is the maximum number of PostgreSQL sessions whose last statement waits for its
// parameters.
const MaxOpen = 1024

// pgEntry is one entry of PostgreSQL's log.
type pgEntry struct {
	line           int
	session        string // key of the session: a process
	user, app      string
	severity, text string
}

// pgReader joins statements with their parameters. PostgreSQL logs them as separate
// entries, with entries of other sessions in between.
type pgReader struct {
	visit Visit
	open  map[string]*pgOpen
	order []string // sessions in open, oldest first
}

type pgOpen struct {
	line int
	rec  guard.Record
}

func newPgReader(visit Visit) *pgReader { return &pgReader{visit: visit, open: map[string]*pgOpen{}} }

func (p *pgReader) entry(e *pgEntry) error {
	switch e.severity {
	case "LOG":
	case "DETAIL":
		if o := p.open[e.session]; o != nil {
			if list, ok := parametersOf(e.text); ok {
				o.rec.Query.Args = list
			}
		}
		return nil
	default:
		return nil
	}
	text, took, ok := statementOf(e.text)
	if o := p.open[e.session]; o != nil && took > 0 && text == "" && o.rec.Took == 0 {
		o.rec.Took = took // log_duration writes a separate line
	}
	if err := p.close(e.session); err != nil || !ok {
		return err
	}
	if len(p.open) >= MaxOpen {
		if err := p.close(p.order[0]); err != nil {
			return err
		}
	}
	p.open[e.session] = &pgOpen{e.line, pgRecord(text, took, e.user, e.app)}
	p.order = append(p.order, e.session)
	return nil
}

func pgRecord(text string, took time.Duration, user, app string) guard.Record {
	rec := guard.Record{Took: took, Caller: guard.Caller{User: user}}
	rec.Query = guard.Query{Kind: guard.SQL, Dialect: "postgres", Body: []byte(text), Caller: cmp.Or(app, user)}
	return rec
}

// close visits the open statement of a session.
func (p *pgReader) close(session string) error {
	o := p.open[session]
	if o == nil {
		return nil
	}
	delete(p.open, session)
	for i, s := range p.order {
		if s == session {
			p.order = append(p.order[:i], p.order[i+1:]...)
			break
		}
	}
	return p.visit(o.line, &o.rec, nil)
}

// end visits all open statements.
func (p *pgReader) end() error {
	for len(p.order) > 0 {
		if err := p.close(p.order[0]); err != nil {
			return err
		}
	}
	return nil
}

// statementOf parses a message such as "duration: 1.2 ms execute a: SELECT 1". A duration
// alone yields no text. A statement that is only parsed or bound is not reported.
func statementOf(msg string) (text string, took time.Duration, ok bool) {
	if rest, found := strings.CutPrefix(msg, "duration: "); found {
		number, after, _ := strings.Cut(rest, " ms")
		f, err := strconv.ParseFloat(number, 64)
		took, msg = times(f, time.Millisecond, err), strings.TrimLeft(after, " ")
	}
	if text, ok = strings.CutPrefix(msg, "statement: "); ok {
		return text, took, text != ""
	}
	if rest, found := strings.CutPrefix(msg, "execute "); found {
		_, text, ok = strings.Cut(rest, ": ")
		return text, took, ok && text != ""
	}
	return "", took, false
}

// parametersOf parses "Parameters: $1 = 'it”s', $2 = NULL".
func parametersOf(detail string) (list []any, ok bool) {
	rest, found := strings.CutPrefix(detail, "parameters: ")
	if !found {
		rest, found = strings.CutPrefix(detail, "Parameters: ")
	}
	if !found {
		return nil, false
	}
	for n := 1; ; n++ {
		var value string
		if rest, found = strings.CutPrefix(rest, "$"+strconv.Itoa(n)+" = "); !found {
			return list, len(list) > 0
		}
		if value, found = strings.CutPrefix(rest, "NULL"); found {
			list, rest = append(list, nil), value
		} else if value, rest, found = quoted(rest); found {
			list = append(list, value)
		} else {
			return list, len(list) > 0
		}
		rest = strings.TrimPrefix(rest, ", ")
	}
}

// quoted cuts 'it”s' off a text. If the server cut the value, three dots before the closing
// quote stay.
func quoted(s string) (value, rest string, ok bool) {
	if !strings.HasPrefix(s, "'") {
		return "", s, false
	}
	for i := 1; i < len(s); i++ {
		switch {
		case s[i] != '\'':
		case i+1 < len(s) && s[i+1] == '\'':
			i++
		default:
			return strings.ReplaceAll(s[1:i], "''", "'"), s[i+1:], true
		}
	}
	return "", s, false
}

// readPostgres reads a text log. A line that begins with a tab, or has no severity,
// continues the previous entry.
func readPostgres(r io.Reader, visit Visit) error {
	p := newPgReader(visit)
	var e pgEntry
	var text strings.Builder
	long := false
	finish := func() error {
		if e.severity == "" {
			return nil
		}
		e.text = text.String()
		text.Reset()
		if long {
			long = false
			return p.visit(e.line, nil, fmt.Errorf("read a query: the statement is longer than %d bytes", MaxEntry))
		}
		return p.entry(&e)
	}
	err := guard.Lines(r, func(n int, raw []byte, err error) error {
		if err != nil {
			return visit(n, nil, err)
		}
		line := strings.TrimRight(string(raw), "\r\n")
		prefix, severity, message := cutSeverity(line)
		if line[0] == '\t' || severity == "" {
			if text.Len()+len(line) > MaxEntry {
				long = true
			} else if e.severity != "" {
				text.WriteByte('\n')
				text.WriteString(strings.TrimPrefix(line, "\t"))
			}
			return nil
		}
		if err := finish(); err != nil {
			return err
		}
		e = pgEntry{line: n, severity: severity}
		e.session, e.user, e.app = prefixOf(prefix)
		long = len(message) > MaxEntry
		if !long {
			text.WriteString(message)
		}
		return nil
	})
	return errors.Join(err, finishAll(err, finish, p.end))
}

// finishAll runs the final steps for a log, unless reading stopped early.
func finishAll(left error, steps ...func() error) error {
	for _, step := range steps {
		if left != nil {
			return nil
		}
		left = step()
		if left != nil {
			return left
		}
	}
	return nil
}

// cutSeverity splits a line at the first severity. severity is "" if there is none.
func cutSeverity(line string) (prefix, severity, message string) {
	const gap = ":  "
	for from := 0; ; {
		i := strings.Index(line[from:], gap)
		if i < 0 || from+i > maxPrefix {
			return "", "", ""
		}
		i += from
		word := line[strings.LastIndexByte(line[:i], ' ')+1 : i]
		switch word {
		case "LOG", "DETAIL", "ERROR", "STATEMENT", "HINT", "CONTEXT", "WARNING", "FATAL", "PANIC", "NOTICE", "INFO", "QUERY", "LOCATION":
			return line[:i-len(word)], word, line[i+len(gap):]
		}
		from = i + len(gap)
	}
}

// maxPrefix is the maximum length of the text before a severity.
const maxPrefix = 1024

// prefixOf extracts what it can from the prefix of a line, which operators configure: the
// process in brackets, user=, app=, and user@database/application.
func prefixOf(prefix string) (session, user, app string) {
	for _, word := range strings.FieldsFunc(prefix, func(r rune) bool { return r == ' ' || r == ',' || r == '\t' }) {
		key, value, ok := strings.Cut(word, "=")
		switch {
		case ok && (key == "user" || key == "usr"):
			user = value
		case ok && (key == "app" || key == "application_name"):
			app = value
		case ok && (key == "pid" || key == "session"):
			session = value
		case ok:
		case session == "" && bracketedNumber(word) != "":
			session = bracketedNumber(word)
		case user == "" && strings.Count(word, "@") == 1 && word[0] != '@':
			var database string
			user, database, _ = strings.Cut(word, "@")
			if _, name, ok := strings.Cut(database, "/"); ok && app == "" { // user@database/application
				app = strings.TrimSuffix(name, ":")
			}
		}
	}
	if user == "[unknown]" {
		user = ""
	}
	return session, user, strings.TrimSuffix(app, "[unknown]")
}

// bracketedNumber extracts the number from [123], [123-1] or [123]:.
func bracketedNumber(word string) string {
	_, rest, _ := strings.Cut(word, "[")
	inner, _, ok := strings.Cut(rest, "]")
	number, _, _ := strings.Cut(inner, "-")
	if _, err := strconv.ParseUint(number, 10, 64); !ok || err != nil {
		return ""
	}
	return number
}

// postgresObject parses a line of PostgreSQL's JSON log, which has the parameters with the
// statement.
func postgresObject(o object) (guard.Record, error) {
	severity := o.text("error_severity")
	if severity == "" {
		return guard.Record{}, errOther
	}
	text, took, ok := statementOf(o.text("message"))
	if severity != "LOG" || !ok {
		return guard.Record{}, errNoQuery
	}
	rec := pgRecord(text, took, o.text("user"), o.text("application_name"))
	if list, ok := parametersOf(o.text("detail")); ok {
		rec.Query.Args = list
	}
	return rec, nil
}
