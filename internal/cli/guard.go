package cli

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/bezoar-dev/bezoar/guard"
)

type guardCmd struct {
	Check  guardCheckCmd  `cmd:"" help:"Show what queries will cost, and whether the limits reject them."`
	Replay guardReplayCmd `cmd:"" help:"Show which queries of a log the limits would have rejected, and whose."`
	Top    guardTopCmd    `cmd:"" help:"List the callers and shapes that cost most at a running gateway, predicted and actual."`
	Set    guardSetCmd    `cmd:"" help:"Tighten or loosen the limits of queries for a while."`
	Limits guardLimitsCmd `cmd:"" help:"Show the limits of a route, or replace them in a new version of the settings."`
}

// guardFlags holds flags that the guard's commands share.
type guardFlags struct {
	Limits string `placeholder:"FILE" help:"File with limits that replace default ones."`
	Hints  string `placeholder:"FILE" help:"File with hints about indices and fields: sizes, cardinalities, ranges."`
	Class  string `placeholder:"NAME" help:"Judge by the limits of this class of callers."`
}

// classed makes a guard and checks that it has the class.
func (f guardFlags) classed(s *session) (*guard.Guard, error) {
	g, err := f.guardOf(s, f.Limits)
	if err != nil || f.Class == "" {
		return g, err
	}
	limits, _ := g.Limits()
	if limits.HasClass(f.Class) {
		return g, nil
	}
	err = exitf(exitUsage, "there is no class %.100q", f.Class)
	if len(limits.Classes) == 0 {
		return nil, hinted(err, "name the file that has it with --limits")
	}
	names := make([]string, 0, len(limits.Classes))
	for _, c := range limits.Classes {
		names = append(names, clean(c.Name))
	}
	return nil, hinted(err, "classes of the limits: %s", strings.Join(names, ", "))
}

type guardCheckCmd struct {
	guardFlags
	Files   []string `arg:"" optional:"" name:"file" help:"Files with one query each; - is standard input."`
	Kind    string   `placeholder:"KIND" help:"elasticsearch, opensearch, sql, graphql or regex. Default: by the file's extension, .json, .ndjson, .sql, .graphql, .gql or .regex."`
	Request string   `placeholder:"REQUEST" help:"The request whose body is in the file, such as 'POST /idx/_search?size=5' (default: a search)."`
	Dialect string   `placeholder:"NAME" help:"The dialect. For SQL: postgres, mysql, mariadb and others. For a regular expression: js, python, pcre, ruby, java, dotnet, mysql, re2, lucene or postgres (default js), with flags after a slash: js/is."`
	Batch   string   `placeholder:"FILE" help:"Read queries from this file instead: one JSON object per line with id, kind, request, body, sql, graphql or pattern, and dialect; - is standard input. Prints one line for each."`
}

func (guardCheckCmd) Help() string {
	return "Exit codes: 0 no query is rejected, 1 a query is rejected, 2 the command is wrong or a file cannot be read, " +
		"3 a file does not exist, 6 some of several files cannot be read or do not exist. --json prints one line per file. " +
		"--batch prints one line for each line that it reads, in the same order. Rejections are in these lines; the exit code is 0 if all lines could be read, 6 if some could not, 2 if none could. " +
		"In JSON, 1e308 means that there is no bound."
}

func (c *guardCheckCmd) Run(s *session) error {
	if (c.Batch == "") == (len(c.Files) == 0) {
		return hinted(exitf(exitUsage, "name either files or --batch FILE"), "bezoar guard check query.json, or - for standard input")
	}
	if c.Batch != "" && (c.Kind != "" || c.Request != "") {
		return exitf(exitUsage, "--kind and --request are for files: each line of a batch has its own")
	}
	if err := twice(append([]string{c.Limits, c.Hints, c.Batch}, c.Files...)...); err != nil {
		return err
	}
	if len(c.Files) > 0 && c.Dialect != "" && !slices.ContainsFunc(c.Files, c.hasDialect) {
		return exitf(exitUsage, "--dialect is for SQL and regular expressions, and no file is one of these: --kind sets the kind")
	}
	g, err := c.classed(s)
	if err != nil {
		return err
	}
	if c.Batch != "" {
		return c.batch(s, g)
	}
	rejected := 0
	err = each(s, c.Files, func(file string) error {
		no, err := c.file(s, g, file)
		if no {
			rejected++
		}
		return err
	})
	switch {
	case err != nil && rejected > 0:
		return &exitError{code: codeOf(err), err: fmt.Errorf("%w, and %d would be rejected", err, rejected)}
	case err != nil:
		return err
	case rejected > 0:
		return exitf(exitFailure, "%d of %d would be rejected", rejected, len(c.Files))
	}
	return nil
}

// maxQueryFile bounds how much of a query is read. Guards reject a longer one by its first bytes.
const maxQueryFile = 64 << 20

func (c *guardCheckCmd) file(s *session, g *guard.Guard, file string) (rejected bool, err error) {
	q, err := c.query(file)
	if info, statErr := os.Stat(file); err != nil && statErr == nil && info.IsDir() {
		err = errors.New("is a directory") // whose name says no kind
	}
	if err != nil {
		return false, &exitError{code: exitUsage, err: fmt.Errorf("%s: %w", clean(file), err)}
	}
	if q.Body, _, err = readWhole(s, file, maxQueryFile); err != nil {
		return false, err
	}
	if c.Kind == "" && c.Request == "" && aBatch(file, q.Body) {
		return false, exitf(exitUsage, "%s is a batch: its lines name kinds and requests themselves; use --batch %s", clean(file), clean(file))
	}
	if q.Kind == guard.Regex { // a line end after the expression is not part of it
		q.Body = bytes.TrimSuffix(bytes.TrimSuffix(q.Body, []byte("\n")), []byte("\r"))
	}
	var v guard.Verdict
	g.Check(&q, &v)
	if s.json {
		return v.Verdict == guard.Rejected, writeLine(s.Stdout, checkedLine{File: file, batchLine: lineOf(&v)})
	}
	writeGuarded(s.out, file, &v)
	return v.Verdict == guard.Rejected, nil
}

// aBatch reports whether a file is a _msearch although it has the name of a search.
func aBatch(file string, body []byte) bool {
	if !strings.EqualFold(filepath.Ext(file), ".ndjson") {
		return false
	}
	line, _, _ := bytes.Cut(body, []byte("\n"))
	var names map[string]json.RawMessage
	if json.Unmarshal(line, &names) != nil {
		return false
	}
	for _, name := range [...]string{"kind", "request", "sql", "pattern", "graphql", "body"} { // no head of a search has these
		if names[name] != nil {
			return true
		}
	}
	return false
}

// checkedLine is what --json prints for a file.
type checkedLine struct {
	File string `json:"file"`
	batchLine
}

// hasDialect reports whether the file's query may have a dialect.
func (c *guardCheckCmd) hasDialect(file string) bool {
	q, err := c.query(file)
	return err != nil || q.Kind == guard.SQL || q.Kind == guard.Regex // an error is reported later
}

// query builds the query from the flags, the file's name and its content.
func (c *guardCheckCmd) query(file string) (guard.Query, error) {
	q := guard.Query{Class: c.Class}
	request := "POST /_search"
	kind := c.Kind
	switch strings.ToLower(filepath.Ext(file)) {
	case ".json":
		kind = first(kind, "elasticsearch")
	case ".ndjson":
		kind, request = first(kind, "elasticsearch"), "POST /_msearch"
	case ".sql":
		kind = first(kind, "sql")
	case ".graphql", ".gql":
		kind = first(kind, "graphql")
	case ".regex", ".regexp":
		kind = first(kind, "regex")
	}
	if kind == "" {
		return q, errors.New("the name does not say what kind of query it is: add --kind")
	}
	var err error
	if q.Kind, err = guard.ParseKind(strings.ToLower(kind)); err != nil {
		return q, err
	}
	switch q.Kind {
	case guard.SQL, guard.Regex: // --dialect applies only to these files
		if q.Dialect, err = q.Kind.ParseDialect(c.Dialect); err != nil {
			return q, fmt.Errorf("--dialect: %w", err)
		}
		if c.Request != "" {
			return q, fmt.Errorf("--request has no meaning for %s: the file is the whole query", q.Kind)
		}
		return q, nil
	case guard.GraphQL:
		if c.Request == "" {
			return q, nil
		}
	case guard.Elasticsearch, guard.OpenSearch:
	}
	return q, q.SetRequest(first(c.Request, request))
}

func first(a, b string) string {
	if a != "" {
		return a
	}
	return b
}

func writeLine(w io.Writer, v any) error {
	e := json.NewEncoder(w)
	e.SetEscapeHTML(false)
	return e.Encode(v)
}
