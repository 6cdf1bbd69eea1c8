package sqlite

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"time"

	"github.com/bezoar-dev/bezoar"
	"github.com/bezoar-dev/bezoar/flow"
	"github.com/bezoar-dev/bezoar/internal/store/record"
)

const (
	holdsNode  = `SELECT 1 FROM flow_nodes WHERE name = ? AND epoch = ? AND until > ?`
	holdsRun   = `SELECT 1 FROM flow_runs WHERE id = ? AND owner = ? AND epoch = ?`
	updateRun  = `UPDATE flow_runs SET state = ?, why = ?, deadline = ?, ended = ?, version = ?, pages = ?, untold = ? WHERE id = ?`
	takeNumber = `UPDATE flow_numbers SET last = last + ? WHERE kind = ? RETURNING last`
	putAttempt = `INSERT INTO flow_attempts (run, task, idx, n, token, node, pool, slots, key, state, started, ended, doc, stop, ending)
		VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, 0, 0, ?, '', '') ON CONFLICT (run, task, idx, n) DO NOTHING`
	updateAttempt = `UPDATE flow_attempts SET state = ?, started = ?, ended = ?, ending = ?
		WHERE token = ? AND state <> 'ended'`
	stopAttempt = `UPDATE flow_attempts SET stop = ? WHERE token = ? AND state <> 'ended' AND stop = ''`
	usedPool    = `SELECT coalesce(sum(slots), 0) FROM flow_attempts WHERE pool = ? AND pool <> '' AND state <> 'ended'`
	usedKey     = `SELECT count(*) FROM flow_attempts WHERE key = ? AND key <> x'' AND state <> 'ended'`
	getEffect   = `SELECT token, run, task, idx, done, output FROM flow_effects WHERE key = ?`
	putEffect   = `INSERT INTO flow_effects (key, token, run, task, idx, done, at) VALUES (?, ?, ?, ?, ?, 0, ?) ON CONFLICT (key) DO NOTHING`
	doneEffect  = `UPDATE flow_effects SET done = 1, output = ? WHERE key = ? AND token = ?`
	dropEffect  = `DELETE FROM flow_effects WHERE key = ? AND token = ?`
	freeEffect  = `DELETE FROM flow_effects WHERE key = ?`
	dropOrder   = `DELETE FROM flow_orders WHERE id = ? AND run IN (SELECT id FROM flow_runs WHERE owner = ?)`
)

func (s *flowStore) Apply(ctx context.Context, h flow.Hold, b flow.Batch) (flow.Applied, error) {
	for _, run := range b.Touches() {
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
	for _, run := range b.Touches() {
		held, err := exists(t, holdsRun, run, h.Node, h.Runs[run])
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
type batchDocs struct{ pages, instances, begin, end, stop []string }

func encodeBatch(b flow.Batch) (d batchDocs, _ error) {
	var errs [5]error
	d.instances, errs[4] = encoded(b.Instances, record.EncodeInstance)
	d.pages, errs[0] = encoded(b.Runs, func(r flow.Run) (string, error) { return record.EncodePages(r.Pages) })
	d.begin, errs[1] = encoded(b.Begin, record.EncodeAttempt)
	d.stop, errs[2] = encoded(b.Stop, record.EncodeStop)
	d.end, errs[3] = encoded(b.End, record.EncodeEnding)
	return d, errors.Join(errs[:]...)
}

// encoded returns the texts of a list.
func encoded[T any](list []T, encode func(T) (string, error)) ([]string, error) {
	docs := make([]string, 0, len(list))
	for _, one := range list {
		doc, err := encode(one)
		if err != nil {
			return nil, err
		}
		docs = append(docs, doc)
	}
	return docs, nil
}

func apply(t tx, h flow.Hold, b flow.Batch, docs batchDocs) (done flow.Applied, err error) {
	for n, r := range b.Runs {
		err := t.exec(updateRun, string(r.State), r.Why, record.Micros(r.Deadline), record.Micros(r.Ended), r.Version, docs.pages[n], r.State.Over() && r.Untold(), r.ID)
		if err != nil {
			return done, err
		}
	}
	for n, a := range b.End {
		if err := endAttempt(t, a, docs.end[n], updateAttempt); err != nil {
			return done, err
		}
	}
	for _, key := range b.Free {
		if err := t.exec(freeEffect, []byte(key)); err != nil {
			return done, err
		}
	}
	begun, left, err := begin(t, b.Begin, docs.begin)
	if err != nil {
		return done, err
	}
	if err := putInstances(t, b.Instances, docs.instances, left); err != nil {
		return done, err
	}
	for n, stop := range b.Stop {
		if err := t.exec(stopAttempt, docs.stop[n], stop.Token); err != nil {
			return done, err
		}
	}
	for _, id := range b.Done {
		if err := t.exec(dropOrder, id, h.Node); err != nil {
			return done, err
		}
	}
	return begun, nil
}

// endAttempt notes how an attempt goes on or ended, and what that says of its
// effect. An attempt that the update leaves alone changes nothing.
func endAttempt(t tx, a flow.Attempt, ending, update string, more ...any) error {
	args := append([]any{string(a.State), record.Micros(a.Started), record.Micros(a.Ended), ending, a.Token}, more...)
	n, err := t.changed(update, args...)
	if err != nil || n == 0 || a.Effect == "" || a.State != flow.AttemptEnded {
		return err
	}
	switch a.Ending.Class {
	case bezoar.Done:
		return t.exec(doneEffect, a.Ending.Output, []byte(a.Effect), a.Token)
	case bezoar.SpawnFailed:
		return t.exec(dropEffect, []byte(a.Effect), a.Token)
	default:
		return nil
	}
}

// begin writes attempts down, as far as there are slots and effects for them, and
// returns the instances of the others.
func begin(t tx, all []flow.Attempt, docs []string) (done flow.Applied, left map[instanceKey]bool, err error) {
	if len(all) == 0 {
		return done, nil, nil
	}
	var token int64
	if err := t.row(takeNumber, []any{len(all), "token"}, &token); err != nil {
		return done, nil, err
	}
	token -= int64(len(all))
	left = make(map[instanceKey]bool)
	var slots record.Slots
	for n, a := range all {
		token++
		begun, err := beginOne(t, &slots, a, token, docs[n], &done)
		if err != nil {
			return done, nil, err
		}
		if !begun {
			left[instanceKey{a.Run, a.Task, a.Index}] = true
		}
	}
	return done, left, nil
}

func beginOne(t tx, slots *record.Slots, a flow.Attempt, token int64, doc string, done *flow.Applied) (bool, error) {
	if a.Pool != "" || a.Key != "" || a.Effect != "" { // else the insert itself finds it
		if there, err := began(t, a); err != nil || there != nil {
			return keep(done, there, err)
		}
	}
	fits, err := slots.Take(a,
		func() (used int, err error) { return used, t.row(usedPool, []any{a.Pool}, &used) },
		func() (used int, err error) { return used, t.row(usedKey, []any{[]byte(a.Key)}, &used) })
	if err != nil || !fits {
		return false, err
	}
	if a.Effect != "" {
		taken, err := effectOf(t, a.Effect)
		if err != nil {
			return false, err
		}
		if taken != nil {
			done.Taken = append(done.Taken, *taken)
			return false, nil
		}
		if err := t.exec(putEffect, []byte(a.Effect), token, a.Run, a.Task, a.Index, time.Now().UnixMicro()); err != nil {
			return false, err
		}
	}
	a.Token, a.State = token, flow.AttemptIntended
	n, err := t.changed(putAttempt, a.Run, a.Task, a.Index, a.N, a.Token, a.Node, a.Pool, a.Slots, []byte(a.Key), string(a.State), doc)
	if err == nil && n == 0 {
		there, err := began(t, a)
		return keep(done, there, err)
	}
	return keep(done, &a, err)
}

// keep notes an attempt that is begun.
func keep(done *flow.Applied, a *flow.Attempt, err error) (bool, error) {
	if err == nil {
		done.Begun = append(done.Begun, *a)
	}
	return err == nil, err
}

// began finds an attempt that was begun already, nil for none.
func began(t tx, a flow.Attempt) (*flow.Attempt, error) {
	there, err := record.ScanAttempt(func(dest ...any) error {
		return t.row(getAttempt, []any{a.Run, a.Task, a.Index, a.N}, dest...)
	})
	if errors.Is(err, sql.ErrNoRows) {
		return nil, nil //nolint:nilnil // there is none
	}
	if err == nil && there.Effect != "" && there.State != flow.AttemptEnded { // the batch that comes again may have freed it
		err = t.exec(putEffect, []byte(there.Effect), there.Token, there.Run, there.Task, there.Index, time.Now().UnixMicro())
	}
	return &there, err
}

// effectOf finds who has an effect, nil for nobody.
func effectOf(t tx, key string) (*flow.Effect, error) {
	e := flow.Effect{Key: key}
	err := t.row(getEffect, []any{[]byte(key)}, &e.Token, &e.Run, &e.Task, &e.Index, &e.Done, &e.Output)
	if errors.Is(err, sql.ErrNoRows) {
		return nil, nil //nolint:nilnil // there is nobody
	}
	return &e, err
}
