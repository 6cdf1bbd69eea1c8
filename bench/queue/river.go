package main

import (
	"cmp"
	"context"
	"crypto/rand"
	"database/sql"
	"errors"
	"fmt"
	"log/slog"
	"net/url"
	"strings"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"
	"github.com/riverqueue/river"
	"github.com/riverqueue/river/riverdriver"
	"github.com/riverqueue/river/riverdriver/riverpgxv5"
	"github.com/riverqueue/river/riverdriver/riversqlite"
	"github.com/riverqueue/river/rivermigrate"
)

// River fetches as many jobs at once as it has free workers; ten for each of
// ours are what a batch is elsewhere. Its defaults fetch every 100 ms at most,
// which at such sizes is all that would be measured.
const (
	riverCooldown = time.Millisecond // the least that it takes
	riverPoll     = 20 * time.Millisecond
)

const riverHow = "InsertManyFast of 10, MaxWorkers 10 for each worker, FetchCooldown 1 ms, FetchPollInterval 20 ms; done jobs stay in the table, as by default"

func riverSQLite() Subject {
	return Subject{
		Name: "river-sqlite", Settings: sqlitePragmas + "; " + riverHow,
		Advice: `one connection ("a good workaround to avoid errors"); its tests use journal_mode=WAL; says nothing of synchronous, so SQLite's default: FULL`,
		open: func(ctx context.Context, e *Env) (Queue, error) {
			db, err := openSQLite(ctx, e)
			if err != nil {
				return nil, err
			}
			return openRiver[*sql.Tx](ctx, riversqlite.New(db), riverTuned(0), db.Close)
		},
	}
}

// riverDefaults is what River does unless told otherwise; it has no default
// for MaxWorkers.
var riverDefaults = riverTuning{
	cooldown: river.FetchCooldownDefault, poll: river.FetchPollIntervalDefault,
	how: "InsertManyFast of 10, MaxWorkers 10 for each worker, everything else as it comes (FetchCooldown 100 ms, FetchPollInterval 1 s)",
}

// riverTuned fetches as fast as it goes, so many workers, or ten for each of
// ours.
func riverTuned(workers int) riverTuning {
	t := riverTuning{cooldown: riverCooldown, poll: riverPoll, workers: workers, how: riverHow}
	if workers > 0 {
		t.how = fmt.Sprintf("%s, but MaxWorkers %d, as its own benchmark", riverHow, workers)
	}
	return t
}

type riverTuning struct {
	cooldown, poll time.Duration
	workers        int // 0: by the load
	how            string
}

func riverPostgres(name string, t riverTuning) Subject {
	return Subject{
		Name: name, Settings: "fsync=on synchronous_commit=on; " + t.how, Advice: "PostgreSQL's defaults",
		open: func(ctx context.Context, e *Env) (Queue, error) {
			db, drop, err := freshDatabase(ctx, e)
			if err != nil {
				return nil, err
			}
			pool, err := openPool(ctx, db)
			if err != nil {
				return nil, errors.Join(err, drop())
			}
			return openRiver[pgx.Tx](ctx, riverpgxv5.New(pool), t, func() error {
				pool.Close()
				return drop()
			})
		},
	}
}

func openPool(ctx context.Context, url string) (*pgxpool.Pool, error) {
	c, err := pgxpool.ParseConfig(url)
	if err != nil {
		return nil, err
	}
	c.MaxConns = 24 // 16 that send, and its own
	return pgxpool.NewWithConfig(ctx, c)
}

// freshDatabase makes a database for one measurement, and says how to drop it.
func freshDatabase(ctx context.Context, e *Env) (string, func() error, error) {
	if e.Postgres == "" {
		return "", nil, fmt.Errorf("%w: no PostgreSQL; run it by scripts/with-servers, or name one with -postgres", ErrAbsent)
	}
	at, err := url.Parse(e.Postgres)
	if err != nil {
		return "", nil, fmt.Errorf("-postgres: %w", err)
	}
	name := "bench_" + strings.ToLower(rand.Text()[:12])
	admin := func(ctx context.Context, statement string) error {
		c, err := pgxpool.ParseConfig(e.Postgres) // it may say something of the pool
		if err != nil {
			return err
		}
		conn, err := pgx.ConnectConfig(ctx, c.ConnConfig)
		if err != nil {
			return err
		}
		_, err = conn.Exec(ctx, statement)
		return errors.Join(err, conn.Close(ctx))
	}
	if err := admin(ctx, "CREATE DATABASE "+name); err != nil {
		return "", nil, fmt.Errorf("create database %s: %w", name, err)
	}
	at.Path = "/" + name
	return at.String(), func() error {
		// Also when the benchmark was told to stop.
		ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), 10*time.Second)
		defer cancel()
		return admin(ctx, "DROP DATABASE "+name+" WITH (FORCE)")
	}, nil
}

type riverArgs struct {
	Body string `json:"body"`
}

func (riverArgs) Kind() string { return "bench" }

type riverWorker struct {
	river.WorkerDefaults[riverArgs]
}

func (riverWorker) Work(context.Context, *river.Job[riverArgs]) error { return nil }

type riverQueue[TTx any] struct {
	driver riverdriver.Driver[TTx]
	sender *river.Client[TTx] // inserts only
	tuning riverTuning
	bodies bodies
	close  func() error
}

var silent = slog.New(slog.DiscardHandler)

func openRiver[TTx any](ctx context.Context, d riverdriver.Driver[TTx], t riverTuning, done func() error) (Queue, error) {
	m, err := rivermigrate.New(d, &rivermigrate.Config{Logger: silent})
	if err == nil {
		_, err = m.Migrate(ctx, rivermigrate.DirectionUp, nil)
	}
	if err != nil {
		return nil, errors.Join(fmt.Errorf("make River's tables: %w", err), done())
	}
	sender, err := river.NewClient(d, &river.Config{Logger: silent})
	if err != nil {
		return nil, errors.Join(err, done())
	}
	return &riverQueue[TTx]{driver: d, sender: sender, tuning: t, close: done}, nil
}

func (r *riverQueue[TTx]) Close() error { return r.close() }

func (r *riverQueue[TTx]) Send(ctx context.Context, l Load) error {
	return share(ctx, l, batch, func(ctx context.Context, n int) error {
		jobs := make([]river.InsertManyParams, n)
		for i := range jobs {
			jobs[i].Args = riverArgs{r.bodies.next()}
		}
		_, err := r.sender.InsertManyFast(ctx, jobs)
		return err
	})
}

func (r *riverQueue[TTx]) Drain(ctx context.Context, l Load) error {
	workers := river.NewWorkers()
	river.AddWorker(workers, riverWorker{})
	n := r.tuning.workers
	n = cmp.Or(n, batch*l.Workers)
	client, err := river.NewClient(r.driver, &river.Config{
		Logger: silent, Workers: workers, FetchCooldown: r.tuning.cooldown, FetchPollInterval: r.tuning.poll,
		Queues: map[string]river.QueueConfig{river.QueueDefault: {MaxWorkers: n}},
	})
	if err != nil {
		return err
	}
	// An event comes when its job is stored as done, not when it has run.
	events, unsubscribe := client.SubscribeConfig(&river.SubscribeConfig{
		ChanSize: l.Messages, Kinds: []river.EventKind{river.EventKindJobCompleted, river.EventKindJobFailed},
	})
	defer unsubscribe()
	if err := client.Start(ctx); err != nil {
		return err
	}
	defer stopRiver(ctx, client)
	for range l.Messages {
		select {
		case e := <-events:
			if e.Kind != river.EventKindJobCompleted {
				return fmt.Errorf("job %d failed", e.Job.ID)
			}
		case <-ctx.Done():
			return ctx.Err()
		}
	}
	return nil
}

// stopRiver waits until the client has let go of its database.
func stopRiver[TTx any](ctx context.Context, c *river.Client[TTx]) {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), 10*time.Second)
	defer cancel()
	_ = c.StopAndCancel(ctx) // its work was done; what remains fails with the database
}
