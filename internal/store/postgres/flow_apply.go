package postgres

import (
	"context"
	"fmt"
	"strings"

	"github.com/jackc/pgx/v5"

	"github.com/bezoar-dev/bezoar/flow"
	"github.com/bezoar-dev/bezoar/internal/store/record"
)

const (
	holdFlowRuns   = `SELECT id, epoch FROM {schema}.flow_runs WHERE id = ANY ($1::text[]) AND owner = $2 ORDER BY id FOR UPDATE`
	updateFlowRuns = `UPDATE {schema}.flow_runs r SET state = u.state, why = u.why, deadline = u.deadline, ended = u.ended,
			version = u.version, pages = u.pages, untold = u.untold
		FROM unnest($1::text[], $2::text[], $3::text[], $4::bigint[], $5::bigint[], $6::bigint[], $7::text[], $8::boolean[])
			u (id, state, why, deadline, ended, version, pages, untold) WHERE r.id = u.id`
	takeFlowLocks = `SELECT pg_advisory_xact_lock(l) FROM (SELECT DISTINCT l FROM unnest($1::bigint[]) l ORDER BY l) u`

	// Attempts that already began, by their keys.
	begunFlowAttempts = `SELECT ` + record.AttemptColumns + ` FROM {schema}.flow_attempts a
		JOIN unnest($1::text[], $2::text[], $3::bigint[], $4::bigint[]) u (run, task, idx, n) USING (run, task, idx, n)`
	usedFlowPools = `SELECT pool, sum(slots)::bigint FROM {schema}.flow_attempts
		WHERE pool = ANY ($1::text[]) AND pool <> '' AND state <> 'ended' GROUP BY pool`
	usedFlowKeys = `SELECT key, count(*) FROM {schema}.flow_attempts
		WHERE key = ANY ($1::bytea[]) AND key <> '' AND state <> 'ended' GROUP BY key`
	takenFlowEffects = `SELECT key, token, run, task, idx, done, output FROM {schema}.flow_effects WHERE key = ANY ($1::bytea[])`
	flowTokens       = `SELECT nextval('{schema}.flow_tokens') FROM generate_series(1, $1)`

	putFlowEffects = `INSERT INTO {schema}.flow_effects (key, token, run, task, idx, done)
		SELECT u.key, u.token, u.run, u.task, u.idx, false
		FROM unnest($1::bytea[], $2::bigint[], $3::text[], $4::text[], $5::bigint[]) u (key, token, run, task, idx) ORDER BY u.key`
	putFlowAttempts = `INSERT INTO {schema}.flow_attempts (run, task, idx, n, token, node, labels, pool, slots, key, state, started, ended, doc, stop, ending)
		SELECT u.run, u.task, u.idx, u.n, u.token, u.node, u.labels::jsonb, u.pool, u.slots, u.key, 'intended', 0, 0, u.doc, '', ''
		FROM unnest($1::text[], $2::text[], $3::bigint[], $4::bigint[], $5::bigint[], $6::text[], $7::text[], $8::text[], $9::bigint[],
			$10::bytea[], $11::text[]) u (run, task, idx, n, token, node, labels, pool, slots, key, doc) ORDER BY u.run, u.task, u.idx`
	stopFlowAttempts = `UPDATE {schema}.flow_attempts a SET stop = u.stop FROM unnest($1::bigint[], $2::text[]) u (token, stop)
		WHERE a.token = u.token AND a.state <> 'ended' AND a.stop = ''`
	dropFlowOrders = `DELETE FROM {schema}.flow_orders o USING {schema}.flow_runs r
		WHERE o.id = ANY ($1::bigint[]) AND r.id = o.run AND r.owner = $2`
)

func (s *flowStore) Apply(ctx context.Context, h flow.Hold, b flow.Batch) (done flow.Applied, err error) {
	err = s.change(ctx, func(tx pgx.Tx) error {
		if err := s.hold(ctx, tx, h, b); err != nil {
			return err
		}
		if err := s.before(ctx, tx, b); err != nil {
			return err
		}
		var batch pgx.Batch
		var left map[instanceKey]bool
		if done, left, err = s.begin(ctx, tx, &batch, b.Begin); err != nil {
			return err
		}
		instances, err := instanceRows(b.Instances, left)
		if err != nil {
			return err
		}
		if len(instances) > 0 {
			batch.Queue(s.in(putFlowInstances), instances.args()...)
		}
		var stops columns
		for _, stop := range b.Stop {
			doc, err := record.EncodeStop(stop)
			if err != nil {
				return err
			}
			stops.add(stop.Token, doc)
		}
		if len(stops) > 0 {
			batch.Queue(s.in(stopFlowAttempts), stops.args()...)
		}
		if len(b.Done) > 0 {
			batch.Queue(s.in(dropFlowOrders), b.Done, h.Node)
		}
		if batch.Len() == 0 {
			return nil
		}
		return tx.SendBatch(ctx, &batch).Close()
	})
	if err != nil {
		return flow.Applied{}, s.fault(ctx, err, "write a step of %d runs as node %s", len(h.Runs), h.Node)
	}
	return done, nil
}

// hold checks that the node may change the objects of the batch, and prevents other nodes
// from taking them until the transaction ends.
func (s *flowStore) hold(ctx context.Context, tx pgx.Tx, h flow.Hold, b flow.Batch) error {
	runs := b.Touches()
	held := make(map[string]int64, len(runs))
	alive := false
	var batch pgx.Batch
	batch.Queue(s.in(holdFlowRuns), runs, h.Node).Query(func(rows pgx.Rows) error {
		for rows.Next() {
			var id string
			var epoch int64
			if err := rows.Scan(&id, &epoch); err != nil {
				return err
			}
			held[id] = epoch
		}
		return rows.Err()
	})
	batch.Queue(s.in(`SELECT EXISTS (`+holds+`)`), h.Node, h.Epoch).QueryRow(func(row pgx.Row) error { return row.Scan(&alive) })
	if locks := s.locksOf(b.Begin); len(locks) > 0 {
		batch.Queue(s.in(takeFlowLocks), locks)
	}
	if err := tx.SendBatch(ctx, &batch).Close(); err != nil {
		return err
	}
	if !alive {
		return fmt.Errorf("the lease of node %s: %w", h.Node, flow.ErrFenced)
	}
	for _, id := range runs {
		epoch, ok := h.Runs[id]
		if is, holds := held[id]; !ok || !holds || is != epoch {
			return fmt.Errorf("run %s: %w", id, flow.ErrFenced)
		}
	}
	return nil
}

// locksOf returns the advisory locks for counting and taking slots.
func (s *flowStore) locksOf(begin []flow.Attempt) (locks []int64) {
	for _, a := range begin {
		if a.Pool != "" {
			locks = append(locks, s.lockOf("pool", a.Pool))
		}
		if a.Key != "" {
			locks = append(locks, s.lockOf("key", a.Key))
		}
	}
	return locks
}

// before writes the part of the batch that precedes the start of attempts.
func (s *flowStore) before(ctx context.Context, tx pgx.Tx, b flow.Batch) error {
	var batch pgx.Batch
	var runs columns
	for _, r := range b.Runs {
		pages, err := record.EncodePages(r.Pages)
		if err != nil {
			return err
		}
		runs.add(r.ID, string(r.State), text(r.Why), record.Micros(r.Deadline), record.Micros(r.Ended), r.Version, pages, r.State.Over() && r.Untold())
	}
	if len(runs) > 0 {
		batch.Queue(s.in(updateFlowRuns), runs.args()...)
	}
	if err := s.end(ctx, tx, b.End, ""); err != nil {
		return err
	}
	if len(b.Free) > 0 {
		batch.Queue(s.in(`DELETE FROM {schema}.flow_effects WHERE key = ANY ($1::bytea[])`), bytesOf(b.Free))
	}
	if batch.Len() == 0 {
		return nil
	}
	return tx.SendBatch(ctx, &batch).Close()
}

func bytesOf(all []string) [][]byte {
	out := make([][]byte, len(all))
	for i := range all {
		out[i] = []byte(all[i])
	}
	return out
}

// attemptKey identifies an attempt.
type attemptKey struct {
	instanceKey
	n int
}

func keyOf(a flow.Attempt) attemptKey { return attemptKey{instanceKey{a.Run, a.Task, a.Index}, a.N} }

// standing is the state that begin needs for its decisions.
type standing struct {
	begun       map[attemptKey]flow.Attempt
	pools, keys map[string]int
	effects     map[string]flow.Effect
	tokens      []int64
}

func (s *flowStore) stand(ctx context.Context, tx pgx.Tx, all []flow.Attempt) (standing, error) {
	is := standing{
		begun: make(map[attemptKey]flow.Attempt), pools: make(map[string]int), keys: make(map[string]int), effects: make(map[string]flow.Effect),
	}
	var c columns
	var pools []string
	var keys, effects [][]byte
	for _, a := range all {
		c.add(a.Run, a.Task, int64(a.Index), int64(a.N))
		if a.Pool != "" {
			pools = append(pools, a.Pool)
		}
		if a.Key != "" {
			keys = append(keys, []byte(a.Key))
		}
		if a.Effect != "" {
			effects = append(effects, []byte(a.Effect))
		}
	}
	var batch pgx.Batch
	read := func(statement string, args []any, scan func(pgx.Row) error) {
		batch.Queue(s.in(statement), args...).Query(func(rows pgx.Rows) error {
			for rows.Next() {
				if err := scan(rows); err != nil {
					return err
				}
			}
			return rows.Err()
		})
	}
	read(begunFlowAttempts, c.args(), func(row pgx.Row) error {
		a, err := record.ScanAttempt(row.Scan)
		is.begun[keyOf(a)] = a
		return err
	})
	read(flowTokens, []any{len(all)}, func(row pgx.Row) error {
		is.tokens = append(is.tokens, 0)
		return row.Scan(&is.tokens[len(is.tokens)-1])
	})
	if len(pools) > 0 {
		read(usedFlowPools, []any{pools}, func(row pgx.Row) error {
			var name string
			var used int
			err := row.Scan(&name, &used)
			is.pools[name] = used
			return err
		})
	}
	if len(keys) > 0 {
		read(usedFlowKeys, []any{keys}, func(row pgx.Row) error {
			var key []byte
			var used int
			err := row.Scan(&key, &used)
			is.keys[string(key)] = used
			return err
		})
	}
	if len(effects) > 0 {
		read(takenFlowEffects, []any{effects}, func(row pgx.Row) error {
			var e flow.Effect
			var key []byte
			err := row.Scan(&key, &e.Token, &e.Run, &e.Task, &e.Index, &e.Done, &e.Output)
			e.Key = string(key)
			is.effects[e.Key] = e
			return err
		})
	}
	return is, tx.SendBatch(ctx, &batch).Close()
}

// begin adds to the batch the attempts that have slots and effects, and returns the
// instances of the others.
func (s *flowStore) begin(ctx context.Context, tx pgx.Tx, batch *pgx.Batch, all []flow.Attempt) (
	done flow.Applied, left map[instanceKey]bool, err error,
) {
	if len(all) == 0 {
		return done, nil, nil
	}
	is, err := s.stand(ctx, tx, all)
	if err != nil {
		return done, nil, err
	}
	left = make(map[instanceKey]bool)
	var slots record.Slots
	var effects, attempts columns
	for n, a := range all {
		if there, ok := is.begun[keyOf(a)]; ok {
			done.Begun = append(done.Begun, there)
			if _, ok := is.effects[a.Effect]; !ok && a.Effect != "" && there.State != flow.AttemptEnded { // a repeated batch may have released it
				effects.add([]byte(a.Effect), there.Token, a.Run, a.Task, int64(a.Index))
			}
			continue
		}
		taken, ok := is.effects[a.Effect]
		if ok {
			done.Taken = append(done.Taken, taken)
		}
		fits := false
		if !ok {
			fits, err = slots.Take(a, func() (int, error) { return is.pools[a.Pool], nil }, func() (int, error) { return is.keys[a.Key], nil })
		}
		if err != nil {
			return done, nil, err
		}
		if !fits {
			left[keyOf(a).instanceKey] = true
			continue
		}
		a.Token, a.State = is.tokens[n], flow.AttemptIntended
		if a.Effect != "" {
			is.effects[a.Effect] = flow.Effect{Key: a.Effect, Token: a.Token, Run: a.Run, Task: a.Task, Index: a.Index}
			effects.add([]byte(a.Effect), a.Token, a.Run, a.Task, int64(a.Index))
		}
		if err := addAttempt(&attempts, a); err != nil {
			return done, nil, err
		}
		done.Begun = append(done.Begun, a)
	}
	if len(effects) > 0 {
		batch.Queue(s.in(putFlowEffects), effects.args()...)
	}
	if len(attempts) > 0 {
		batch.Queue(s.in(putFlowAttempts), attempts.args()...)
	}
	return done, left, nil
}

func addAttempt(c *columns, a flow.Attempt) error {
	doc, err := record.EncodeAttempt(a)
	if err != nil {
		return err
	}
	labels, err := record.EncodeLabels(a.Labels)
	if err != nil {
		return err
	}
	c.add(a.Run, a.Task, int64(a.Index), int64(a.N), a.Token, a.Node, labels, a.Pool, int64(a.Slots), []byte(a.Key), doc)
	return nil
}

// text returns the part of a display string that the database accepts.
func text(s string) string {
	return strings.ReplaceAll(strings.ToValidUTF8(s, "\ufffd"), "\x00", "\ufffd")
}
