package postgres

import (
	"context"

	"github.com/jackc/pgx/v5"

	"github.com/bezoar-dev/bezoar/outbox"
)

// Member is an [outbox.TxSink] that knows its database.
type Member interface {
	// In reports whether the sink delivers to the database of tx, a pgx.Tx.
	In(ctx context.Context, tx any) (bool, error)
}

// notForLong makes the server end a transaction whose process was stopped. The transaction
// locks the lease, and no other relay could take over.
const notForLong = `set_config('idle_in_transaction_session_timeout', '5000', true)`

// Within implements [outbox.TxStore].
func (s *Store) Within(ctx context.Context, sink outbox.TxSink) (in bool, err error) {
	m, ok := sink.(Member)
	if !ok {
		return false, nil
	}
	err = pgx.BeginFunc(ctx, s.pool, func(tx pgx.Tx) (err error) {
		in, err = m.In(ctx, tx)
		return err
	})
	return in, s.fault(ctx, "see whether the sink is in the database of the outbox", err)
}

// AdvanceTx implements [outbox.TxStore].
func (s *Store) AdvanceTx(ctx context.Context, epoch, flight int64, next *outbox.Claim,
	send func(ctx context.Context, tx any) (*outbox.Settlement, error),
) (f *outbox.Flight, err error) {
	err = pgx.BeginTxFunc(ctx, s.pool, pgx.TxOptions{IsoLevel: pgx.ReadCommitted}, func(tx pgx.Tx) error {
		if _, err := tx.Exec(ctx, s.in(`SELECT {schema}.fence($1), `+notForLong), epoch); err != nil {
			return err
		}
		var done *outbox.Settlement
		var there bool
		if err := tx.QueryRow(ctx, s.in(`SELECT EXISTS (SELECT FROM {schema}.flights WHERE id = $1 AND epoch = $2)`), flight, epoch).Scan(&there); err != nil {
			return err
		}
		if there {
			var err error
			if done, err = send(ctx, tx); err != nil {
				return err
			}
		}
		var err error
		f, err = s.advance(ctx, tx, epoch, done, next)
		return err
	})
	if err != nil {
		return nil, s.fault(ctx, "deliver, settle and claim events", err)
	}
	return f, nil
}
