package querylog

import (
	"bufio"
	"cmp"
	"errors"
	"fmt"
	"io"
	"strconv"
	"strings"
	"time"

	"github.com/bezoar-dev/bezoar/guard"
)

// table reads CSV with quotes that hold commas and ends of lines. A row beyond
// MaxEntry is passed over, to the next end of a line outside quotes.
type table struct {
	in   *bufio.Reader
	line int // that the next row begins at
	row  []string
	cell []byte
}

func newTable(r io.Reader) *table { return &table{in: bufio.NewReader(r), line: 1} }

var errLongRow = fmt.Errorf("read a query: the row is longer than %d bytes", MaxEntry)

// next reads a row, and says where it begins. io.EOF is the end; errLongRow means
// that there are more.
func (t *table) next() (line int, row []string, err error) {
	t.row, t.cell = t.row[:0], t.cell[:0]
	line = t.line
	inside, size := false, 0
	for {
		c, err := t.in.ReadByte()
		if errors.Is(err, io.EOF) && size == 0 {
			return line, nil, io.EOF
		}
		if err != nil && !errors.Is(err, io.EOF) {
			return line, nil, err
		}
		if c == '\n' {
			t.line++
		}
		if size++; size > MaxEntry {
			t.cell, t.row = t.cell[:0], t.row[:0]
		}
		switch {
		case err != nil, c == '\n' && !inside:
			t.endCell()
			if size > MaxEntry {
				return line, nil, errLongRow
			}
			return line, t.row, nil
		case c == '"' && !inside:
			inside = true
		case c == '"':
			if next, err := t.in.Peek(1); err == nil && next[0] == '"' {
				_, _ = t.in.Discard(1)
				t.cell = append(t.cell, '"')
				break
			}
			inside = false
		case c == ',' && !inside:
			t.endCell()
		case c == '\r' && !inside:
		default:
			t.cell = append(t.cell, c)
		}
	}
}

func (t *table) endCell() {
	t.row = append(t.row, string(t.cell))
	t.cell = t.cell[:0]
}

// Columns of PostgreSQL's CSV log.
const (
	pgUser     = 1
	pgProcess  = 3
	pgSeverity = 11
	pgMessage  = 13
	pgDetail   = 14
	pgApp      = 22
	pgColumns  = 23
)

// isPostgresCSV reports whether a line begins a row of PostgreSQL's log.
func isPostgresCSV(line string) bool {
	cells := strings.SplitN(line, ",", pgMessage+1)
	if len(cells) <= pgMessage || !strings.HasPrefix(line, "2") {
		return false
	}
	switch cells[pgSeverity] {
	case "LOG", "ERROR", "FATAL", "WARNING", "PANIC", "NOTICE", "INFO":
		return true
	}
	return false
}

// rows visits every row of a CSV.
func rows(r io.Reader, visit Visit, do func(line int, row []string) error) error {
	t := newTable(r)
	for {
		line, row, err := t.next()
		switch {
		case errors.Is(err, io.EOF):
			return nil
		case errors.Is(err, errLongRow):
			err = visit(line, nil, err)
		case err == nil:
			err = do(line, row)
		}
		if err != nil {
			return err
		}
	}
}

func readPostgresCSV(r io.Reader, visit Visit) error {
	p := newPgReader(visit)
	err := rows(r, visit, func(line int, row []string) error {
		if len(row) < pgColumns {
			return nil
		}
		e := pgEntry{line: line, session: row[pgProcess], user: row[pgUser], app: row[pgApp], severity: row[pgSeverity], text: row[pgMessage]}
		err := p.entry(&e)
		if err == nil && row[pgDetail] != "" && e.severity == "LOG" {
			e.severity, e.text = "DETAIL", row[pgDetail]
			err = p.entry(&e)
		}
		return err
	})
	return errors.Join(err, finishAll(err, p.end))
}

// postgresObject reads a line of PostgreSQL's JSON log, where the parameters are
// with the statement.
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

// isTableHead reports whether a line names the columns of statistics.
func isTableHead(line string) bool {
	query, calls := false, false
	for cell := range strings.SplitSeq(strings.ToLower(line), ",") {
		name := strings.Trim(cell, `" `)
		query, calls = query || name == "query", calls || name == "calls"
	}
	return query && calls
}

// readTable reads statistics: a query for each row, and how often it ran.
func readTable(r io.Reader, visit Visit) error {
	var head map[string]int
	return rows(r, visit, func(line int, row []string) error {
		if head == nil {
			head = map[string]int{}
			for i, name := range row {
				head[strings.ToLower(strings.TrimSpace(name))] = i
			}
			if _, ok := head["query"]; !ok {
				return errors.New("read a log: the first row of the table names no column query")
			}
			return nil
		}
		cell := func(names ...string) string {
			for _, n := range names {
				if i, ok := head[n]; ok && i < len(row) && row[i] != "" {
					return row[i]
				}
			}
			return ""
		}
		text := cell("query")
		if text == "" || text == "<insufficient privilege>" {
			return nil
		}
		f, err := strconv.ParseFloat(cell("mean_exec_time", "mean_time"), 64)
		user := cell("rolname", "usename", "username", "user")
		rec := pgRecord(text, times(f, time.Millisecond, err), user, "")
		rec.Partial = "values are not in the table"
		if n, err := strconv.ParseInt(cmp.Or(cell("calls"), "1"), 10, 64); err == nil && n > 0 {
			rec.Calls = n
		}
		return visit(line, &rec, nil)
	})
}
