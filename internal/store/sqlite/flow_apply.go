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
	holdsNode  = `SELECT 1 FROM flow_nodes WHERE name = ? AND epoch = ? AND until > ?`
	holdsRun   = `SELECT 1 FROM flow_runs WHERE id = ? AND owner = ? AND node_epoch = ? AND epoch = ?`
	updateRun  = `UPDATE flow_runs SET params = ?, state = ?, why = ?, deadline = ?, ended = ?, version = version + 1 WHERE id = ?`
	takeNumber = `UPDATE flow_numbers SET last = last + ? WHERE kind = ? RETURNING last`
	putAttempt = `INSERT INTO flow_attempts (run, token, task, idx, node, pool, slots, key, state, started, ended, doc, ending)
		VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, '')`
	updateAttempt = `UPDATE flow_attempts SET node = ?, state = ?, started = ?, ended = ?, ending = ?
		WHERE run = ? AND token = ? AND state <> 'ended'`
	usedPool  = `SELECT coalesce(sum(slots), 0), coalesce((SELECT slots FROM flow_pools WHERE name = ?1), 1) FROM flow_attempts WHERE pool = ?1 AND pool <> '' AND state <> 'ended'`
	usedKey   = `SELECT count(*) FROM flow_attempts WHERE key = ? AND key <> x'' AND state <> 'ended'`
	dropOrder = `DELETE FROM flow_orders WHERE id = ? AND run IN (SELECT id FROM flow_runs WHERE owner = ? AND node_epoch = ?)`
)

func (s *flowStore) Apply(ctx context.Context, h flow.Hold, b flow.Batch) (flow.Applied, error) {
	for run := range record.Touched(b) {
		if _, ok := h.Runs[run]; !ok {
			return flow.Applied{}, fmt.Errorf("write to run %s, which %s does not hold: %w", run, h.Node, flow.ErrFenced)
		}
	}
	docs, err := encodeBatch(b)
	if err != nil {
		return flow.Applied{}, err
	}
	var done flow.Applied
	fenced := false
	err = s.db.writer.grow(ctx, func(t tx) error {
		held, err := holds(t, h, b, time.Now().UnixMicro())
		if fenced = !held; err != nil || fenced {
			return err
		}
		done, err = apply(t, h, b, docs)
		return err
	})
	if err != nil {
		return flow.Applied{}, s.db.fault(ctx, err, "write a step of %d runs", len(h.Runs))
	}
	if fenced {
		return flow.Applied{}, fmt.Errorf("write a step of %d runs as node %s: %w", len(h.Runs), h.Node, flow.ErrFenced)
	}
	return done, nil
}

// holds reports whether the node may change what is in the batch.
func holds(t tx, h flow.Hold, b flow.Batch, now int64) (bool, error) {
	held, err := exists(t, holdsNode, h.Node, h.Epoch, now)
	if err != nil || !held {
		return false, err
	}
	for run := range record.Touched(b) {
		held, err := exists(t, holdsRun, run, h.Node, h.Epoch, h.Runs[run])
		if err != nil || !held {
			return false, err
		}
	}
	return true, nil
}

func exists(t tx, query string, args ...any) (bool, error) {
	var one int
	err := t.row(query, args, &one)
	if errors.Is(err, sql.ErrNoRows) {
		return false, nil
	}
	return err == nil, err
}

// batchDocs are the texts of a batch, made before the transaction.
type batchDocs struct{ params, instances, begin, end []string }

func encodeBatch(b flow.Batch) (d batchDocs, err error) {
	if d.instances, err = instanceDocs(b.Instances); err != nil {
		return d, err
	}
	add := func(all *[]string, doc string, err error) error {
		*all = append(*all, doc)
		return err
	}
	for _, r := range b.Runs {
		doc, err := record.EncodeValues(r.Params)
		if err := add(&d.params, doc, err); err != nil {
			return d, err
		}
	}
	for _, a := range b.Begin {
		doc, err := record.EncodeAttempt(a)
		if err := add(&d.begin, doc, err); err != nil {
			return d, err
		}
	}
	for _, a := range b.End {
		doc, err := record.EncodeEnding(a)
		if err := add(&d.end, doc, err); err != nil {
			return d, err
		}
	}
	return d, nil
}

func apply(t tx, h flow.Hold, b flow.Batch, docs batchDocs) (done flow.Applied, err error) {
	for n, r := range b.Runs {
		err := t.exec(updateRun, docs.params[n], string(r.State), r.Why, record.Micros(r.Deadline), record.Micros(r.Ended), r.ID)
		if err != nil {
			return done, err
		}
	}
	for n, a := range b.End {
		err := t.exec(updateAttempt, a.Node, string(a.State), record.Micros(a.Started), record.Micros(a.Ended), docs.end[n], a.Run, a.Token)
		if err != nil {
			return done, err
		}
	}
	done, left, err := begin(t, b.Begin, docs.begin)
	if err != nil {
		return done, err
	}
	if err := putInstances(t, b.Instances, docs.instances, left); err != nil {
		return done, err
	}
	for _, id := range b.Done {
		if err := t.exec(dropOrder, id, h.Node, h.Epoch); err != nil {
			return done, err
		}
	}
	return done, nil
}

// begin writes attempts down, as far as there are slots, and returns the
// instances of the others.
func begin(t tx, all []flow.Attempt, docs []string) (done flow.Applied, left map[instanceKey]bool, err error) {
	if len(all) == 0 {
		return done, nil, nil
	}
	var token int64
	if err := t.row(takeNumber, []any{len(all), "token"}, &token); err != nil {
		return done, nil, err
	}
	token -= int64(len(all))
	slots := record.Slots{}
	for n, a := range all {
		fits, err := slots.Take(a,
			func() (used, most int, err error) { return used, most, t.row(usedPool, []any{a.Pool}, &used, &most) },
			func() (used int, err error) { return used, t.row(usedKey, []any{[]byte(a.Key)}, &used) })
		if err != nil {
			return done, nil, err
		}
		if !fits {
			if left == nil {
				left = make(map[instanceKey]bool)
			}
			left[instanceKey{a.Run, a.Task, a.Index}] = true
			continue
		}
		token++
		a.Token, a.State = token, flow.AttemptIntended
		err = t.exec(putAttempt, a.Run, a.Token, a.Task, a.Index, a.Node, a.Pool, a.Slots, []byte(a.Key), string(a.State),
			record.Micros(a.Started), record.Micros(a.Ended), docs[n])
		if isUniqueViolation(err) {
			return done, nil, fmt.Errorf("begin attempt %d of task %s [%d] in run %s: its last attempt is not over", a.N, a.Task, a.Index, a.Run)
		}
		if err != nil {
			return done, nil, err
		}
		done.Begun = append(done.Begun, a)
	}
	return done, left, nil
}
