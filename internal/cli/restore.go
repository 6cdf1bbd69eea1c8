package cli

import (
	"errors"
	"io/fs"
	"os"
	"os/signal"
	"syscall"

	"github.com/bezoar-dev/bezoar/internal/app"
	"github.com/bezoar-dev/bezoar/internal/store"
)

type restoreCmd struct {
	File    string  `arg:"" help:"The backup, as bezoar backup made it."`
	Config  string  `short:"c" placeholder:"FILE" help:"The settings file that names the store (default: bezoar.yaml here, if there is one)."`
	Store   *string `placeholder:"STORE" help:"Restore to this store, sqlite:PATH, and ignore settings files (default sqlite:bezoar.db)."`
	Replace bool    `help:"Replace an existing store. The old store stays beside the new one under another name."`
}

// Help is shown below the flags.
func (*restoreCmd) Help() string {
	return "Stop Bezoar first. The backup is copied and checked from end to end; only then does it take the place of the store, in one step. " +
		"The backup lacks everything that was acknowledged after it. Put the file secret, which was kept with the backup, into state_dir. " +
		"A PostgreSQL store is restored with pg_restore."
}

// restoredTo is what --json prints.
type restoredTo struct {
	File  string `json:"file"`
	Store string `json:"store"`
	app.Restored
}

func (c *restoreCmd) Run(s *session) error {
	cfg, err := storeSettings(c.Config, c.Store)
	if err != nil {
		return settingsError(err)
	}
	progress := newBackupProgress(s, "restored")
	ctx, stop := signal.NotifyContext(s, os.Interrupt, syscall.SIGTERM) // half a copy is removed
	defer stop()
	done, err := app.Restore{From: c.File, Replace: c.Replace, Told: progress.tell}.Run(ctx, cfg)
	progress.clear()
	if err != nil {
		return c.fault(err)
	}
	return s.show(restoredTo{c.File, cfg.Store, done}, nil, func() {
		s.out.printf("%s: restored from %s, %s bytes, checked\n", clean(cfg.Store), clean(c.File), grouped(int(done.Bytes)))
		s.out.printf("%s, %s, %s, %s, %s\n", count(done.Queues, "queue", "queues"), count(done.Messages, "message", "messages"),
			count(done.Verdicts, "verdict", "verdicts"), count(done.Letters, "dead letter of requests", "dead letters of requests"), count(done.Runs, "run of flows", "runs of flows"))
		if done.Kept != "" {
			s.say("the store that was there is now %s", clean(done.Kept))
		}
		if done.Secret != "" {
			s.say("put the file secret that you kept with the backup to %s before you start Bezoar: without it the restored verdicts, quotas and letters match nothing", clean(done.Secret))
		}
	})
}

// fault adds the exit code to an error.
func (c *restoreCmd) fault(err error) error {
	switch {
	case errors.Is(err, errors.ErrUnsupported):
		return &exitError{code: exitUsage, err: err}
	case errors.Is(err, store.ErrInUse):
		return &exitError{code: exitFailure, err: err} // it says to stop that Bezoar
	case errors.Is(err, fs.ErrExist) && !c.Replace:
		return &exitError{code: exitUsage, err: err, hint: "--replace puts the backup in its place, and keeps it under another name"}
	case errors.Is(err, fs.ErrExist):
		return &exitError{code: exitUsage, err: err}
	case errors.Is(err, fs.ErrNotExist):
		return &exitError{code: exitNotFound, err: err, hint: "name the file that bezoar backup made; the folder of the store must exist"}
	case errors.Is(err, fs.ErrPermission):
		return &exitError{code: exitNotAllowed, err: err, hint: "run it as the user that Bezoar runs as"}
	}
	return err
}
