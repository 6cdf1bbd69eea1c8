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
	"github.com/bezoar-dev/bezoar/internal/demo/traffic"
	"github.com/bezoar-dev/bezoar/internal/process/guardian"
	"github.com/bezoar-dev/bezoar/internal/state/handover"
)

// engine connects the command line to the packages that it starts.
func engine() cli.Engine {
	return cli.Engine{Serve: serve, Demo: show, Queues: app.WithQueues, Backup: backup, Restore: restore, FlowWork: flowWork, SampleWorker: sampleWorker}
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

func show(ctx context.Context, d cli.Demo) error {
	cfg := demo.Config{
		Command: d.Command,
		Pill:    traffic.Pill(d.Pill),
		Length:  d.Length,
		Workers: d.Workers,
		Rate:    d.Rate,
		JSON:    d.JSON,
		Out:     d.Stdout,
		Err:     d.Stderr,
	}
	_, err := demo.Run(ctx, cfg)
	return err
}

func sampleWorker(ctx context.Context) error {
	cfg, err := sample.ConfigFromEnv(os.Getenv)
	if err != nil {
		return err
	}
	return sample.New(cfg).Run(ctx)
}

func flowWork(ctx context.Context, w cli.FlowWorker) error {
	return app.FlowWorker{
		Store: w.Store, Dir: w.Dir, Labels: w.Labels, Slots: w.Slots, User: w.User, Inherit: w.Inherit, Watch: guardian.StartWatch, Log: w.Log,
	}.Run(ctx)
}

func backup(ctx context.Context, cfg config.Config, b cli.Backup) (int64, error) {
	return app.Backup(b).Run(ctx, cfg)
}

func restore(ctx context.Context, cfg config.Config, r cli.Restore) (cli.Restored, error) {
	done, err := app.Restore(r).Run(ctx, cfg)
	return cli.Restored{
		Bytes: done.Bytes, Schema: done.Schema, Kept: done.Kept, Verdicts: done.Verdicts, Queues: done.Queues,
		Messages: done.Messages, Letters: done.Letters, Runs: done.Runs, Secret: done.Secret,
	}, err
}
