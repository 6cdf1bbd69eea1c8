package app

import (
	"context"
	"errors"
	"log/slog"

	"github.com/bezoar-dev/bezoar/fingerprint"
	"github.com/bezoar-dev/bezoar/internal/control/config"
	"github.com/bezoar-dev/bezoar/internal/store"
	"github.com/bezoar-dev/bezoar/queue"
)

// WithQueues opens the store of cfg and runs the queue engine over it, and nothing else, until do returns.
func WithQueues(ctx context.Context, cfg config.Config, log *slog.Logger, do func(ctx context.Context, e *queue.Engine) error) (err error) {
	a := &App{cfg: cfg, log: log}
	key, err := a.openState()
	if err != nil {
		return err
	}
	stores, err := store.Open(ctx, cfg.Store, store.Config{MaxLetters: maxLetters(cfg.Store)})
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, stores.Close()) }()
	e, err := queue.New(queue.Config{Key: fingerprint.Key(key), Log: log}, stores.Queue)
	if err != nil {
		return err
	}
	life, stop := context.WithCancel(context.WithoutCancel(ctx))
	ended := make(chan error, 1)
	go func() { ended <- e.Run(life) }()
	err = do(ctx, e)
	stop()
	return errors.Join(err, <-ended)
}
