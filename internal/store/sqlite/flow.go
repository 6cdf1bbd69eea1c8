package sqlite

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"time"

	"github.com/bezoar-dev/bezoar/flow"
	"github.com/bezoar-dev/bezoar/internal/store/record"
)

// flowStore keeps the runs of flows. Its clock is this process's, which owns the
// file.
type flowStore struct{ db *DB }

var _ flow.Store = (*flowStore)(nil)

// Flow returns the store of flows.
func (db *DB) Flow() flow.Store { return db.flow }

const (
	putDefinition = `INSERT INTO flow_definitions (sum, doc) VALUES (?, ?) ON CONFLICT (sum) DO NOTHING`
	putRun        = `INSERT INTO flow_runs (id, flow, definition, params, state, why, due, created, deadline, ended, key, backfill,
		owner, epoch, version, pages) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, '', 0, ?, ?)`
	intoInstances = `INSERT INTO flow_instances (run, task, idx, state, doc) VALUES `
	orReplaced    = ` ON CONFLICT (run, task, idx) DO UPDATE SET state = excluded.state, doc = excluded.doc`
	putInstance   = intoInstances + oneInstance + orReplaced
	oneInstance   = `(?, ?, ?, ?, ?)`
	twoInstances  = oneInstance + `, ` + oneInstance
	fourInstances = twoInstances + `, ` + twoInstances
	reopenRun     = `UPDATE flow_runs SET state = 'RUNNING', why = '', ended = 0, owner = '', version = version + 1 WHERE id = ?`
	getRun        = `SELECT ` + record.RunColumns + `, d.doc FROM flow_runs r JOIN flow_definitions d ON d.sum = r.definition WHERE r.id = ?`
)

func (s *flowStore) CreateRun(ctx context.Context, r flow.Run, all []flow.Instance) error {
	sum, definition, err := record.EncodeDefinition(r.Definition)
	if err != nil {
		return err
	}
	params, err := record.EncodeValues(r.Params)
	if err != nil {
		return err
	}
	pages, err := record.EncodePages(r.Pages)
	if err != nil {
		return err
	}
	docs, err := encoded(all, record.EncodeInstance)
	if err != nil {
		return err
	}
	err = s.db.writer.grow(ctx, func(t tx) error {
		if err := t.exec(putDefinition, sum, definition); err != nil {
			return err
		}
		err := t.exec(putRun, r.ID, r.Flow, sum, params, string(r.State), r.Why, record.Micros(r.Due), record.Micros(r.Created),
			record.Micros(r.Deadline), record.Micros(r.Ended), r.Key, r.Backfill, r.Version, pages)
		if err != nil {
			return err
		}
		return putInstances(t, all, docs, nil)
	})
	if isUniqueViolation(err) {
		return fmt.Errorf("create run %s of flow %s: %w", r.ID, r.Flow, flow.ErrExists)
	}
	return s.db.fault(ctx, err, "create run %s of flow %s", r.ID, r.Flow)
}

// instanceKey finds an instance.
type instanceKey struct {
	run, task string
	index     int
}

// chunk is how many rows one statement writes: what a statement costs beside its
// rows is as much as three of them.
const chunk = 32

const (
	eightInstances    = fourInstances + `, ` + fourInstances
	sixteenInstances  = eightInstances + `, ` + eightInstances
	putInstancesChunk = intoInstances + sixteenInstances + `, ` + sixteenInstances + orReplaced
)

// putInstances replaces or adds instances, except those to be left.
func putInstances(t tx, all []flow.Instance, docs []string, left map[instanceKey]bool) error {
	args := make([]any, 0, 5*min(len(all), chunk))
	for n, i := range all {
		if left[instanceKey{i.Run, i.Task, i.Index}] {
			continue
		}
		if args = append(args, i.Run, i.Task, i.Index, string(i.State), docs[n]); len(args) == 5*chunk {
			if err := t.exec(putInstancesChunk, args...); err != nil {
				return err
			}
			args = args[:0]
		}
	}
	for ; len(args) > 0; args = args[5:] {
		if err := t.exec(putInstance, args[:5]...); err != nil {
			return err
		}
	}
	return nil
}

func (s *flowStore) Run(ctx context.Context, id string) (flow.Run, error) {
	r, err := record.ScanWholeRun(s.db.reader.QueryRowContext(ctx, getRun, id).Scan)
	if errors.Is(err, sql.ErrNoRows) {
		return r, fmt.Errorf("run %.80q: %w", id, flow.ErrNotFound)
	}
	return r, s.db.fault(ctx, err, "read run %.80q", id)
}

func (s *flowStore) ListRuns(ctx context.Context, rq flow.RunQuery) ([]flow.Run, error) {
	var q query
	q.add(`SELECT ` + record.RunColumns + ` FROM flow_runs r WHERE true`)
	if rq.Flow != "" {
		q.add(`AND r.flow = ?`, rq.Flow)
	}
	if rq.State != "" {
		q.add(`AND r.state = ?`, string(rq.State))
	}
	if rq.Backfill != "" {
		q.add(`AND r.backfill = ? AND r.backfill <> ''`, rq.Backfill)
	}
	if rq.Key != "" {
		q.add(`AND r.key = ? AND r.key <> ''`, rq.Key)
	}
	if rq.Before != "" {
		q.add(`AND r.id < ?`, rq.Before)
	}
	q.add(`ORDER BY r.id DESC LIMIT ?`, rq.Most())
	found, err := collect(ctx, s.db.reader, &q, record.ScanRun)
	return found, s.db.fault(ctx, err, "list runs")
}

func (s *flowStore) Instances(ctx context.Context, run string) ([]flow.Instance, error) {
	var q query
	q.add(`SELECT run, task, idx, state, doc FROM flow_instances WHERE run = ? ORDER BY task, idx`, run)
	found, err := collect(ctx, s.db.reader, &q, record.ScanInstance)
	if err != nil {
		return nil, s.db.fault(ctx, err, "read the instances of run %.80q", run)
	}
	if len(found) > 0 {
		return found, nil
	}
	_, err = s.Run(ctx, run) // there is one without instances, or none
	return nil, err
}

func (s *flowStore) Order(ctx context.Context, o flow.Order) error {
	doc, err := record.EncodeOrder(o)
	if err != nil {
		return err
	}
	var refused error
	err = s.db.writer.grow(ctx, func(t tx) error {
		var state flow.RunState
		err := t.row(`SELECT state FROM flow_runs WHERE id = ?`, []any{o.Run}, &state)
		if errors.Is(err, sql.ErrNoRows) {
			refused = flow.ErrNotFound
			return nil
		}
		if err != nil {
			return err
		}
		refused = nil
		if state.Over() {
			if !state.Reopens(o.Verb) {
				refused = flow.ErrOver
				return nil
			}
			if err := t.exec(reopenRun, o.Run); err != nil {
				return err
			}
		}
		return t.exec(`INSERT INTO flow_orders (run, at, doc) VALUES (?, ?, ?)`, o.Run, time.Now().UnixMicro(), doc)
	})
	if err == nil && refused != nil {
		return fmt.Errorf("%s run %.80q: %w", o.Verb, o.Run, refused)
	}
	return s.db.fault(ctx, err, "order to %s run %.80q", o.Verb, o.Run)
}

func (s *flowStore) Orders(ctx context.Context, node string) ([]flow.Order, error) {
	var q query
	q.add(`SELECT o.id, o.run, o.at, o.doc FROM flow_orders o JOIN flow_runs r ON r.id = o.run WHERE r.owner = ? ORDER BY o.id`, node)
	found, err := collect(ctx, s.db.reader, &q, record.ScanOrder)
	return found, s.db.fault(ctx, err, "read the orders for node %.80q", node)
}

const (
	oldestRun       = `SELECT id FROM flow_runs WHERE state IN ('SUCCESS', 'FAILED', 'CANCELLED') AND ended < ? ORDER BY ended LIMIT 1`
	forgetRun       = `DELETE FROM flow_runs WHERE id = ?`
	forgetInstances = `DELETE FROM flow_instances WHERE run = ?`
	forgetAttempts  = `DELETE FROM flow_attempts WHERE run = ?`
	forgetOrders    = `DELETE FROM flow_orders WHERE run = ?`
	forgetEffects   = `DELETE FROM flow_effects WHERE key IN (SELECT key FROM flow_effects e WHERE e.at < ?
		AND NOT EXISTS (SELECT 1 FROM flow_runs r WHERE r.id = e.run) ORDER BY e.at LIMIT ?)`
)

func (s *flowStore) Forget(ctx context.Context, age time.Duration, limit int) (n int, err error) {
	before := record.Micros(time.Now().Add(-age))
	err = s.db.writer.run(ctx, func(t tx) error {
		for n = 0; n < limit; n++ {
			var id string
			switch err := t.row(oldestRun, []any{before}, &id); {
			case errors.Is(err, sql.ErrNoRows):
				return nil
			case err != nil:
				return err
			}
			for _, statement := range []string{forgetRun, forgetInstances, forgetAttempts, forgetOrders} {
				if err := t.exec(statement, id); err != nil {
					return err
				}
			}
		}
		return nil
	})
	return n, s.db.fault(ctx, err, "forget runs that are over")
}

func (s *flowStore) ForgetEffects(ctx context.Context, age time.Duration, limit int) (n int, err error) {
	before := record.Micros(time.Now().Add(-age))
	err = s.db.writer.run(ctx, func(t tx) error {
		gone, err := t.changed(forgetEffects, before, limit)
		n = int(gone)
		return err
	})
	return n, s.db.fault(ctx, err, "forget old side effects")
}
