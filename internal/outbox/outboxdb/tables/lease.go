package tables

import (
	"context"
	"database/sql"
	"time"

	"github.com/bezoar-dev/bezoar/outbox"
)

func (s *Store) lease(ctx context.Context, q querier, lock string) (l outbox.Lease, err error) {
	var now time.Time
	err = q.QueryRowContext(ctx, s.in(`SELECT owner, epoch, {until}, {now} FROM {schema}_lease`+lock)).Scan(&l.Owner, &l.Epoch, (*moment)(&l.Until), (*moment)(&now))
	l.Left = max(0, l.Until.Sub(now))
	return l, err
}

func (s *Store) Lease(ctx context.Context) (outbox.Lease, error) {
	l, err := s.lease(ctx, s.reader, "")
	return l, s.fault(ctx, "read the lease of the outbox", err)
}

// write runs f in a transaction. It repeats f if the database rolled the transaction back
// in favour of another.
func (s *Store) write(ctx context.Context, what string, f func(tx *sql.Tx) error) error {
	const most = 10
	for n := 1; ; n++ {
		err := s.writeOnce(ctx, f)
		if err == nil || n == most || s.dialect.Again == nil || !s.dialect.Again(err) || ctx.Err() != nil {
			return s.fault(ctx, what, err)
		}
	}
}

func (s *Store) writeOnce(ctx context.Context, f func(tx *sql.Tx) error) error {
	tx, err := s.writer.BeginTx(ctx, &sql.TxOptions{Isolation: s.dialect.Isolation})
	if err != nil {
		return err
	}
	if err = f(tx); err == nil {
		err = tx.Commit()
	}
	if err != nil {
		_ = tx.Rollback() // the caller gets err
	}
	return err
}

// fenced runs f in a transaction that checks that epoch is current.
func (s *Store) fenced(ctx context.Context, what string, epoch int64, f func(tx *sql.Tx) error) error {
	return s.write(ctx, what, func(tx *sql.Tx) error {
		if err := s.fence(ctx, tx, epoch, s.dialect.Share); err != nil {
			return err
		}
		return f(tx)
	})
}

func (s *Store) fence(ctx context.Context, q querier, epoch int64, lock string) error {
	l, err := s.lease(ctx, q, lock)
	if err == nil && l.Epoch != epoch {
		err = outbox.ErrFenced
	}
	return err
}

// Acquire implements [outbox.Leases].
func (s *Store) Acquire(ctx context.Context, owner string, ttl time.Duration) (l outbox.Lease, err error) {
	held, longest := false, max(4*ttl, time.Minute)
	err = s.write(ctx, "acquire the lease of the outbox", func(tx *sql.Tx) error {
		var err error
		if l, err = s.lease(ctx, tx, s.dialect.Exclusive); err != nil {
			return err
		}
		if held = l.Owner != owner && l.Left > 0 && l.Left <= longest; held {
			return nil
		}
		if err = s.setBack(ctx, tx, l.Left-longest); err != nil {
			return err
		}
		if _, err = tx.ExecContext(ctx, s.in(`UPDATE {schema}_lease SET owner = ?, epoch = epoch + 1, until = {now} + ?`), owner, ttl.Milliseconds()); err != nil {
			return err
		}
		l, err = s.lease(ctx, tx, "")
		return err
	})
	if err == nil && held {
		err = outbox.ErrHeld
	}
	return l, err
}

// setBack handles a lease that lasts longer than any relay requested: the database's clock
// was set back. It shortens the waits of retrying events by the same time.
func (s *Store) setBack(ctx context.Context, tx *sql.Tx, by time.Duration) error {
	if by <= time.Second {
		return nil
	}
	_, err := tx.ExecContext(ctx, s.in(`UPDATE {schema}_pending SET not_before = not_before - ? WHERE state = 1`), by.Milliseconds())
	return err
}

// Renew implements [outbox.Leases].
func (s *Store) Renew(ctx context.Context, epoch int64, ttl time.Duration) (l outbox.Lease, err error) {
	err = s.write(ctx, "renew the lease of the outbox", func(tx *sql.Tx) error {
		var err error
		if l, err = s.lease(ctx, tx, s.dialect.Exclusive); err != nil {
			return err
		}
		if l.Epoch != epoch {
			return outbox.ErrFenced
		}
		if err = s.setBack(ctx, tx, l.Left-ttl); err != nil {
			return err
		}
		if _, err = tx.ExecContext(ctx, s.in(`UPDATE {schema}_lease SET until = {now} + ?`), ttl.Milliseconds()); err != nil {
			return err
		}
		l, err = s.lease(ctx, tx, "")
		return err
	})
	return l, err
}

// Release implements [outbox.Leases].
func (s *Store) Release(ctx context.Context, epoch int64) error {
	_, err := s.writer.ExecContext(ctx, s.in(`UPDATE {schema}_lease SET until = 0 WHERE epoch = ?`), epoch)
	return s.fault(ctx, "release the lease of the outbox", err)
}
