package postgres

import (
	"context"
	"errors"
	"fmt"
	"hash/fnv"
	"math/rand/v2"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"

	"github.com/bezoar-dev/bezoar/flow"
	"github.com/bezoar-dev/bezoar/internal/store/record"
)

// flowStore stores the runs of flows, for any number of nodes. It uses the server's clock.
//
// Locks are always acquired in this order, to avoid deadlocks: a node's row, rows of runs
// by ID, advisory locks of pools and keys by number, attempts by token, effects by key. If
// the server detects a deadlock nevertheless, the transaction is repeated.
type flowStore struct {
	db     *DB
	schema string
	locks  string // prefix of this schema's advisory locks
}

var _ flow.Store = (*flowStore)(nil)

// Flow returns the store of flows.
func (db *DB) Flow() flow.Store { return db.flow }

func newFlowStore(db *DB, schema string) *flowStore {
	return &flowStore{db: db, schema: schema, locks: "bezoar flows of " + schema + "\x00"}
}

func (s *flowStore) in(statement string) string { return inSchema(s.schema, statement) }

// lockOf returns the advisory lock of a pool or a key.
func (s *flowStore) lockOf(kind, name string) int64 {
	h := fnv.New64a()
	h.Write([]byte(s.locks + kind + "\x00" + name))
	return int64(h.Sum64()) //nolint:gosec // any bits will do
}

// beginFlow begins a transaction that the server ends after a time without statements.
// Otherwise a process that is stopped during a transaction would keep its locks, and no
// other node could take its runs.
const beginFlow = `BEGIN; SET LOCAL idle_in_transaction_session_timeout = 5000`

// change runs do in a transaction, and repeats it after conflicts.
func (s *flowStore) change(ctx context.Context, do func(pgx.Tx) error) error {
	for n := 1; ; n++ {
		err := pgx.BeginTxFunc(ctx, s.db.pool, pgx.TxOptions{BeginQuery: beginFlow}, do)
		refused, ok := errors.AsType[*pgconn.PgError](err)
		again := ok && (inTheWay(err) || refused.Code == "23505" && refused.ConstraintName == "flow_effects_pkey")
		if !again || n == attempts {
			return err
		}
		select {
		case <-time.After(rand.N(time.Duration(n) * 4 * time.Millisecond)):
		case <-ctx.Done():
			return err
		}
	}
}

// fault keeps the errors that callers check for.
func (s *flowStore) fault(ctx context.Context, err error, format string, args ...any) error {
	for _, known := range []error{flow.ErrFenced, flow.ErrNotFound, flow.ErrExists, flow.ErrOver} {
		if errors.Is(err, known) {
			return fmt.Errorf("%s: %w", fmt.Sprintf(format, args...), err)
		}
	}
	return s.db.fault(ctx, err, format, args...)
}

const (
	putFlowInstances = `INSERT INTO {schema}.flow_instances AS i (run, task, idx, state, doc)
		SELECT * FROM unnest($1::text[], $2::text[], $3::bigint[], $4::text[], $5::text[]) u (run, task, idx, state, doc)
		ORDER BY u.run, u.task, u.idx
		ON CONFLICT (run, task, idx) DO UPDATE SET state = excluded.state, doc = excluded.doc`
)

func (s *flowStore) CreateRun(ctx context.Context, r flow.Run, all []flow.Instance) error {
	sum, definition, err1 := record.EncodeDefinition(r.Definition)
	params, err2 := record.EncodeValues(r.Params)
	pages, err3 := record.EncodePages(r.Pages)
	instances, err4 := instanceRows(all, nil)
	if err := errors.Join(err1, err2, err3, err4); err != nil {
		return err
	}
	err := s.change(ctx, func(tx pgx.Tx) error {
		var batch pgx.Batch
		batch.Queue(s.in(`INSERT INTO {schema}.flow_definitions (sum, doc) VALUES ($1, $2) ON CONFLICT (sum) DO NOTHING`), sum, definition)
		batch.Queue(s.in(`INSERT INTO {schema}.flow_runs (id, flow, definition, params, state, why, due, created, deadline, ended, key, backfill,
			owner, epoch, version, pages) VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, '', 0, $13, $14)`),
			r.ID, r.Flow, sum, params, string(r.State), text(r.Why), record.Micros(r.Due), record.Micros(r.Created),
			record.Micros(r.Deadline), record.Micros(r.Ended), r.Key, r.Backfill, r.Version, pages)
		if len(instances) > 0 {
			batch.Queue(s.in(putFlowInstances), instances.args()...)
		}
		return tx.SendBatch(ctx, &batch).Close()
	})
	if isUniqueViolation(err) {
		err = flow.ErrExists
	}
	return s.fault(ctx, err, "create run %s of flow %s", r.ID, r.Flow)
}

// instanceKey identifies an instance.
type instanceKey struct {
	run, task string
	index     int
}

// instanceRows returns the rows of instances, except those in leave. If an instance occurs
// twice, the last one counts.
func instanceRows(all []flow.Instance, left map[instanceKey]bool) (c columns, err error) {
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
		c.add(i.Run, i.Task, int64(i.Index), string(i.State), doc)
	}
	return c, nil
}

func (s *flowStore) Run(ctx context.Context, id string) (flow.Run, error) {
	err := pgx.ErrNoRows
	var r flow.Run
	if plain(id) {
		r, err = record.ScanWholeRun(s.db.pool.QueryRow(ctx, s.in(`SELECT `+record.RunColumns+`, d.doc FROM {schema}.flow_runs r
			JOIN {schema}.flow_definitions d ON d.sum = r.definition WHERE r.id = $1`), id).Scan)
	}
	if errors.Is(err, pgx.ErrNoRows) {
		err = flow.ErrNotFound
	}
	return r, s.fault(ctx, err, "read run %.80q", id)
}

func (s *flowStore) ListRuns(ctx context.Context, rq flow.RunQuery) ([]flow.Run, error) {
	if !plain(rq.Flow + rq.Backfill + rq.Key + rq.Before + string(rq.State)) {
		return nil, nil
	}
	q := query{s.in(`SELECT ` + record.RunColumns + ` FROM {schema}.flow_runs r WHERE true`), nil}
	if rq.Flow != "" {
		q.add("AND r.flow = $?", rq.Flow)
	}
	if rq.State != "" {
		q.add("AND r.state = $?", string(rq.State))
	}
	if rq.Backfill != "" {
		q.add("AND r.backfill <> '' AND r.backfill = $?", rq.Backfill)
	}
	if rq.Key != "" {
		q.add("AND r.key <> '' AND r.key = $?", rq.Key)
	}
	if rq.Before != "" {
		q.add("AND r.id < $?", rq.Before)
	}
	q.add("ORDER BY r.id DESC LIMIT $?", rq.Most())
	found, err := collect(ctx, s.db, q, by(record.ScanRun))
	return found, s.fault(ctx, err, "list runs")
}

func (s *flowStore) Instances(ctx context.Context, run string) ([]flow.Instance, error) {
	if !plain(run) {
		return nil, fmt.Errorf("run %.80q: %w", run, flow.ErrNotFound)
	}
	q := query{s.in(`SELECT run, task, idx, state, doc FROM {schema}.flow_instances`), nil}
	q.add("WHERE run = $? ORDER BY task, idx", run)
	found, err := collect(ctx, s.db, q, by(record.ScanInstance))
	if err == nil && len(found) == 0 {
		_, err = s.Run(ctx, run) // the run has no instances, or does not exist
	}
	return found, s.fault(ctx, err, "read the instances of run %.80q", run)
}

func (s *flowStore) Order(ctx context.Context, o flow.Order) error {
	doc, err := record.EncodeOrder(o)
	if err != nil || !plain(o.Run) {
		return errors.Join(err, fmt.Errorf("%s run %.80q: %w", o.Verb, o.Run, flow.ErrNotFound))
	}
	err = s.change(ctx, func(tx pgx.Tx) error {
		var state flow.RunState
		err := tx.QueryRow(ctx, s.in(`SELECT state FROM {schema}.flow_runs WHERE id = $1 FOR UPDATE`), o.Run).Scan(&state)
		if errors.Is(err, pgx.ErrNoRows) {
			return flow.ErrNotFound
		}
		if err != nil {
			return err
		}
		if state.Over() {
			if !state.Reopens(o.Verb) {
				return flow.ErrOver
			}
			_, err := tx.Exec(ctx, s.in(`UPDATE {schema}.flow_runs SET state = 'RUNNING', why = '', ended = 0, owner = '', version = version + 1
				WHERE id = $1`), o.Run)
			if err != nil {
				return err
			}
		}
		_, err = tx.Exec(ctx, s.in(`INSERT INTO {schema}.flow_orders (run, at, doc) VALUES ($1, `+clock+`, $2)`), o.Run, doc)
		return err
	})
	return s.fault(ctx, err, "%s run %.80q", o.Verb, o.Run)
}

func (s *flowStore) Orders(ctx context.Context, node string) ([]flow.Order, error) {
	q := query{s.in(`SELECT o.id, o.run, o.at, o.doc FROM {schema}.flow_orders o JOIN {schema}.flow_runs r ON r.id = o.run`), nil}
	q.add("WHERE r.owner = $? ORDER BY o.id", node)
	found, err := collect(ctx, s.db, q, by(record.ScanOrder))
	return found, s.fault(ctx, err, "read the orders for node %.80q", node)
}

func (s *flowStore) Forget(ctx context.Context, age time.Duration, limit int) (n int, err error) {
	err = s.change(ctx, func(tx pgx.Tx) error {
		rows, err := tx.Query(ctx, s.in(`DELETE FROM {schema}.flow_runs WHERE id IN (SELECT id FROM {schema}.flow_runs
			WHERE state IN ('SUCCESS', 'FAILED', 'CANCELLED') AND ended < `+clock+` - $1 ORDER BY ended LIMIT $2 FOR UPDATE SKIP LOCKED)
			RETURNING id`), age.Microseconds(), limit)
		if err != nil {
			return err
		}
		ids, err := pgx.CollectRows(rows, pgx.RowTo[string])
		if err != nil {
			return err
		}
		n = len(ids)
		for _, table := range []string{"flow_instances", "flow_attempts", "flow_orders"} {
			if _, err := tx.Exec(ctx, s.in(`DELETE FROM {schema}.`+table+` WHERE run = ANY($1)`), ids); err != nil {
				return err
			}
		}
		return nil
	})
	return n, s.fault(ctx, err, "forget runs that are over")
}

func (s *flowStore) ForgetEffects(ctx context.Context, age time.Duration, limit int) (n int, err error) {
	err = s.change(ctx, func(tx pgx.Tx) error {
		gone, err := tx.Exec(ctx, s.in(`DELETE FROM {schema}.flow_effects WHERE key IN (SELECT key FROM {schema}.flow_effects e
			WHERE e.at < `+clock+` - $1 AND NOT EXISTS (SELECT FROM {schema}.flow_runs r WHERE r.id = e.run)
			ORDER BY e.at LIMIT $2 FOR UPDATE SKIP LOCKED)`), age.Microseconds(), limit)
		n = int(gone.RowsAffected())
		return err
	})
	return n, s.fault(ctx, err, "forget old side effects")
}
