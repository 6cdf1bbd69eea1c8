package tables

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"time"

	"github.com/bezoar-dev/bezoar/flow"
	"github.com/bezoar-dev/bezoar/internal/store/record"
)

// Flow stores the runs of flows, for any number of nodes.
type Flow struct{ DB }

var _ flow.Store = Flow{}

// fault keeps the errors that callers check for.
func (s Flow) fault(ctx context.Context, err error, format string, args ...any) error {
	for _, known := range []error{flow.ErrFenced, flow.ErrNotFound, flow.ErrExists, flow.ErrOver} {
		if errors.Is(err, known) {
			return fmt.Errorf("%s: %w", fmt.Sprintf(format, args...), err)
		}
	}
	return s.Fault(ctx, err, format, args...)
}

const putInstances = `INSERT INTO {schema}.flow_instances (run, task, idx, state, doc)
	SELECT u.run, u.task, u.idx, u.state, u.doc FROM {rows 1: run text, task text, idx bigint, state text, doc text}
	WHERE true ORDER BY u.run, u.task, u.idx
	ON CONFLICT (run, task, idx) DO UPDATE SET state = excluded.state, doc = excluded.doc`

// CreateRun implements [flow.Runs].
func (s Flow) CreateRun(ctx context.Context, r flow.Run, all []flow.Instance) error {
	sum, definition, err1 := record.EncodeDefinition(r.Definition)
	params, err2 := record.EncodeValues(r.Params)
	pages, err3 := record.EncodePages(r.Pages)
	instances, err4 := instanceRows(all, nil)
	if err := errors.Join(err1, err2, err3, err4); err != nil {
		return err
	}
	var b Batch
	b.add(`INSERT INTO {schema}.flow_definitions (sum, doc) VALUES ($1, $2) ON CONFLICT (sum) DO NOTHING`, sum, definition)
	b.add(`INSERT INTO {schema}.flow_runs (id, flow, definition, params, state, why, due, created, deadline, ended, key, backfill,
		owner, epoch, version, pages) VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, '', 0, $13, $14)`,
		r.ID, r.Flow, sum, params, string(r.State), text(r.Why), record.Micros(r.Due), record.Micros(r.Created),
		record.Micros(r.Deadline), record.Micros(r.Ended), r.Key, r.Backfill, r.Version, pages)
	b.addRows(putInstances, instances)
	err := s.Grow(ctx, func(t Tx) error { return t.Run(b) })
	if s.IsUnique(err) {
		err = flow.ErrExists
	}
	return s.fault(ctx, err, "create run %s of flow %s", r.ID, r.Flow)
}

type instanceKey struct {
	run, task string
	index     int
}

// instanceRows returns the rows of instances, except those in left. If an instance occurs twice,
// the last one counts.
func instanceRows(all []flow.Instance, left map[instanceKey]bool) (rows Rows, err error) {
	last := make(map[instanceKey]int, len(all))
	for n, i := range all {
		last[instanceKey{i.Run, i.Task, i.Index}] = n
	}
	for n, i := range all {
		key := instanceKey{i.Run, i.Task, i.Index}
		if left[key] || last[key] != n {
			continue
		}
		doc, err := record.EncodeInstance(i)
		if err != nil {
			return nil, err
		}
		rows.add(i.Run, i.Task, int64(i.Index), string(i.State), doc)
	}
	return rows, nil
}

// wholeRuns reads runs with their definitions.
const wholeRuns = `SELECT ` + record.RunColumns + `, d.doc FROM {schema}.flow_runs r JOIN {schema}.flow_definitions d ON d.sum = r.definition WHERE `

// Run implements [flow.Runs].
func (s Flow) Run(ctx context.Context, id string) (r flow.Run, err error) {
	err = sql.ErrNoRows
	if plain(id) {
		r, err = readRow(ctx, s, wholeRuns+`r.id = $1`, []any{id}, record.ScanWholeRun)
	}
	if errors.Is(err, sql.ErrNoRows) {
		err = flow.ErrNotFound
	}
	return r, s.fault(ctx, err, "read run %.80q", id)
}

// ListRuns implements [flow.Runs].
func (s Flow) ListRuns(ctx context.Context, rq flow.RunQuery) ([]flow.Run, error) {
	if !plain(rq.Flow + rq.Backfill + rq.Key + rq.Before + string(rq.State)) {
		return nil, nil
	}
	q := query{text: `SELECT ` + record.RunColumns + ` FROM {schema}.flow_runs r WHERE true`}
	for _, of := range []struct{ condition, value string }{
		{"AND r.flow = $?", rq.Flow},
		{"AND r.state = $?", string(rq.State)},
		{"AND r.backfill <> '' AND r.backfill = $?", rq.Backfill},
		{"AND r.key <> '' AND r.key = $?", rq.Key},
		{"AND r.id < $?", rq.Before},
	} {
		if of.value != "" {
			q.add(of.condition, of.value)
		}
	}
	q.add("ORDER BY r.id DESC LIMIT $?", rq.Most())
	found, err := collect(ctx, s, q, record.ScanRun)
	return found, s.fault(ctx, err, "list runs")
}

// Instances implements [flow.Runs].
func (s Flow) Instances(ctx context.Context, run string) ([]flow.Instance, error) {
	if !plain(run) {
		return nil, fmt.Errorf("run %.80q: %w", run, flow.ErrNotFound)
	}
	q := query{`SELECT run, task, idx, state, doc FROM {schema}.flow_instances WHERE run = $1 ORDER BY task, idx`, []any{run}}
	found, err := collect(ctx, s, q, record.ScanInstance)
	if err == nil && len(found) == 0 {
		_, err = s.Run(ctx, run) // the run has no instances, or does not exist
	}
	return found, s.fault(ctx, err, "read the instances of run %.80q", run)
}

// Order implements [flow.Runs].
func (s Flow) Order(ctx context.Context, o flow.Order) error {
	doc, err := record.EncodeOrder(o)
	if err != nil || !plain(o.Run) {
		return errors.Join(err, fmt.Errorf("%s run %.80q: %w", o.Verb, o.Run, flow.ErrNotFound))
	}
	err = s.Grow(ctx, func(t Tx) error {
		var state flow.RunState
		err := row(t, `SELECT state FROM {schema}.flow_runs WHERE id = $1{lock}`, []any{o.Run}, &state)
		if errors.Is(err, sql.ErrNoRows) {
			err = flow.ErrNotFound
		}
		if err != nil {
			return err
		}
		var b Batch
		if state.Over() {
			if !state.Reopens(o.Verb) {
				return flow.ErrOver
			}
			b.add(`UPDATE {schema}.flow_runs SET state = 'RUNNING', why = '', ended = 0, owner = '', version = version + 1 WHERE id = $1`, o.Run)
		}
		b.add(`INSERT INTO {schema}.flow_orders (run, at, doc) VALUES ($1, {now}, $2)`, o.Run, doc)
		return t.Run(b)
	})
	return s.fault(ctx, err, "%s run %.80q", o.Verb, o.Run)
}

// Orders implements [flow.Runs].
func (s Flow) Orders(ctx context.Context, node string) ([]flow.Order, error) {
	q := query{`SELECT o.id, o.run, o.at, o.doc FROM {schema}.flow_orders o JOIN {schema}.flow_runs r ON r.id = o.run
		WHERE r.owner = $1 ORDER BY o.id`, []any{node}}
	found, err := collect(ctx, s, q, record.ScanOrder)
	return found, s.fault(ctx, err, "read the orders for node %.80q", node)
}

// Forget implements [flow.Runs].
func (s Flow) Forget(ctx context.Context, age time.Duration, limit int) (int, error) {
	n := 0
	err := s.Change(ctx, func(t Tx) error {
		var runs Rows
		var b Batch
		b.ask(`SELECT id FROM {schema}.flow_runs WHERE state IN ('SUCCESS', 'FAILED', 'CANCELLED') AND ended < {now} - $1 ORDER BY ended LIMIT $2{skip}`,
			[]any{age.Microseconds(), limit}, func(scan record.Scan) error {
				var id string
				err := scan(&id)
				runs.add(id)
				return err
			})
		err := t.Run(b)
		if n = len(runs); err != nil || n == 0 {
			return err
		}
		b = nil
		const these = ` IN (SELECT u.id FROM {rows 1: id text})`
		for _, from := range []string{"flow_instances WHERE run", "flow_attempts WHERE run", "flow_orders WHERE run", "flow_runs WHERE id"} {
			b.add(`DELETE FROM {schema}.`+from+these, runs)
		}
		return t.Run(b)
	})
	if err != nil {
		return 0, s.fault(ctx, err, "forget runs that are over")
	}
	return n, nil
}

// ForgetEffects implements [flow.Runs].
func (s Flow) ForgetEffects(ctx context.Context, age time.Duration, limit int) (int, error) {
	n := 0
	err := s.Change(ctx, func(t Tx) error {
		gone, err := t.Exec(`DELETE FROM {schema}.flow_effects WHERE key IN (SELECT key FROM {schema}.flow_effects e
			WHERE e.at < {now} - $1 AND NOT EXISTS (SELECT 1 FROM {schema}.flow_runs r WHERE r.id = e.run) ORDER BY e.at LIMIT $2{skip})`,
			age.Microseconds(), limit)
		n = int(gone)
		return err
	})
	if err != nil {
		return 0, s.fault(ctx, err, "forget old side effects")
	}
	return n, nil
}
