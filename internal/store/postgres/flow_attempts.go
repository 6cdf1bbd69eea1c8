package postgres

import (
	"cmp"
	"context"

	"github.com/jackc/pgx/v5"

	"github.com/bezoar-dev/bezoar"
	"github.com/bezoar-dev/bezoar/flow"
	"github.com/bezoar-dev/bezoar/internal/sorted"
	"github.com/bezoar-dev/bezoar/internal/store/record"
)

const (
	claimFlowAttempts = `WITH open AS MATERIALIZED (SELECT run, task, idx, n FROM {schema}.flow_attempts
			WHERE node = '' AND state = 'intended' AND stop = '' AND labels <@ $2::jsonb ORDER BY token LIMIT $3 FOR UPDATE SKIP LOCKED)
		UPDATE {schema}.flow_attempts a SET node = $1 FROM open
		WHERE a.run = open.run AND a.task = open.task AND a.idx = open.idx AND a.n = open.n
		RETURNING ` + record.AttemptColumns

	// Finished attempts do not change, and lost ones do not change for the node that lost
	// them. The statement returns what has changed.
	endFlowAttempts = `WITH open AS MATERIALIZED (SELECT a.token, u.state, u.started, u.ended, u.ending
			FROM unnest($1::bigint[], $2::text[], $3::bigint[], $4::bigint[], $5::text[]) u (token, state, started, ended, ending)
			JOIN {schema}.flow_attempts a ON a.token = u.token AND a.state <> 'ended' AND ($6 = '' OR a.node = $6 AND a.state <> 'lost')
			ORDER BY a.token FOR UPDATE OF a)
		UPDATE {schema}.flow_attempts a SET state = open.state, started = open.started, ended = open.ended, ending = open.ending
		FROM open WHERE a.token = open.token AND a.state <> 'ended' RETURNING a.token`
	doneFlowEffects = `UPDATE {schema}.flow_effects e SET done = true, output = u.output
		FROM unnest($1::bytea[], $2::bigint[], $3::bytea[]) u (key, token, output) WHERE e.key = u.key AND e.token = u.token`
	dropFlowEffects = `DELETE FROM {schema}.flow_effects e USING unnest($1::bytea[], $2::bigint[]) u (key, token)
		WHERE e.key = u.key AND e.token = u.token`
)

func (s *flowStore) Offers(ctx context.Context, n flow.Node, most int) (claimed []flow.Attempt, err error) {
	labels, err := record.EncodeLabels(n.Labels)
	if err != nil {
		return nil, err
	}
	var held, open bool // usually there are none: this avoids a transaction
	err = s.db.pool.QueryRow(ctx, s.in(`SELECT EXISTS (`+holds+`),
		EXISTS (SELECT FROM {schema}.flow_attempts WHERE node = '' AND state = 'intended' AND stop = '' AND labels <@ $3::jsonb)`),
		n.Name, n.Epoch, labels).Scan(&held, &open)
	if err == nil && !held {
		err = flow.ErrFenced
	}
	if err != nil || !open {
		return nil, s.fault(ctx, err, "look for attempts")
	}
	err = s.change(ctx, func(tx pgx.Tx) error {
		claimed = nil
		if err := s.holdNode(ctx, tx, n); err != nil {
			return err
		}
		return each(ctx, tx, s.in(claimFlowAttempts), []any{n.Name, labels, most}, func(rows pgx.Rows) error {
			a, err := record.ScanAttempt(rows.Scan)
			claimed = append(claimed, a)
			return err
		})
	})
	if err != nil {
		return nil, s.fault(ctx, err, "claim attempts")
	}
	sorted.Func(claimed, func(a, b flow.Attempt) int { return cmp.Compare(a.Token, b.Token) })
	return claimed, nil
}

// holds is holdFlowNode for read-only use.
const holds = `SELECT FROM {schema}.flow_nodes WHERE name = $1 AND epoch = $2 AND until > ` + clock

func (s *flowStore) Report(ctx context.Context, n flow.Node, all []flow.Attempt) error {
	err := s.change(ctx, func(tx pgx.Tx) error {
		if err := s.holdNode(ctx, tx, n); err != nil {
			return err
		}
		return s.end(ctx, tx, all, n.Name)
	})
	return s.fault(ctx, err, "report %d attempts", len(all))
}

// end stores the progress or end of attempts. by is the node that must hold them; empty:
// any.
func (s *flowStore) end(ctx context.Context, tx pgx.Tx, all []flow.Attempt, by string) error {
	var c columns
	effects := make(map[int64]flow.Attempt)
	for _, a := range all {
		ending, err := record.EncodeEnding(a)
		if err != nil {
			return err
		}
		c.add(a.Token, string(a.State), record.Micros(a.Started), record.Micros(a.Ended), ending)
		if a.Effect != "" && a.State == flow.AttemptEnded {
			effects[a.Token] = a
		}
	}
	if len(c) == 0 {
		return nil
	}
	var done, gone columns
	err := each(ctx, tx, s.in(endFlowAttempts), append(c.args(), by), func(rows pgx.Rows) error {
		var token int64
		err := rows.Scan(&token)
		a, ok := effects[token]
		switch {
		case ok && a.Ending.Class == bezoar.Done:
			done.add([]byte(a.Effect), token, append([]byte{}, a.Ending.Output...))
		case ok && a.Ending.Class == bezoar.SpawnFailed:
			gone.add([]byte(a.Effect), token)
		}
		return err
	})
	if err != nil {
		return err
	}
	var batch pgx.Batch
	if len(done) > 0 {
		batch.Queue(s.in(doneFlowEffects), done.args()...)
	}
	if len(gone) > 0 {
		batch.Queue(s.in(dropFlowEffects), gone.args()...)
	}
	if batch.Len() == 0 {
		return nil
	}
	return tx.SendBatch(ctx, &batch).Close()
}

func (s *flowStore) ListAttempts(ctx context.Context, aq flow.AttemptQuery) ([]flow.Attempt, error) {
	if !plain(aq.Run + aq.Task + aq.Node) {
		return nil, nil
	}
	q := query{s.in(`SELECT ` + record.AttemptColumns + ` FROM {schema}.flow_attempts a`), nil}
	q.add("WHERE a.token > $?", aq.After)
	if aq.Run != "" {
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
	if aq.Open || aq.Node != "" {
		q.text += " AND a.state <> 'ended'"
	}
	q.add("ORDER BY a.token LIMIT $?", aq.Most())
	found, err := collect(ctx, s.db, q, by(record.ScanAttempt))
	return found, s.fault(ctx, err, "list attempts")
}
