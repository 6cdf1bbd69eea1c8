package postgres

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/bezoar-dev/bezoar/outbox"
)

var states = []outbox.State{outbox.Ready, outbox.Retrying, outbox.Parked, outbox.Behind}

func stateNumber(s outbox.State) (int, error) {
	for i, name := range states {
		if s == name {
			return i, nil
		}
	}
	return 0, fmt.Errorf("%q is not a state of an event", s)
}

// The query includes events whose rows were deleted, so that an operator can skip them.
const waitingColumns = `p.position, p.written_at, coalesce(e.id, '@' || p.position), p.topic,
	CASE WHEN e.position IS NULL THEN coalesce((SELECT k.key FROM {schema}.keys k WHERE k.topic = p.topic AND k.lane = p.lane), '') ELSE e.key END,
	coalesce(e.seq, 0), coalesce(e.type, ''), ` + bulk + `, e.position IS NULL, p.state, p.attempts, p.blamed, p.not_before, p.parked_at, p.evidence::text,
	EXISTS (SELECT FROM {schema}.flights f WHERE f.topic = p.topic AND p.position = ANY (f.positions)),
	CASE WHEN p.state IN (1, 2) THEN (SELECT count(*) FROM {schema}.pending b WHERE b.lane = p.lane AND b.state <> 0 AND b.position > p.position) ELSE 0 END`

const bulk = `nullif(e.headers, '{}')::text, e.payload`

const waitingFrom = ` FROM {schema}.pending p LEFT JOIN {schema}.events e ON e.position = p.position AND e.written_at = p.written_at WHERE `

// Waiting implements [outbox.Letters].
func (s *Store) Waiting(ctx context.Context, q outbox.Query) ([]outbox.Waiting, error) {
	if q.Limit <= 0 {
		q.Limit = 100
	}
	where, args, err := conditions(q)
	if err != nil {
		return nil, err
	}
	columns := waitingColumns
	if q.Bare {
		columns = strings.Replace(columns, bulk, "NULL::text, NULL::bytea", 1)
	}
	return s.waiting(ctx, fmt.Sprintf(`SELECT %s ORDER BY p.position LIMIT %d`, columns+waitingFrom+where, q.Limit), args...)
}

// Count implements [outbox.Letters].
func (s *Store) Count(ctx context.Context, q outbox.Query) (n int64, err error) {
	where, args, err := conditions(q)
	if err != nil {
		return 0, err
	}
	from := ` FROM {schema}.pending p WHERE `
	if q.Key != "" {
		from = waitingFrom
	}
	err = s.pool.QueryRow(ctx, s.in(`SELECT count(*)`+from+where), args...).Scan(&n)
	return n, s.fault(ctx, "count undelivered events", err)
}

func conditions(q outbox.Query) (where string, args []any, err error) {
	where, args = "p.position > $1", []any{q.After}
	add := func(condition string, arg any) {
		args = append(args, arg)
		where += fmt.Sprintf(" AND "+condition, len(args))
	}
	if q.State != "" {
		n, err := stateNumber(q.State)
		if err != nil {
			return "", nil, err
		}
		where += fmt.Sprintf(" AND p.state = %d", n)
	}
	if q.Topic != "" {
		add("p.topic = $%d", q.Topic)
	}
	if q.Key != "" {
		add("(e.key = $%[1]d OR e.position IS NULL AND p.lane IN (SELECT k.lane FROM {schema}.keys k WHERE k.topic = p.topic AND k.key = $%[1]d))", q.Key)
	}
	return where, args, nil
}

func (s *Store) waiting(ctx context.Context, statement string, args ...any) ([]outbox.Waiting, error) {
	const what = "list undelivered events"
	rows, err := s.pool.Query(ctx, s.in(statement), args...)
	if err != nil {
		return nil, s.fault(ctx, what, err)
	}
	var all []outbox.Waiting
	for rows.Next() {
		var w outbox.Waiting
		var state int
		var gone bool
		var notBefore, parked *time.Time
		var evidence *string
		if err := scanRecord(rows, &w.Record, &gone, &state, &w.Attempts, &w.Blamed, &notBefore, &parked, &evidence, &w.InFlight, &w.Behind); err != nil {
			rows.Close()
			return nil, s.fault(ctx, what, err)
		}
		w.State = states[state]
		if gone {
			w.Fault = outbox.FaultGone
		}
		if notBefore != nil {
			w.NotBefore = *notBefore
		}
		if parked != nil {
			w.Parked = *parked
		}
		if evidence != nil {
			w.Evidence = outbox.ReadEvidence([]byte(*evidence))
		}
		all = append(all, w)
	}
	return all, s.fault(ctx, what, rows.Err())
}

// Find implements [outbox.Letters].
func (s *Store) Find(ctx context.Context, id string) (outbox.Waiting, error) {
	found, err := s.waiting(ctx, `SELECT `+waitingColumns+waitingFrom+`e.id = $1 ORDER BY p.position LIMIT 1`, id)
	if position, ok := outbox.GoneAt(id); ok && err == nil && len(found) == 0 {
		found, err = s.waiting(ctx, `SELECT `+waitingColumns+waitingFrom+`p.position = $1 AND e.position IS NULL`, position)
	}
	if err != nil {
		return outbox.Waiting{}, err
	}
	if len(found) == 0 {
		return outbox.Waiting{}, outbox.ErrNotFound
	}
	return found[0], nil
}

// alone runs f in a transaction that excludes changes by relays.
func (s *Store) alone(ctx context.Context, what string, f func(tx pgx.Tx) error) error {
	err := pgx.BeginTxFunc(ctx, s.pool, pgx.TxOptions{IsoLevel: pgx.ReadCommitted}, func(tx pgx.Tx) error {
		var batch pgx.Batch
		batch.Queue(`SELECT ` + notForLong)
		batch.Queue(s.in(`LOCK TABLE {schema}.lease IN EXCLUSIVE MODE`))
		if err := tx.SendBatch(ctx, &batch).Close(); err != nil {
			return err
		}
		return f(tx)
	})
	if errors.Is(err, outbox.ErrNotFound) || errors.Is(err, outbox.ErrNotParked) || errors.Is(err, outbox.ErrGone) {
		return err
	}
	return s.fault(ctx, what, err)
}

// Retry implements [outbox.Letters].
func (s *Store) Retry(ctx context.Context, positions []int64) (n int, err error) {
	err = s.alone(ctx, "retry events", func(tx pgx.Tx) error {
		tag, err := tx.Exec(ctx, s.in(`UPDATE {schema}.pending SET state = 0, blamed = CASE WHEN state = 2 THEN 1 ELSE blamed END,
			not_before = NULL, parked_at = NULL WHERE position = ANY ($1::bigint[]) AND state IN (1, 2)`), positions)
		n = int(tag.RowsAffected())
		return err
	})
	return n, err
}

// Skip implements [outbox.Letters].
func (s *Store) Skip(ctx context.Context, positions []int64) (n int, err error) {
	err = s.alone(ctx, "skip events", func(tx pgx.Tx) error {
		return tx.QueryRow(ctx, s.in(`SELECT {schema}.discard(ARRAY (
			SELECT position FROM {schema}.pending WHERE position = ANY ($1::bigint[]) AND state IN (1, 2)))`), positions).Scan(&n)
	})
	return n, err
}

// Edit implements [outbox.Letters].
func (s *Store) Edit(ctx context.Context, position int64, e outbox.Edit) error {
	return s.alone(ctx, "edit an event", func(tx pgx.Tx) error {
		var state int
		var written time.Time
		err := tx.QueryRow(ctx, s.in(`SELECT state, written_at FROM {schema}.pending WHERE position = $1`), position).Scan(&state, &written)
		if errors.Is(err, pgx.ErrNoRows) {
			return outbox.ErrNotFound
		}
		if err != nil {
			return err
		}
		if states[state] != outbox.Parked {
			return outbox.ErrNotParked
		}
		var headers *string
		if e.Headers != nil {
			text, err := json.Marshal(e.Headers)
			if err != nil {
				return err
			}
			h := string(text)
			headers = &h
		}
		tag, err := tx.Exec(ctx, s.in(`UPDATE {schema}.events SET type = coalesce($3::text, type), headers = coalesce($4::text::jsonb, headers),
			payload = coalesce($5::bytea, payload) WHERE position = $1 AND written_at = $2`), position, written, e.Type, headers, e.Payload)
		if err == nil && tag.RowsAffected() == 0 {
			return outbox.ErrGone
		}
		return err
	})
}

// plain returns text that PostgreSQL accepts: valid UTF-8 without zero bytes.
func plain(text string) string {
	return strings.ReplaceAll(strings.ToValidUTF8(text, "\uFFFD"), "\x00", "\uFFFD")
}
