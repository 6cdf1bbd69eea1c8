//go:build !windows

package main

import (
	"context"
	"os"

	"github.com/bezoar-dev/bezoar/internal/app"
	"github.com/bezoar-dev/bezoar/internal/cli"
	"github.com/bezoar-dev/bezoar/internal/control/config"
	"github.com/bezoar-dev/bezoar/internal/control/console"
	"github.com/bezoar-dev/bezoar/internal/demo"
	"github.com/bezoar-dev/bezoar/internal/demo/sample"
	"github.com/bezoar-dev/bezoar/internal/process/guardian"
	"github.com/bezoar-dev/bezoar/internal/state/handover"
)

// engine connects the command line to the packages that it starts.
func engine() cli.Engine {
	return cli.Engine{Serve: serve, Demo: show, Queues: app.WithQueues, FlowWork: flowWork, SampleWorker: sampleWorker}
}

func serve(ctx context.Context, cfg config.Config, s cli.Serving) error {
	page, err := console.New()
	if err != nil {
		return err
	}
	sockets, err := handover.Inherit()
	if err != nil {
		return err
	}
	opt := app.Options{
		Sockets:  sockets,
		TakeOver: s.TakeOver,
		Log:      s.Log,
		Output:   s.Output,
		Page:     page,
		Alone:    true,
		Leave:    s.Leave,
		Restart:  s.Restart,
		Watch:    guardian.StartWatch,
		Started:  func(a *app.App) { s.Ready(a.Addr(), a.SQSAddr(), a.AdminAddr()) },

		Settings: app.Settings{Path: s.File, Edit: s.Edit},
	}
	opt.Secrets = cfg.SecretVariables()
	return app.Run(ctx, cfg, opt)
}

func show(ctx context.Context, c demo.Config) error {
	_, err := demo.Run(ctx, c)
	return err
}

func sampleWorker(ctx context.Context) error {
	cfg, err := sample.ConfigFromEnv(os.Getenv)
	if err != nil {
		return err
	}
	return sample.New(cfg).Run(ctx)
}

func flowWork(ctx context.Context, w app.FlowWorker) error {
	w.Watch = guardian.StartWatch
	return w.Run(ctx)
}
