package querylog_test

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/bezoar-dev/bezoar/guard"
	"github.com/bezoar-dev/bezoar/guard/querylog"
)

// shown is what a log holds, a line for each query.
func shown(t *testing.T, text []byte, o querylog.Options) string {
	t.Helper()
	var b strings.Builder
	err := querylog.Read(bytes.NewReader(text), o, func(line int, rec *guard.Record, err error) error {
		if err != nil {
			fmt.Fprintf(&b, "%d! %v\n", line, err)
			return nil
		}
		q := rec.Query
		fmt.Fprintf(&b, "%d %s", line, q.Kind)
		for _, s := range []string{q.Dialect, q.Method, q.Path, q.RawQuery} {
			if s != "" {
				fmt.Fprintf(&b, " %s", s)
			}
		}
		if len(q.Body) > 0 {
			fmt.Fprintf(&b, " %q", q.Body)
		}
		if len(q.Args) > 0 {
			fmt.Fprintf(&b, " args=%q", q.Args)
		}
		fmt.Fprintf(&b, " caller=%s id=%s user=%s took=%v", q.Caller, rec.Caller.OpaqueID, rec.Caller.User, rec.Took)
		if rec.Calls > 0 {
			fmt.Fprintf(&b, " calls=%d", rec.Calls)
		}
		if rec.Partial != "" {
			fmt.Fprintf(&b, " (%s)", rec.Partial)
		}
		b.WriteByte('\n')
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return b.String()
}

func TestLogs(t *testing.T) {
	for file, c := range map[string]struct {
		format querylog.Format
		want   string
	}{
		"access.log": {querylog.Lines, `
1 elasticsearch GET /shop/_search q=title:lamp&size=20 caller=ann id= user=ann took=12ms
2 elasticsearch GET /favicon.ico caller=10.1.0.5 id= user= took=0s
3 elasticsearch POST /shop/_search caller=10.1.0.5 id= user= took=0s (bodies are not in the log)
4 elasticsearch GET /shop/_search q=%22big%20lamp%22&note="a"&size=30000 caller=bob id= user=bob took=2.5s
5! read a query: "\\x16\\x03\\x01" is not a request: write one such as POST /idx/_search?size=5
`},
		"access.json": {querylog.Lines, `
1 elasticsearch POST /shop/_search size=3 "{\"query\":{\"match_all\":{}}}" caller=ann id= user=ann took=250ms
2 elasticsearch GET /shop/_count q=a caller=nightly id=nightly user= took=100ms
3 elasticsearch GET /shop/_search size=5 caller=10.1.0.9 id= user= took=3ms
4 elasticsearch GET /shop/_search size=6 caller=10.1.0.8 id= user= took=2.5ms
5 elasticsearch GET /shop/_search caller=c1 id= user= took=12.5ms
6! read a query: Bezoar's access log contains no paths; let the guard record its queries instead
7 elasticsearch GET /shop/_search size=7 caller=ann id= user=ann took=0s
8 sql "SELECT 1" caller=eve id= user=eve took=3ms
`},
		"postgres.log": {querylog.Postgres, `
2 sql postgres "SELECT *\nFROM t\nWHERE a = 1" caller=web id= user=app took=5.339ms
9 sql postgres "DELETE FROM t;" caller=psql id= user=ann took=2s
8 sql postgres "SELECT id FROM t LIMIT $1 OFFSET $2" args=["5" "it's\nmore"] caller=web id= user=app took=12.5ms
15 sql postgres "SELECT 1" caller=cron id= user=eve took=0s
`},
		"postgres.json": {querylog.Lines, `
1 sql postgres "SELECT id FROM t LIMIT $1" args=["5"] caller=web id= user=app took=12.5ms
`},
	} {
		t.Run(file, func(t *testing.T) {
			text, err := os.ReadFile(filepath.Join("testdata", file))
			if err != nil {
				t.Fatal(err)
			}
			if f := querylog.Detect(text); f != c.format {
				t.Errorf("it is taken for %s", f)
			}
			for _, text := range [][]byte{text, bytes.ReplaceAll(text, []byte("\n"), []byte("\r\n"))} {
				got := strings.ReplaceAll(shown(t, text, querylog.Options{}), `\r\n`, `\n`)
				if want := c.want[1:]; got != want {
					t.Errorf("got\n%s\nwant\n%s", got, want)
				}
			}
		})
	}
}

// TestNamedFormat reads logs that begin with what says nothing.
func TestNamedFormat(t *testing.T) {
	const log = "{}\nx [1] LOG:  statement: SELECT 1\n"
	if got := shown(t, []byte(log), querylog.Options{Format: "postgresql"}); got != "2 sql postgres \"SELECT 1\" caller= id= user= took=0s\n" {
		t.Errorf("%s", got)
	}
	const access = `1.2.3.4 - - [x] "GET /graphql?query={a} HTTP/1.1" 200 1`
	if got := shown(t, []byte(access), querylog.Options{Format: querylog.Lines, Kind: guard.GraphQL}); !strings.HasPrefix(got, "1 graphql GET /graphql query={a} ") {
		t.Errorf("%s", got)
	}
	for _, o := range []querylog.Options{{Format: "lisp"}, {Kind: "lisp"}} {
		if err := querylog.Read(strings.NewReader(""), o, nil); err == nil {
			t.Errorf("%+v was taken", o)
		}
	}
}

// TestManySessions: parameters may come after statements of others, up to a
// bound.
func TestManySessions(t *testing.T) {
	var b strings.Builder
	const sessions = querylog.MaxOpen + 10
	for i := range sessions {
		fmt.Fprintf(&b, "x [%d] LOG:  execute a: SELECT $1\n", i)
	}
	for i := range sessions {
		fmt.Fprintf(&b, "x [%d] DETAIL:  parameters: $1 = '%d'\n", i, i)
	}
	n, bound := 0, 0
	err := querylog.Read(strings.NewReader(b.String()), querylog.Options{}, func(_ int, rec *guard.Record, err error) error {
		n++
		if len(rec.Query.Args) == 1 {
			bound++
		}
		return err
	})
	if err != nil || n != sessions || bound != querylog.MaxOpen {
		t.Errorf("%d queries, %d with their values: %v", n, bound, err)
	}
}

// TestLongEntries: one that is too long is told, and the next is read.
func TestLongEntries(t *testing.T) {
	long := strings.Repeat("x", querylog.MaxEntry+1)
	lines := strings.Repeat(strings.Repeat("\t"+strings.Repeat("y", 1<<20)+"\n", 1), querylog.MaxEntry>>20+1)
	for name, log := range map[string]string{
		"postgres": "x [1] LOG:  statement: a\n" + lines + "x [1] LOG:  statement: SELECT 1\n",
		"lines":    "{\"sql\":\"" + long + "\"}\n{\"sql\":\"SELECT 1\"}\n",
	} {
		got := shown(t, []byte(log), querylog.Options{})
		first, second, _ := strings.Cut(got, "\n")
		if !strings.Contains(first, "! ") || !strings.Contains(first, "longer than") || !strings.Contains(second, "SELECT 1") {
			t.Errorf("%s: %.300s", name, got)
		}
	}
}

func TestReadingEndsWhereItIsLeft(t *testing.T) {
	stop := errors.New("enough")
	files, err := filepath.Glob("testdata/*.*")
	if err != nil || len(files) != 4 {
		t.Fatal(files, err)
	}
	for _, file := range files {
		text, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		n := 0
		err = querylog.Read(bytes.NewReader(text), querylog.Options{}, func(int, *guard.Record, error) error {
			n++
			return stop
		})
		if !errors.Is(err, stop) || n != 1 {
			t.Errorf("%s: %d queries, %v", file, n, err)
		}
	}
}

func FuzzRead(f *testing.F) {
	files, err := filepath.Glob("testdata/*.*")
	if err != nil {
		f.Fatal(err)
	}
	for _, file := range files {
		text, err := os.ReadFile(file)
		if err != nil {
			f.Fatal(err)
		}
		for kind := range uint8(6) {
			f.Add(text, kind)
		}
	}
	f.Fuzz(func(t *testing.T, text []byte, kind uint8) {
		formats := []querylog.Format{querylog.Lines, querylog.Postgres, ""}
		last := 0
		err := querylog.Read(bytes.NewReader(text), querylog.Options{Format: formats[int(kind)%len(formats)]}, func(line int, rec *guard.Record, err error) error {
			switch {
			case line < 1 || line > bytes.Count(text, []byte("\n"))+1:
				t.Errorf("line %d", line)
			case (rec == nil) == (err == nil):
				t.Errorf("record %v and error %v", rec, err)
			case err == nil && (rec.Took < 0 || rec.Calls < 0 || rec.Query.Kind == ""):
				t.Errorf("%+v", rec)
			case err == nil && rec.Query.Kind == guard.SQL && len(rec.Query.Body) > 2*len(text)+8:
				t.Errorf("a statement of %d bytes from a log of %d", len(rec.Query.Body), len(text))
			}
			last = line
			return nil
		})
		if err != nil {
			t.Errorf("after line %d: %v", last, err)
		}
	})
}
