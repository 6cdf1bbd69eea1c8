package sqlguard

import (
	"context"
	"database/sql/driver"
	"slices"
	"sync"

	"github.com/bezoar-dev/bezoar/guard"
	"github.com/bezoar-dev/bezoar/guard/sql"
	"github.com/bezoar-dev/bezoar/internal/each"
)

// judge asks the guard about statements. It is safe for concurrent use.
type judge struct {
	config    Config
	scratches sync.Pool // of *scratch

	mu    sync.Mutex        // guards names
	names map[string]string // statements that pgx prepared, by name
}

// MaxNames is the maximum number of remembered names of prepared pgx statements.
const MaxNames = 1000

func (j *judge) remember(name, text string) {
	if name == "" || name == text {
		return
	}
	j.mu.Lock()
	defer j.mu.Unlock()
	if j.names == nil {
		j.names = map[string]string{}
	}
	if _, ok := j.names[name]; ok || len(j.names) < MaxNames {
		j.names[name] = text
	}
}

func (j *judge) lookup(name string) (text string, ok bool) {
	j.mu.Lock()
	defer j.mu.Unlock()
	text, ok = j.names[name]
	return text, ok
}

// scratch is the working memory of one judgement.
type scratch struct {
	query   guard.Query
	verdict guard.Verdict
}

// ask judges a statement. text is the statement to send: query, or a copy with a lower
// LIMIT.
func (j *judge) ask(ctx context.Context, query string, args []any) (text string, err error) {
	d, _ := j.scratches.Get().(*scratch)
	if d == nil {
		d = &scratch{}
	}
	c := &j.config
	d.query = guard.Query{Kind: guard.SQL, Body: append(d.query.Body[:0], query...), Dialect: c.Dialect, Args: args}
	if c.Class != nil {
		d.query.Class = c.Class(ctx)
	}
	if c.Caller != nil {
		d.query.Caller = c.Caller(ctx)
	}
	c.Guard.Check(&d.query, &d.verdict)
	text = query
	if d.verdict.Verdict != guard.Accepted && c.OnVerdict != nil {
		c.OnVerdict(ctx, query, &d.verdict)
	}
	switch d.verdict.Verdict {
	case guard.Rejected:
		err = rejected(query, &d.verdict)
	case guard.Capped:
		text = string(d.verdict.Body)
	case guard.Accepted, guard.Reported:
	}
	const keep = 1 << 16
	if cap(d.query.Body) > keep {
		d.query.Body = nil
	}
	d.query.Args = nil
	j.scratches.Put(d)
	return text, err
}

// askPrepared judges an already prepared statement, whose text cannot be changed.
func (j *judge) askPrepared(ctx context.Context, query string, args []any) error {
	text, err := j.ask(ctx, query, args)
	if err == nil && text != query {
		return &Rejected{Query: query, Verdict: guard.Verdict{Verdict: guard.Rejected, Findings: []guard.Finding{{
			Predictor: "missing_limit", Path: "LIMIT", Action: guard.Reject,
			Fix: "bind fewer rows to LIMIT: the text of a prepared statement cannot be changed",
		}}}}
	}
	return err
}

// rejected copies the values that the scratch will overwrite.
func rejected(query string, v *guard.Verdict) *Rejected {
	r := &Rejected{Query: query, Verdict: *v}
	r.Verdict.Findings, r.Verdict.Caps = slices.Clone(v.Findings), slices.Clone(v.Caps)
	return r
}

// named converts values of database/sql for the guard.
func named(args []driver.NamedValue) []any {
	if len(args) == 0 {
		return nil
	}
	list := make([]any, len(args))
	for i, a := range args {
		list[i] = a.Value
		if a.Name != "" {
			list[i] = sql.Named{Name: a.Name, Value: a.Value}
		}
	}
	return list
}

func unnamed(args []driver.Value) []any {
	return each.Of(args, func(a driver.Value) any { return a })
}
