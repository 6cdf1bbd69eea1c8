package main

import (
	"context"
	"fmt"
	"strconv"
	"sync"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/bezoar-dev/bezoar/internal/outbox/outboxdb/postgres"
	"github.com/bezoar-dev/bezoar/outbox"
)

const bezoarSchema = "bench_bezoar_outbox"

// nowhere takes everything.
type nowhere struct {
	mu   sync.Mutex
	left int
	took []time.Duration
	done chan struct{}
}

func newNowhere(n int) *nowhere { return &nowhere{left: n, done: make(chan struct{})} }

func (s *nowhere) Send(_ context.Context, records []outbox.Record) []error {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, r := range records {
		s.took = append(s.took, time.Since(r.Written))
		if s.left--; s.left == 0 {
			close(s.done)
		}
	}
	return make([]error, len(records))
}

func (s *nowhere) Close() error { return nil }

// withOutbox makes an empty outbox.
func withOutbox(ctx context.Context, o options, f func(conn *pgx.Conn, store outbox.Store) error) error {
	conn, err := pgx.Connect(ctx, o.url)
	if err != nil {
		return err
	}
	defer conn.Close(context.WithoutCancel(ctx)) //nolint:errcheck // of no effect
	drop := func() error {
		_, err := conn.Exec(context.WithoutCancel(ctx), `DROP SCHEMA IF EXISTS `+bezoarSchema+` CASCADE`)
		return err
	}
	if err := drop(); err != nil {
		return err
	}
	defer drop() //nolint:errcheck // the next run does it
	config := postgres.Config{URL: o.url, Schema: bezoarSchema}
	if err := postgres.Init(ctx, config); err != nil {
		return err
	}
	store, err := postgres.Open(ctx, config)
	if err != nil {
		return err
	}
	defer store.Close() //nolint:errcheck // of no effect
	return f(conn, store)
}

// relay runs a relay until the sink has all, and returns how long that took.
func relay(ctx context.Context, store outbox.Store, s *nowhere) (time.Duration, error) {
	r, err := outbox.New(outbox.Config{Store: store, Owner: "bench", Sinks: []outbox.Route{{Name: "nowhere", Topics: []string{"*"}, Sink: s}}})
	if err != nil {
		return 0, err
	}
	ctx, stop := context.WithCancel(ctx)
	defer stop()
	ended := make(chan error, 1)
	began := time.Now()
	go func() { ended <- r.Run(ctx) }()
	select {
	case <-s.done:
	case <-ctx.Done():
		return 0, ctx.Err()
	}
	took := time.Since(began)
	stop()
	return took, <-ended
}

func bezoarBacklog(ctx context.Context, o options) (perSecond float64, err error) {
	err = withOutbox(ctx, o, func(conn *pgx.Conn, store outbox.Store) error {
		for i := 0; i < o.events; i += 100 {
			events := make([]outbox.Event, min(100, o.events-i))
			for j := range events {
				events[j] = outbox.Event{Topic: "orders.paid", Key: strconv.Itoa((i + j) % o.keys), Payload: payload(i + j)}
			}
			if err := pgx.BeginFunc(ctx, conn, func(tx pgx.Tx) error {
				return outbox.Write(ctx, outbox.Pgx(tx).In(bezoarSchema), events...)
			}); err != nil {
				return err
			}
		}
		took, err := relay(ctx, store, newNowhere(o.events))
		perSecond = float64(o.events) / took.Seconds()
		return err
	})
	return perSecond, err
}

func bezoarIdle(ctx context.Context, o options) (took []time.Duration, err error) {
	err = withOutbox(ctx, o, func(conn *pgx.Conn, store outbox.Store) error {
		s := newNowhere(o.idle)
		written := make(chan error, 1)
		go func() {
			tick := time.NewTicker(23 * time.Millisecond)
			defer tick.Stop()
			for i := range o.idle {
				<-tick.C
				err := pgx.BeginFunc(ctx, conn, func(tx pgx.Tx) error {
					return outbox.Write(ctx, outbox.Pgx(tx).In(bezoarSchema), outbox.Event{Topic: "orders.paid", Key: "k", Payload: payload(i)})
				})
				if err != nil {
					written <- fmt.Errorf("write an event: %w", err)
					return
				}
			}
			written <- nil
		}()
		if _, err := relay(ctx, store, s); err != nil {
			return err
		}
		took = s.took
		return <-written
	})
	return took, err
}
