package tables

import (
	"context"
	"database/sql"
	"fmt"

	"github.com/bezoar-dev/bezoar/outbox"
)

// Identity implements [outbox.Reports].
func (s *Store) Identity(ctx context.Context) (id outbox.Identity, err error) {
	err = s.reader.QueryRowContext(ctx, s.in(`SELECT id, version, made FROM {schema}_meta`)).Scan(&id.ID, &id.Version, (*moment)(&id.Made))
	return id, s.fault(ctx, "read the outbox", err)
}

// Status implements [outbox.Reports].
func (s *Store) Status(ctx context.Context) (st outbox.Status, err error) {
	if st.Identity, err = s.Identity(ctx); err != nil {
		return st, err
	}
	if st.Lease, err = s.Lease(ctx); err != nil {
		return st, err
	}
	err = s.each(ctx, s.reader, fmt.Sprintf(`SELECT topic, sum(CASE WHEN state = 0 THEN 1 ELSE 0 END), sum(CASE WHEN state = 1 THEN 1 ELSE 0 END),
			sum(CASE WHEN state = 2 THEN 1 ELSE 0 END), sum(CASE WHEN state = 3 THEN 1 ELSE 0 END), min(written_at)
		FROM (SELECT topic, state, written_at FROM {schema}_pending ORDER BY position LIMIT %d) p GROUP BY topic ORDER BY topic`, outbox.CountLimit), nil,
		func(scan func(...any) error) error {
			var t outbox.TopicStatus
			err := scan(&t.Topic, &t.Ready, &t.Retrying, &t.Parked, &t.Behind, (*moment)(&t.Oldest))
			st.Topics = append(st.Topics, t)
			return err
		})
	if err != nil {
		return st, s.fault(ctx, "count events", err)
	}
	flights, err := s.flights(ctx, s.reader, "id > 0")
	if err != nil {
		return st, s.fault(ctx, "list flights", err)
	}
	for _, f := range flights {
		st.Flight = append(st.Flight, f.FlightStatus)
	}
	err = s.reader.QueryRowContext(ctx, s.in(`SELECT {now}`)).Scan((*moment)(&st.Now))
	return st, s.fault(ctx, "read the clock", err)
}

// Verify implements [outbox.Reports].
func (s *Store) Verify(ctx context.Context, q outbox.VerifyQuery) (p outbox.Proof, err error) {
	const what = "verify the outbox"
	if q.Limit <= 0 {
		q.Limit = 100
	}
	tx, err := s.reader.BeginTx(ctx, &sql.TxOptions{Isolation: s.dialect.Snapshot, ReadOnly: s.dialect.Numbered})
	if err != nil {
		return p, s.fault(ctx, what, err)
	}
	defer tx.Rollback() //nolint:errcheck // it only read
	err = tx.QueryRowContext(ctx, s.in(`SELECT count(*) FROM {schema}_events WHERE ? = '' OR topic = ?`), q.Topic, q.Topic).Scan(&p.Events)
	if err != nil {
		return p, s.fault(ctx, what, err)
	}
	err = tx.QueryRowContext(ctx, s.in(`SELECT count(*) FROM (SELECT DISTINCT topic, {key} FROM {schema}_events WHERE {key} <> '' AND (? = '' OR topic = ?)) d`), q.Topic, q.Topic).Scan(&p.Keys)
	if err != nil {
		return p, s.fault(ctx, what, err)
	}
	// Missing sequence numbers below the oldest kept event are no gap: those events were
	// deleted. The keys table has the last assigned sequence number.
	err = s.each(ctx, tx, `WITH e AS (
			SELECT topic, {key} AS k, position, seq, lead(seq) OVER w AS following, lead(position) OVER w AS following_position
			FROM {schema}_events WHERE {key} <> '' AND (? = '' OR topic = ?) WINDOW w AS (PARTITION BY topic, {key} ORDER BY seq)
		), f AS (
			SELECT topic, k, 'gap' AS kind, following_position AS position, following AS found, seq + 1 AS expected FROM e WHERE following <> seq + 1
			UNION ALL
			SELECT topic, k, 'inversion', following_position, following, seq + 1 FROM e WHERE following_position < position
			UNION ALL
			SELECT e.topic, e.k, 'gap', e.position, c.seq + 1, e.seq + 1 FROM e JOIN {schema}_keys c ON c.topic = e.topic AND c.{key} = e.k
				WHERE e.following IS NULL AND c.seq <> e.seq
			UNION ALL
			SELECT p.topic, '', 'missing', p.position, 0, 0 FROM {schema}_pending p WHERE (? = '' OR p.topic = ?)
				AND NOT EXISTS (SELECT 1 FROM {schema}_events x WHERE x.position = p.position AND x.written_at = p.written_at)
		) SELECT topic, k, kind, position, found, expected FROM f ORDER BY position LIMIT ?`, []any{q.Topic, q.Topic, q.Topic, q.Topic, q.Limit}, func(scan func(...any) error) error {
		var f outbox.Finding
		err := scan(&f.Topic, &f.Key, &f.Kind, &f.Position, &f.Sequence, &f.Expected)
		p.Findings = append(p.Findings, f)
		return err
	})
	return p, s.fault(ctx, what, err)
}
