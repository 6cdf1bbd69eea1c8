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

const (
	renewNode = `UPDATE flow_nodes SET labels = ?, slots = ?, plans = ?, seen = ?4, until = ?5 WHERE name = ? AND epoch = ? AND until > ?4`
	putNode   = `INSERT INTO flow_nodes (name, epoch, labels, slots, plans, seen, until) VALUES (?, ?, ?, ?, ?, ?, ?)
		ON CONFLICT (name) DO UPDATE SET epoch = flow_nodes.epoch + 1, labels = excluded.labels, slots = excluded.slots, plans = excluded.plans,
		seen = excluded.seen, until = excluded.until RETURNING epoch`
	forgetNodes = `DELETE FROM flow_nodes WHERE until < ?`
	freeNode    = `UPDATE flow_runs SET owner = '' WHERE owner = ? AND (state IN ('RUNNING', 'HELD') OR untold = 1)`
	leaveNode   = `UPDATE flow_nodes SET until = ? WHERE name = ? AND epoch = ?`

	// Runs without a holder.
	freeRuns = `FROM flow_runs r WHERE (r.state IN ('RUNNING', 'HELD') OR r.untold = 1)
		AND NOT EXISTS (SELECT 1 FROM flow_nodes n WHERE n.name = r.owner AND n.until > ?1)`
	takeRun = `UPDATE flow_runs SET owner = ?, epoch = epoch + 1, version = version + 1 WHERE id = ?`
	// Attempts whose node is gone.
	onLostNodes = `FROM flow_attempts a WHERE a.state <> 'ended' AND a.state <> 'lost' AND a.node <> ''
		AND NOT EXISTS (SELECT 1 FROM flow_nodes n WHERE n.name = a.node AND n.until > ?1)`
	loseAttempts = `UPDATE flow_attempts SET state = 'lost' WHERE state <> 'ended' AND token IN (SELECT a.token ` + onLostNodes + `)`
)

// forgetNodesAfter is how long a node stays in lists after its lease has expired. Its
// epochs then start again; the epochs of runs fence what an earlier life may still hold.
const forgetNodesAfter = 24 * time.Hour

func (s *flowStore) Renew(ctx context.Context, n flow.Node, ttl time.Duration) (flow.Node, error) {
	labels, err := record.EncodeLabels(n.Labels)
	if err != nil {
		return n, err
	}
	was, fenced := n.Epoch, false
	err = s.db.writer.run(ctx, func(t tx) error {
		now := time.Now().UnixMicro()
		until := now + ttl.Microseconds()
		n.Epoch, n.Seen, n.Until = was, record.Time(now), record.Time(until)
		kept, err := t.changed(renewNode, labels, n.Slots, n.Plans, now, until, n.Name, n.Epoch)
		if err != nil || kept > 0 {
			return err
		}
		replaced, err := exists(t, `SELECT 1 FROM flow_nodes WHERE name = ? AND epoch <> ?`, n.Name, was)
		if fenced = replaced && was != 0; err != nil || fenced {
			return err
		}
		if err := t.row(putNode, []any{n.Name, was + 1, labels, n.Slots, n.Plans, now, until}, &n.Epoch); err != nil {
			return err
		}
		if err := t.exec(freeNode, n.Name); err != nil {
			return err
		}
		return t.exec(forgetNodes, now-forgetNodesAfter.Microseconds())
	})
	if fenced {
		err = fmt.Errorf("renew the lease of node %s: another process uses this node name: %w", n.Name, flow.ErrFenced)
		return n, err
	}
	return n, s.db.fault(ctx, err, "renew the lease of node %s", n.Name)
}

func (s *flowStore) Leave(ctx context.Context, n flow.Node) error {
	err := s.db.writer.run(ctx, func(t tx) error {
		left, err := t.changed(leaveNode, time.Now().UnixMicro(), n.Name, n.Epoch)
		if err != nil || left == 0 {
			return err
		}
		return t.exec(freeNode, n.Name)
	})
	return s.db.fault(ctx, err, "end the lease of node %s", n.Name)
}

func (s *flowStore) ListNodes(ctx context.Context) ([]flow.Node, error) {
	var q query
	q.add(`SELECT name, epoch, labels, slots, plans, seen, until FROM flow_nodes ORDER BY name`)
	found, err := collect(ctx, s.db.reader, &q, record.ScanNode)
	return found, s.db.fault(ctx, err, "list nodes")
}

func (s *flowStore) Take(ctx context.Context, n flow.Node, most int) ([]flow.Run, error) {
	// Usually there is nothing to do; this avoids a transaction.
	var now, work int64 = time.Now().UnixMicro(), 0
	err := s.db.reader.QueryRowContext(ctx, `SELECT EXISTS (SELECT 1 `+freeRuns+`) OR EXISTS (SELECT 1 `+onLostNodes+`)
		OR NOT EXISTS (SELECT 1 FROM flow_nodes WHERE name = ?2 AND epoch = ?3 AND until > ?1)`, now, n.Name, n.Epoch).Scan(&work)
	if err != nil || work == 0 {
		return nil, s.db.fault(ctx, err, "look for runs to take")
	}
	var taken []flow.Run
	fenced := false
	err = s.db.writer.run(ctx, func(t tx) error {
		taken = nil
		now := time.Now().UnixMicro()
		held, err := exists(t, holdsNode, n.Name, n.Epoch, now)
		if fenced = !held; err != nil || fenced {
			return err
		}
		taken, err = take(t, n, most, now)
		if err != nil {
			return err
		}
		return t.exec(loseAttempts, now)
	})
	if err != nil {
		return nil, s.db.fault(ctx, err, "take runs")
	}
	if fenced {
		return nil, fmt.Errorf("take runs as node %s: %w", n.Name, flow.ErrFenced)
	}
	return taken, nil
}

func take(t tx, n flow.Node, most int, now int64) (taken []flow.Run, err error) {
	var ids []string
	err = t.each(`SELECT r.id `+freeRuns+` ORDER BY r.id LIMIT ?2`, []any{now, most}, func(rows *sql.Rows) error {
		ids = append(ids, "")
		return rows.Scan(&ids[len(ids)-1])
	})
	if err != nil {
		return nil, err
	}
	for _, id := range ids {
		if err := t.exec(takeRun, n.Name, id); err != nil {
			return nil, err
		}
		r, err := record.ScanWholeRun(func(dest ...any) error { return t.row(getRun, []any{id}, dest...) })
		if err != nil {
			return nil, errors.Join(fmt.Errorf("run %s", id), err)
		}
		taken = append(taken, r)
	}
	return taken, nil
}
