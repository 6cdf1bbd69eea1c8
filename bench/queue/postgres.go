package main

import (
	"context"
	"errors"

	"github.com/bezoar-dev/bezoar/internal/store/postgres"
)

func bezoarPostgres() Subject {
	return Subject{
		Name:     "bezoar-postgres",
		Settings: "fsync=on synchronous_commit=on; one transaction for each batch or for several callers' batches",
		engine:   true,
		open: func(ctx context.Context, e *Env) (Queue, error) {
			url, drop, err := freshDatabase(ctx, e)
			if err != nil {
				return nil, err
			}
			db, err := postgres.Open(ctx, postgres.Config{URL: url})
			if err != nil {
				return nil, errors.Join(err, drop())
			}
			return openEngine(ctx, db.Queue(), func() error { return errors.Join(db.Close(), drop()) })
		},
	}
}
