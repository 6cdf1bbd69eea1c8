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

const (
	// A continuing life keeps its epoch. Epoch 0, or an expired lease, begins a new life. For a
	// life that another one has replaced, the statement returns nothing.
	renewNode = `INSERT INTO {schema}.flow_nodes AS n (name, epoch, labels, slots, plans, seen, until)
		VALUES ($1, $2 + 1, $3, $4, $5, {now}, {now} + $6)
		ON CONFLICT (name) DO UPDATE SET epoch = CASE WHEN n.epoch = $2 AND n.until > excluded.seen THEN n.epoch ELSE n.epoch + 1 END,
			labels = excluded.labels, slots = excluded.slots, plans = excluded.plans, seen = excluded.seen, until = excluded.until
		WHERE $2 = 0 OR n.epoch = $2
		RETURNING epoch, seen, until`
	freeNode = `UPDATE {schema}.flow_runs SET owner = '' WHERE id IN (SELECT id FROM {schema}.flow_runs
		WHERE owner = $1 AND (state IN ('RUNNING', 'HELD') OR untold = {true}) ORDER BY id{lock})`
	forgetNodes = `DELETE FROM {schema}.flow_nodes WHERE name IN (SELECT name FROM {schema}.flow_nodes WHERE until < {now} - $1{skip})`

	aliveNodes = `(SELECT name FROM {schema}.flow_nodes WHERE until > {now})`
	freeRuns   = `FROM {schema}.flow_runs r WHERE (r.state IN ('RUNNING', 'HELD') OR r.untold = {true}) AND r.owner NOT IN (SELECT name FROM alive)`
	onLost     = `FROM {schema}.flow_attempts a WHERE a.state <> 'ended' AND a.state <> 'lost' AND a.node <> '' AND a.node NOT IN (SELECT name FROM alive)`
	withAlive  = `WITH alive AS MATERIALIZED ` + aliveNodes

	// Usually there is nothing to take; this avoids a transaction.
	lookForRuns = withAlive + ` SELECT EXISTS (` + holdsNode + `), EXISTS (SELECT 1 ` + freeRuns + `) OR EXISTS (SELECT 1 ` + onLost + `)`
	takeRuns    = withAlive + `, free AS MATERIALIZED (SELECT r.id ` + freeRuns + ` ORDER BY r.id LIMIT $2{skip})
		UPDATE {schema}.flow_runs SET owner = $1, epoch = epoch + 1, version = version + 1 WHERE id IN (SELECT id FROM free) RETURNING id`
	loseAttempts = withAlive + `, gone AS MATERIALIZED (SELECT a.token ` + onLost + ` ORDER BY a.token{lock})
		UPDATE {schema}.flow_attempts SET state = 'lost' WHERE state <> 'ended' AND token IN (SELECT token FROM gone)`
)

// forgetNodesAfter is how long a node stays in lists after its lease has expired. Its epochs then
// start again; the epochs of runs fence what an earlier life may still hold.
const forgetNodesAfter = 24 * time.Hour

// Renew implements [flow.Nodes].
func (s Flow) Renew(ctx context.Context, n flow.Node, ttl time.Duration) (flow.Node, error) {
	labels, err := record.EncodeLabels(n.Labels)
	if err != nil {
		return n, err
	}
	is := n
	err = s.Change(ctx, func(t Tx) error {
		var seen, until int64
		err := row(t, renewNode, []any{n.Name, n.Epoch, labels, n.Slots, n.Plans, ttl.Microseconds()}, &is.Epoch, &seen, &until)
		if errors.Is(err, sql.ErrNoRows) {
			return fmt.Errorf("another process uses this node name: %w", flow.ErrFenced)
		}
		is.Seen, is.Until = record.Time(seen), record.Time(until)
		if err != nil || is.Epoch == n.Epoch {
			return err
		}
		var b Batch
		b.add(freeNode, n.Name)
		b.add(forgetNodes, forgetNodesAfter.Microseconds())
		return t.Run(b)
	})
	if err != nil {
		return n, s.fault(ctx, err, "renew the lease of node %s", n.Name)
	}
	return is, nil
}

// Leave implements [flow.Nodes].
func (s Flow) Leave(ctx context.Context, n flow.Node) error {
	err := s.Change(ctx, func(t Tx) error {
		left, err := t.Exec(`UPDATE {schema}.flow_nodes SET until = {now} WHERE name = $1 AND epoch = $2`, n.Name, n.Epoch)
		if err != nil || left == 0 {
			return err
		}
		_, err = t.Exec(freeNode, n.Name)
		return err
	})
	return s.fault(ctx, err, "end the lease of node %s", n.Name)
}

// ListNodes implements [flow.Nodes].
func (s Flow) ListNodes(ctx context.Context) ([]flow.Node, error) {
	q := query{text: `SELECT name, epoch, labels, slots, plans, seen, until FROM {schema}.flow_nodes ORDER BY name`}
	found, err := collect(ctx, s, q, record.ScanNode)
	return found, s.fault(ctx, err, "list nodes")
}

// holdNode checks that a node's lease is current, and prevents a new life of the node until the
// transaction ends.
func holdNode(t Tx, n flow.Node) error {
	var one int
	err := row(t, holdsNode+`{share}`, []any{n.Name, n.Epoch}, &one)
	if errors.Is(err, sql.ErrNoRows) {
		err = flow.ErrFenced
	}
	return err
}

// look reports whether there is work for a node. It avoids a transaction.
func (s Flow) look(ctx context.Context, statement string, args ...any) (work bool, err error) {
	held := false
	_, err = readRow(ctx, s, statement, args, func(scan record.Scan) (struct{}, error) { return struct{}{}, scan(&held, &work) })
	if err == nil && !held {
		err = flow.ErrFenced
	}
	return work, err
}

// Take implements [flow.Nodes].
func (s Flow) Take(ctx context.Context, n flow.Node, most int) ([]flow.Run, error) {
	if work, err := s.look(ctx, lookForRuns, n.Name, n.Epoch); err != nil || !work {
		return nil, s.fault(ctx, err, "look for runs to take")
	}
	var taken []flow.Run
	err := s.Change(ctx, func(t Tx) error {
		taken = nil
		if err := holdNode(t, n); err != nil {
			return err
		}
		var runs Rows
		var b Batch
		b.ask(takeRuns, []any{n.Name, most}, func(scan record.Scan) error {
			var id string
			err := scan(&id)
			runs.add(id)
			return err
		})
		b.add(loseAttempts)
		if err := t.Run(b); err != nil || len(runs) == 0 {
			return err
		}
		b = nil
		b.ask(wholeRuns+`r.id IN (SELECT u.id FROM {rows 1: id text}) ORDER BY r.id`, []any{runs}, func(scan record.Scan) error {
			r, err := record.ScanWholeRun(scan)
			taken = append(taken, r)
			return err
		})
		return t.Run(b)
	})
	if err != nil {
		return nil, s.fault(ctx, err, "take runs")
	}
	return taken, nil
}

// A database that knows labels chooses by them.
const offered = `FROM {schema}.flow_attempts a WHERE node = '' AND state = 'intended' AND stop = '' AND {labels fit $3}`

// Offers implements [flow.Attempts].
func (s Flow) Offers(ctx context.Context, n flow.Node, most int) ([]flow.Attempt, error) {
	labels, err := record.EncodeLabels(n.Labels)
	if err != nil {
		return nil, err
	}
	open, err := s.look(ctx, `SELECT EXISTS (`+holdsNode+`), EXISTS (SELECT 1 `+offered+`)`, n.Name, n.Epoch, labels)
	if err != nil || !open {
		return nil, s.fault(ctx, err, "look for attempts")
	}
	var claimed []flow.Attempt
	err = s.Change(ctx, func(t Tx) error {
		claimed = nil
		if err := holdNode(t, n); err != nil {
			return err
		}
		var tokens Rows
		for after, more := int64(0), true; more && len(claimed) < most; {
			asked, page := most-len(claimed), 0
			var b Batch
			b.ask(`SELECT `+record.AttemptColumns+` `+offered+` AND token > $1 ORDER BY token LIMIT $2{skip}`, []any{after, asked, labels},
				func(scan record.Scan) error {
					a, err := record.ScanAttempt(scan)
					page, after = page+1, a.Token
					if err == nil && flow.HasAll(n.Labels, a.Labels) {
						a.Node = n.Name
						claimed = append(claimed, a)
						tokens.add(a.Token)
					}
					return err
				})
			if err := t.Run(b); err != nil {
				return err
			}
			more = page == asked
		}
		var b Batch
		b.addRows(`UPDATE {schema}.flow_attempts SET node = $1 WHERE state <> 'ended' AND token IN (SELECT u.token FROM {rows 2: token bigint})`, tokens, n.Name)
		return t.Run(b)
	})
	if err != nil {
		return nil, s.fault(ctx, err, "claim attempts")
	}
	return claimed, nil
}

// Report implements [flow.Attempts].
func (s Flow) Report(ctx context.Context, n flow.Node, all []flow.Attempt) error {
	err := s.Grow(ctx, func(t Tx) error {
		if err := holdNode(t, n); err != nil {
			return err
		}
		return end(t, all, n.Name)
	})
	return s.fault(ctx, err, "report %d attempts", len(all))
}

// ListAttempts implements [flow.Attempts].
func (s Flow) ListAttempts(ctx context.Context, aq flow.AttemptQuery) ([]flow.Attempt, error) {
	if !plain(aq.Run + aq.Task + aq.Node) {
		return nil, nil
	}
	q := query{text: `SELECT ` + record.AttemptColumns + ` FROM {schema}.flow_attempts a`}
	q.add("WHERE a.token > $?", aq.After)
	open := aq.Open || aq.Node != ""
	switch {
	case aq.Run != "" && open: // few are open: this prevents the use of the index of all attempts
		q.add("AND coalesce(a.run, '') = $?", aq.Run)
	case aq.Run != "":
		q.add("AND a.run = $?", aq.Run)
	}
	if aq.Task != "" {
		q.add("AND a.task = $?", aq.Task)
		if aq.Index >= 0 {
			q.add("AND a.idx = $?", aq.Index)
		}
	}
	if aq.Node != "" {
		q.add("AND a.node = $?", aq.Node)
	}
	if open {
		q.text += " AND a.state <> 'ended'"
	}
	q.add("ORDER BY a.token LIMIT $?", aq.Most())
	found, err := collect(ctx, s, q, record.ScanAttempt)
	return found, s.fault(ctx, err, "list attempts")
}
