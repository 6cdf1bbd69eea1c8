package cli

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/bezoar-dev/bezoar/guard"
)

type guardCmd struct {
	Check  guardCheckCmd  `cmd:"" help:"Say what queries will cost, and whether limits refuse them."`
	Replay guardReplayCmd `cmd:"" help:"Say what limits would have refused of a log, and to whom."`
	Top    guardTopCmd    `cmd:"" help:"Which callers and shapes cost most, predicted and actual, at a running gateway."`
	Set    guardSetCmd    `cmd:"" help:"Multiply the limits of queries for a while."`
}

// guardFlags are what the guard's commands have in common.
type guardFlags struct {
	Limits string `placeholder:"FILE" help:"Limits over the default ones."`
	Hints  string `placeholder:"FILE" help:"What is known of indices and fields: sizes, cardinalities, ranges."`
	Class  string `placeholder:"NAME" help:"Judge by the limits of this class of callers."`
}

// guardOf makes a guard from files; limits may be "".
func (f guardFlags) guardOf(s *session, limits string) (*guard.Guard, error) {
	var c guard.Config
	if limits != "" {
		data, err := readWhole(s, limits)
		if err != nil {
			return nil, err
		}
		if c.Limits, err = guard.ParseLimits(filepath.Base(limits), data); err != nil {
			return nil, &exitError{code: exitUsage, err: err}
		}
	}
	if f.Hints != "" {
		data, err := readWhole(s, f.Hints)
		if err != nil {
			return nil, err
		}
		set, warnings, err := guard.ParseHints(filepath.Base(f.Hints), data)
		if err != nil {
			return nil, &exitError{code: exitUsage, err: err}
		}
		for _, w := range warnings {
			s.say("warning: %s", clean(w))
		}
		store := &guard.HintStore{}
		if err := store.Set(guard.Static, set, changed(f.Hints, s.now())); err != nil {
			return nil, err
		}
		c.Hints = store
	}
	if f.Class != "" && !c.Limits.HasClass(f.Class) {
		return nil, hinted(exitf(exitUsage, "there is no class %q in the limits", f.Class), "--limits names the file that has it")
	}
	return guard.New(c)
}

// changed is when a file was last written: that is how old what it says is.
func changed(file string, now time.Time) time.Time {
	if info, err := os.Stat(file); err == nil {
		return info.ModTime()
	}
	return now
}

// maxGuardFile bounds a file that is read whole.
const maxGuardFile = 64 << 20

func readWhole(s *session, file string) ([]byte, error) {
	in := s.Stdin
	if file != "-" {
		f, err := os.Open(file)
		if err != nil {
			return nil, asNotFound(err)
		}
		defer f.Close()
		in = f
	}
	data, err := io.ReadAll(io.LimitReader(readerUntil{s, in}, maxGuardFile+1))
	if err != nil {
		return nil, fmt.Errorf("%s: %w", clean(file), err)
	}
	if len(data) > maxGuardFile {
		return nil, fmt.Errorf("%s is larger than 64 MiB", clean(file))
	}
	return data, nil
}

func asNotFound(err error) error {
	if errors.Is(err, fs.ErrNotExist) {
		return &exitError{code: exitNotFound, err: err}
	}
	return err
}

type guardCheckCmd struct {
	guardFlags
	Files   []string `arg:"" optional:"" name:"file" help:"Queries, each in a file of its own; - is standard input."`
	Kind    string   `placeholder:"KIND" help:"elasticsearch, opensearch, sql, graphql or regex; by default what the file's ending says: .json, .ndjson, .sql, .graphql, .gql, .regex."`
	Request string   `placeholder:"REQUEST" help:"The request that the file is the body of, such as 'POST /idx/_search?size=5' (default: a search)."`
	Dialect string   `placeholder:"NAME" help:"Of SQL: postgres, mysql or mariadb; of a regular expression: js, python, pcre, ruby, java, dotnet, mysql, re2, lucene or postgres (default js)."`
	Batch   string   `placeholder:"FILE" help:"Instead of files: one JSON object with id, kind, request, body, sql or pattern, and dialect on each line; - is standard input. Prints a line for each."`
}

func (guardCheckCmd) Help() string {
	return "Exits with 0 when every query may go on, with 1 when one would be rejected or cannot be read. " +
		"With --json one line per file. With --batch there is one line out for each line in, in the same order, and the exit code is 0 when all lines were answered."
}

func (c *guardCheckCmd) Run(s *session) error {
	if (c.Batch == "") == (len(c.Files) == 0) {
		return exitf(exitUsage, "name either files or --batch FILE")
	}
	g, err := c.guardOf(s, c.Limits)
	if err != nil {
		return err
	}
	if c.Batch != "" {
		return c.batch(s, g)
	}
	rejected := 0
	err = each(c.Files, func(err error) { fmt.Fprintf(s.Stderr, "bezoar: %s\n", err) }, func(file string) error {
		no, err := c.file(s, g, file)
		if no {
			rejected++
		}
		return err
	})
	switch {
	case err != nil:
		return err
	case rejected > 0:
		return exitf(exitFailure, "%d of %d would be rejected", rejected, len(c.Files))
	}
	return nil
}

func (c *guardCheckCmd) file(s *session, g *guard.Guard, file string) (rejected bool, err error) {
	q, err := c.query(file)
	if err != nil {
		return false, &exitError{code: exitUsage, err: fmt.Errorf("%s: %w", clean(file), err)}
	}
	if q.Body, err = readWhole(s, file); err != nil {
		return false, err
	}
	if q.Kind == guard.Regex { // the line's end is not the expression's
		q.Body = bytes.TrimSuffix(bytes.TrimSuffix(q.Body, []byte("\n")), []byte("\r"))
	}
	var v guard.Verdict
	g.Check(&q, &v)
	if s.json {
		return v.Verdict == guard.Rejected, writeLine(s.Stdout, struct {
			File string `json:"file"`
			*guard.Verdict
		}{file, &v})
	}
	writeGuarded(s.out, file, &v)
	return v.Verdict == guard.Rejected, nil
}

// query is what flags and the file's name say of it.
func (c *guardCheckCmd) query(file string) (guard.Query, error) {
	q := guard.Query{Dialect: c.Dialect, Class: c.Class}
	request := "POST /_search"
	kind := c.Kind
	switch filepath.Ext(file) {
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
	if q.Kind, err = guard.ParseKind(kind); err != nil {
		return q, err
	}
	if c.Request != "" {
		request = c.Request
	} else if q.Kind != guard.Elasticsearch && q.Kind != guard.OpenSearch {
		return q, nil
	}
	return q, q.SetRequest(request)
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

// writeGuarded tells people about one verdict.
func writeGuarded(p *printer, name string, v *guard.Verdict) {
	p.printf("%s  %s  %s\n", p.paint(outcomeStyle(v.Verdict), string(v.Verdict)), p.paint(bold, clean(name)), p.paint(dim, guardedNote(v)))
	for _, f := range v.Findings {
		where := clean(f.Path)
		if f.Line > 0 {
			where = fmt.Sprintf("%d:%d %s", f.Line, f.Column, where)
		}
		p.printf("  %s  %s %s, limit %s  %s\n", p.paint(actionStyle(f.Action), string(f.Action)), p.paint(bold, f.Predictor), f.Value, f.Limit, p.paint(dim, "at "+cut(where, 100)))
		for _, text := range []string{f.Detail, f.Fix} {
			if text == "" {
				continue
			}
			for _, line := range wrap(clean(text), p.columns()-4) {
				p.printf("    %s\n", line)
			}
		}
	}
	if v.More > 0 {
		p.printf("  … and %d more\n", v.More)
	}
	for _, c := range v.Caps {
		p.printf("  capped %s\n", clean(c))
	}
}

// guardedNote is what stands behind the name: cost and, for expressions, class.
func guardedNote(v *guard.Verdict) string {
	parts := []string{fmt.Sprintf("cost %s", guard.Number(v.Cost))}
	if v.Regex != "" {
		parts = append(parts, "expression "+v.Regex)
	}
	if v.Class != "" {
		parts = append(parts, "class "+clean(v.Class))
	}
	if v.HintsAge > 0 {
		parts = append(parts, "hints "+v.HintsAge.Round(time.Second).String()+" old")
	}
	return strings.Join(parts, ", ")
}

func outcomeStyle(o guard.Outcome) string {
	switch o {
	case guard.Accepted:
		return green
	case guard.Capped, guard.Reported:
		return yellow
	case guard.Rejected:
	}
	return red
}

func actionStyle(a guard.Action) string {
	if a == guard.Reject {
		return red
	}
	return yellow
}
