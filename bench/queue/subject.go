package main

import (
	"context"
	"errors"
	"fmt"
	"sync/atomic"

	"golang.org/x/sync/errgroup"
)

// batch is how many messages a call carries, where a queue has such calls.
const batch = 10

// bodyBytes is the size of a message.
const bodyBytes = 200

// lastPasses bounds how often a drain looks again for what it misses.
const lastPasses = 100

// A Subject is a queue to measure, as anybody would set it up.
type Subject struct {
	Name     string `json:"name"`
	Settings string `json:"settings"`         // what makes it durable here
	Advice   string `json:"advice,omitempty"` // what its documentation says, where that is something else
	endpoint bool   // it is called over HTTP
	engine   bool   // it is Bezoar in this process
	open     func(ctx context.Context, e *Env) (Queue, error)
}

// A Queue is an empty one, opened for one measurement.
type Queue interface {
	// Send stores l.Messages messages, l.Workers workers at a time; each is
	// acknowledged when Send returns.
	Send(ctx context.Context, l Load) error
	// Drain receives and deletes as many, and returns when all are done.
	Drain(ctx context.Context, l Load) error
	Close() error
}

// Load is what a queue has to carry.
type Load struct {
	Messages int
	Workers  int
}

// ErrAbsent wraps why a subject cannot be measured on this machine.
var ErrAbsent = errors.New("not run")

// share has l.Workers workers call f for n messages each time, together for
// l.Messages.
func share(ctx context.Context, l Load, n int, f func(ctx context.Context, n int) error) error {
	var taken atomic.Int64
	all, ctx := errgroup.WithContext(ctx)
	for range l.Workers {
		all.Go(func() error {
			for {
				left := l.Messages - (int(taken.Add(int64(n))) - n)
				if left <= 0 {
					return nil
				}
				if err := f(ctx, min(n, left)); err != nil {
					return err
				}
			}
		})
	}
	return all.Wait()
}

// drain has l.Workers workers call take, which says how many messages it has
// done, until l.Messages are.
func drain(ctx context.Context, l Load, take func(ctx context.Context) (int, error)) error {
	var done atomic.Int64
	for range lastPasses { // nearly always one
		all, ctx := errgroup.WithContext(ctx)
		for range l.Workers {
			all.Go(func() error {
				for int(done.Load()) < l.Messages {
					n, err := take(ctx)
					if err != nil {
						return err
					}
					if n == 0 {
						return nil // others have the rest
					}
					done.Add(int64(n))
				}
				return nil
			})
		}
		if err := all.Wait(); err != nil {
			return err
		}
		if int(done.Load()) >= l.Messages {
			break
		}
	}
	if got := int(done.Load()); got != l.Messages {
		return fmt.Errorf("drained %d messages of %d", got, l.Messages)
	}
	return nil
}

// subjects are all, in the order in which they take turns.
func subjects() []Subject {
	return []Subject{
		bezoarSQLite(), goqiteTx(), riverSQLite(), goqitePlain(),
		bezoarPostgres(),
		riverPostgres("river-postgres-defaults", riverDefaults),
		riverPostgres("river-postgres", riverTuned(0)), riverPostgres("river-postgres-2000", riverTuned(2000)),
		asynqRedis("asynq-always", "always"), asynqRedis("asynq-everysec", "everysec"),
		bezoarHTTP("bezoar-http", false), goawsHTTP(), bezoarHTTP("bezoar-http-json", true),
	}
}

// A Rival is a pair to compare, and how many times faster the first has to be.
type Rival struct {
	Ours, Peer string
	Required   float64 // 0: for information
}

func rivals() []Rival {
	return []Rival{
		{"bezoar-sqlite", "goqite", 2},
		{"bezoar-sqlite", "goqite-tx", 2},
		{"bezoar-sqlite", "river-sqlite", 2},
		{"bezoar-sqlite", "asynq-always", 1},
		{"bezoar-sqlite", "asynq-everysec", 0},
		{"bezoar-postgres", "river-postgres-defaults", 3},
		{"bezoar-postgres", "river-postgres", 3},
		{"bezoar-postgres", "river-postgres-2000", 0},
		{"bezoar-postgres", "asynq-always", 1},
		{"bezoar-postgres", "asynq-everysec", 0},
		{"bezoar-http", "goaws", 3},
		{"bezoar-http-json", "goaws", 0},
	}
}
