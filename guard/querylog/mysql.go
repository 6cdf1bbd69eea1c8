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

// mysqlReader reads the slow log of MySQL and MariaDB:
//
//	# Time: …
//	# User@Host: app[app] @ web [10.0.0.7]  Id: 8
//	# Query_time: 2.0  Lock_time: 0.0 Rows_sent: 1  Rows_examined: 100000
//	use shop;
//	SET timestamp=1790000000;
//	SELECT …;
type mysqlReader struct {
	visit Visit
	line  int // of the statement; 0 before it has begun
	user  string
	took  time.Duration
	text  strings.Builder
	admin bool // it is no statement
	long  bool
}

func readMySQL(r io.Reader, visit Visit) error {
	m := &mysqlReader{visit: visit}
	err := guard.Lines(r, func(n int, raw []byte, err error) error {
		if err != nil {
			return visit(n, nil, err)
		}
		return m.next(n, strings.TrimRight(string(raw), "\r\n"))
	})
	return errors.Join(err, finishAll(err, m.finish))
}

func (m *mysqlReader) next(n int, line string) error {
	begins := strings.HasPrefix(line, "# Time: ") || strings.HasPrefix(line, "# User@Host: ")
	switch {
	case begins || isMySQLStart(line):
		if err := m.finish(); err != nil {
			return err
		}
	case m.line == 0 && strings.HasPrefix(line, "#"):
	default:
		m.statement(n, line)
		return nil
	}
	m.head(line)
	return nil
}

// isMySQLStart reports whether the server writes that it has begun, which it
// does in three lines.
func isMySQLStart(line string) bool {
	return strings.Contains(line, ", Version: ") && strings.Contains(line, "started with:") ||
		strings.HasPrefix(line, "Tcp port: ") || strings.HasPrefix(line, "Time") && strings.Contains(line, " Id Command")
}

func (m *mysqlReader) head(line string) {
	switch {
	case strings.HasPrefix(line, "# User@Host: "):
		name, rest, _ := strings.Cut(line[len("# User@Host: "):], "[")
		as, _, _ := strings.Cut(rest, "]")
		m.user = cmp.Or(strings.TrimSpace(name), as)
	case strings.HasPrefix(line, "# Query_time: "):
		words := strings.Fields(line[len("# Query_time: "):])
		if len(words) > 0 {
			f, err := strconv.ParseFloat(words[0], 64)
			m.took = times(f, time.Second, err)
		}
	case strings.HasPrefix(line, "# administrator command"):
		m.admin = true
	}
}

func (m *mysqlReader) statement(n int, line string) {
	if m.line == 0 {
		word := strings.ToLower(line)
		if strings.HasPrefix(word, "use ") || strings.HasPrefix(word, "set timestamp=") {
			return
		}
		m.line = n
	} else {
		m.text.WriteByte('\n')
	}
	if m.text.Len()+len(line) > MaxEntry {
		m.long = true
		return
	}
	m.text.WriteString(line)
}

// finish visits the statement, if there is one.
func (m *mysqlReader) finish() error {
	line, text, took, user, skip, long := m.line, m.text.String(), m.took, m.user, m.admin, m.long
	m.line, m.took, m.admin, m.long = 0, 0, false, false
	m.text.Reset()
	switch {
	case line == 0 || skip:
		return nil
	case long:
		return m.visit(line, nil, fmt.Errorf("read a query: the statement is longer than %d bytes", MaxEntry))
	}
	rec := guard.Record{Took: took, Caller: guard.Caller{User: user}}
	rec.Query = guard.Query{Kind: guard.SQL, Dialect: "mysql", Body: []byte(text), Caller: user}
	return m.visit(line, &rec, nil)
}
