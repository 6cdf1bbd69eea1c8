package postgres

import (
	"context"
	"errors"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/bezoar-dev/bezoar/flow"
	"github.com/bezoar-dev/bezoar/internal/store/record"
)

const (
	// A continuing life keeps its epoch. Epoch 0, or an expired lease, begins a new life.
	// For a life that another one has replaced, the statement returns nothing.
	renewFlowNode = `INSERT INTO {schema}.flow_nodes AS n (name, epoch, labels, slots, plans, seen, until)
		VALUES ($1, $2 + 1, $3, $4, $5, ` + clock + `, ` + clock + ` + $6)
		ON CONFLICT (name) DO UPDATE SET epoch = CASE WHEN n.epoch = $2 AND n.until > excluded.seen THEN n.epoch ELSE n.epoch + 1 END,
			labels = excluded.labels, slots = excluded.slots, plans = excluded.plans, seen = excluded.seen, until = excluded.until
		WHERE $2 = 0 OR n.epoch = $2
		RETURNING epoch, seen, until`
	freeFlowNode = `UPDATE {schema}.flow_runs SET owner = '' WHERE id IN (SELECT id FROM {schema}.flow_runs
		WHERE owner = $1 AND (state IN ('RUNNING', 'HELD') OR untold) ORDER BY id FOR UPDATE)`
	forgetFlowNodes = `DELETE FROM {schema}.flow_nodes WHERE name IN (SELECT name FROM {schema}.flow_nodes
		WHERE until < ` + clock + ` - $1 FOR UPDATE SKIP LOCKED)`
	holdFlowNode = `SELECT FROM {schema}.flow_nodes WHERE name = $1 AND epoch = $2 AND until > ` + clock + ` FOR SHARE`

	// Usually there is nothing to take; this avoids a transaction.
	lookForFlows = `WITH now AS MATERIALIZED (SELECT ` + clock + ` AS t),
		alive AS MATERIALIZED (SELECT name, epoch FROM {schema}.flow_nodes WHERE until > (SELECT t FROM now))
		SELECT EXISTS (SELECT FROM alive WHERE name = $1 AND epoch = $2),
			EXISTS (SELECT FROM {schema}.flow_runs r WHERE (r.state IN ('RUNNING', 'HELD') OR r.untold) AND r.owner NOT IN (SELECT name FROM alive))
			OR EXISTS (SELECT FROM {schema}.flow_attempts a WHERE a.state <> 'ended' AND a.state <> 'lost' AND a.node <> ''
				AND a.node NOT IN (SELECT name FROM alive))`
	takeFlows = `WITH alive AS MATERIALIZED (SELECT name FROM {schema}.flow_nodes WHERE until > ` + clock + `),
		free AS MATERIALIZED (SELECT r.id FROM {schema}.flow_runs r WHERE (r.state IN ('RUNNING', 'HELD') OR r.untold) AND r.owner NOT IN (SELECT name FROM alive)
			ORDER BY r.id LIMIT $2 FOR UPDATE OF r SKIP LOCKED)
		UPDATE {schema}.flow_runs r SET owner = $1, epoch = r.epoch + 1, version = r.version + 1
		FROM free, {schema}.flow_definitions d WHERE r.id = free.id AND d.sum = r.definition
		RETURNING ` + record.RunColumns + `, d.doc`
	loseFlowAttempts = `WITH alive AS MATERIALIZED (SELECT name FROM {schema}.flow_nodes WHERE until > ` + clock + `),
		gone AS MATERIALIZED (SELECT token FROM {schema}.flow_attempts WHERE state <> 'ended' AND state <> 'lost' AND node <> ''
			AND node NOT IN (SELECT name FROM alive) ORDER BY token FOR UPDATE)
		UPDATE {schema}.flow_attempts a SET state = 'lost' FROM gone
		WHERE a.token = gone.token AND a.state <> 'ended'`
)

// forgetNodesAfter is how long a node stays in lists after its lease has expired. Its
// epochs then start again; the epochs of runs fence what an earlier life may still hold.
const forgetNodesAfter = 24 * time.Hour

func (s *flowStore) Renew(ctx context.Context, n flow.Node, ttl time.Duration) (flow.Node, error) {
	labels, err := record.EncodeLabels(n.Labels)
	if err != nil {
		return n, err
	}
	is := n
	err = s.change(ctx, func(tx pgx.Tx) error {
		var seen, until int64
		err := tx.QueryRow(ctx, s.in(renewFlowNode), n.Name, n.Epoch, labels, n.Slots, n.Plans, ttl.Microseconds()).Scan(&is.Epoch, &seen, &until)
		if errors.Is(err, pgx.ErrNoRows) {
			return flow.ErrFenced
		}
		is.Seen, is.Until = record.Time(seen), record.Time(until)
		if err != nil || is.Epoch == n.Epoch {
			return err
		}
		var batch pgx.Batch
		batch.Queue(s.in(freeFlowNode), n.Name)
		batch.Queue(s.in(forgetFlowNodes), forgetNodesAfter.Microseconds())
		return tx.SendBatch(ctx, &batch).Close()
	})
	return is, s.fault(ctx, err, "renew the lease of node %s", n.Name)
}

func (s *flowStore) Leave(ctx context.Context, n flow.Node) error {
	err := s.change(ctx, func(tx pgx.Tx) error {
		left, err := tx.Exec(ctx, s.in(`UPDATE {schema}.flow_nodes SET until = `+clock+` WHERE name = $1 AND epoch = $2`), n.Name, n.Epoch)
		if err != nil || left.RowsAffected() == 0 {
			return err
		}
		_, err = tx.Exec(ctx, s.in(freeFlowNode), n.Name)
		return err
	})
	return s.fault(ctx, err, "end the lease of node %s", n.Name)
}

func (s *flowStore) ListNodes(ctx context.Context) ([]flow.Node, error) {
	q := query{s.in(`SELECT name, epoch, labels, slots, plans, seen, until FROM {schema}.flow_nodes ORDER BY name`), nil}
	found, err := collect(ctx, s.db, q, by(record.ScanNode))
	return found, s.fault(ctx, err, "list nodes")
}

// holdNode checks that a node's lease is current, and prevents a new life of the node until
// the transaction ends.
func (s *flowStore) holdNode(ctx context.Context, tx pgx.Tx, n flow.Node) error {
	held, err := tx.Exec(ctx, s.in(holdFlowNode), n.Name, n.Epoch)
	if err == nil && held.RowsAffected() == 0 {
		err = flow.ErrFenced
	}
	return err
}

func (s *flowStore) Take(ctx context.Context, n flow.Node, most int) (taken []flow.Run, err error) {
	var held, work bool
	err = s.db.pool.QueryRow(ctx, s.in(lookForFlows), n.Name, n.Epoch).Scan(&held, &work)
	if err == nil && !held {
		err = flow.ErrFenced
	}
	if err != nil || !work {
		return nil, s.fault(ctx, err, "look for runs to take")
	}
	err = s.change(ctx, func(tx pgx.Tx) error {
		taken = nil
		if err := s.holdNode(ctx, tx, n); err != nil {
			return err
		}
		err := each(ctx, tx, s.in(takeFlows), []any{n.Name, most}, func(rows pgx.Rows) error {
			r, err := record.ScanWholeRun(rows.Scan)
			taken = append(taken, r)
			return err
		})
		if err != nil {
			return err
		}
		_, err = tx.Exec(ctx, s.in(loseFlowAttempts))
		return err
	})
	return taken, s.fault(ctx, err, "take runs")
}
