package postgres

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/jackc/pgx/v5"
)

// Wake implements [outbox.Waker]. It uses a connection outside the pool.
func (s *Store) Wake(ctx context.Context, wake func()) error {
	const what = "listen for events"
	conn, err := pgx.ConnectConfig(ctx, s.pool.Config().ConnConfig)
	if err != nil {
		return s.fault(ctx, what, err)
	}
	defer func() { _ = conn.Close(context.WithoutCancel(ctx)) }()
	var has bool
	err = conn.QueryRow(ctx, `SELECT EXISTS (SELECT FROM pg_trigger WHERE tgrelid = to_regclass($1) AND tgname = 'wake')`, s.schema+".pending").Scan(&has)
	if err != nil {
		return s.fault(ctx, what, err)
	}
	if !has {
		return errors.New(what + ": the outbox sends no notifications; enable them with `bezoar outbox init --notify`, or turn off listening")
	}
	if err := s.ownSession(ctx, conn); err != nil {
		return err
	}
	if _, err := conn.Exec(ctx, "LISTEN "+s.schema); err != nil {
		return s.fault(ctx, what, err)
	}
	for {
		wake() // events may have been written before LISTEN
		if _, err := conn.WaitForNotification(ctx); err != nil {
			return s.fault(ctx, what, err)
		}
	}
}

// ownSession returns an error if a pooler gives every transaction another session. To find
// out, it sends a notification to itself.
func (s *Store) ownSession(ctx context.Context, conn *pgx.Conn) error {
	const what = "listen for events"
	channel := fmt.Sprintf("%s_probe_%d", s.schema, time.Now().UnixNano())
	if _, err := conn.Exec(ctx, "LISTEN "+channel); err != nil {
		return s.fault(ctx, what, err)
	}
	if _, err := s.pool.Exec(ctx, `SELECT pg_notify($1, '')`, channel); err != nil {
		return s.fault(ctx, what, err)
	}
	wait, cancel := context.WithTimeout(ctx, 2*time.Second)
	defer cancel()
	if _, err := conn.WaitForNotification(wait); err != nil {
		if ctx.Err() != nil {
			return ctx.Err()
		}
		return fmt.Errorf("%s: %s loses notifications: it is a pooler that shares sessions between transactions; "+
			"use the database's own address, or turn off listening", what, s.where)
	}
	_, err := conn.Exec(ctx, "UNLISTEN "+channel)
	return s.fault(ctx, what, err)
}
