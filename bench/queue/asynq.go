package main

import (
	"context"
	"errors"
	"fmt"
	"os/exec"
	"path/filepath"
	"time"

	"github.com/hibiken/asynq"
	"github.com/redis/go-redis/v9"

	"github.com/bezoar-dev/bezoar/bench/internal/proc"
)

func asynqRedis(name, fsync string) Subject {
	return Subject{
		Name: name,
		Settings: "appendonly yes, appendfsync " + fsync +
			", a Unix socket; Enqueue and a Server, both with 10 goroutines for each worker (it has no batches)",
		Advice: "asynq says nothing; Redis suggests appendfsync everysec, which acknowledges up to a second before the disk has it",
		open:   func(ctx context.Context, e *Env) (Queue, error) { return openAsynq(ctx, e, fsync) },
	}
}

type asynqQueue struct {
	redis  *proc.Child
	opt    asynq.RedisClientOpt
	client *asynq.Client
	bodies bodies
}

func openAsynq(ctx context.Context, e *Env, fsync string) (Queue, error) {
	server, err := exec.LookPath("redis-server")
	if err != nil {
		return nil, fmt.Errorf("%w: no redis-server; apt-get install --no-install-recommends redis-server", ErrAbsent)
	}
	dir, err := e.fresh()
	if err != nil {
		return nil, err
	}
	socket := filepath.Join(dir, "redis.sock")
	child, err := proc.Start(proc.Spec{Name: "redis-server", Dir: dir, Leash: e.leash.End, Args: []string{
		server, "--port", "0", "--unixsocket", socket, "--dir", dir, "--save", "", "--appendonly", "yes", "--appendfsync", fsync,
	}, Line: func(string) {}})
	if err != nil {
		return nil, err
	}
	q := &asynqQueue{redis: child, opt: asynq.RedisClientOpt{Network: "unix", Addr: socket, PoolSize: 200}}
	if err := q.ready(ctx); err != nil {
		child.Stop()
		return nil, err
	}
	q.client = asynq.NewClient(q.opt)
	return q, nil
}

// ready waits until Redis answers.
func (q *asynqQueue) ready(ctx context.Context) error {
	c := redis.NewClient(&redis.Options{Network: "unix", Addr: q.opt.Addr})
	defer c.Close() //nolint:errcheck // nothing is in flight
	return eventually(ctx, q.redis, func() bool { return c.Ping(ctx).Err() == nil })
}

// eventually asks every 20 ms, for ten seconds at most, while the child lives.
func eventually(ctx context.Context, c *proc.Child, ok func() bool) error {
	ctx, cancel := context.WithTimeout(ctx, 10*time.Second)
	defer cancel()
	tick := time.NewTicker(20 * time.Millisecond)
	defer tick.Stop()
	for !ok() {
		select {
		case <-c.Done():
			return c.Err()
		case <-ctx.Done():
			return fmt.Errorf("it does not answer: %w", ctx.Err())
		case <-tick.C:
		}
	}
	return nil
}

func (q *asynqQueue) Close() error {
	err := q.client.Close()
	q.redis.Stop()
	return err
}

func (q *asynqQueue) Send(ctx context.Context, l Load) error {
	l.Workers *= batch
	return share(ctx, l, 1, func(ctx context.Context, _ int) error {
		_, err := q.client.EnqueueContext(ctx, asynq.NewTask("bench", []byte(q.bodies.next())))
		return err
	})
}

func (q *asynqQueue) Drain(ctx context.Context, l Load) error {
	server := asynq.NewServer(q.opt, asynq.Config{Concurrency: batch * l.Workers, LogLevel: asynq.FatalLevel, TaskCheckInterval: time.Millisecond})
	err := server.Start(asynq.HandlerFunc(func(context.Context, *asynq.Task) error { return nil }))
	if err != nil {
		return err
	}
	defer server.Shutdown()
	return q.empty(ctx, l)
}

// empty waits until Redis holds none of the tasks. It counts those it has
// processed: asking costs Redis next to nothing.
func (q *asynqQueue) empty(ctx context.Context, l Load) error {
	c := redis.NewClient(&redis.Options{Network: "unix", Addr: q.opt.Addr})
	defer c.Close() //nolint:errcheck // nothing is in flight
	tick := time.NewTicker(2 * time.Millisecond)
	defer tick.Stop()
	for {
		n, err := c.Get(ctx, "asynq:{default}:processed").Int()
		switch {
		case err != nil && !errors.Is(err, redis.Nil):
			return err
		case n >= l.Messages:
			return nil
		}
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-tick.C:
		}
	}
}
