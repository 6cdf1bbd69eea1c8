package cli

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/signal"
	"path/filepath"
	"syscall"
	"time"

	"github.com/bezoar-dev/bezoar/internal/app"
	"github.com/bezoar-dev/bezoar/internal/control/config"
	"github.com/bezoar-dev/bezoar/internal/store"
)

type backupCmd struct {
	File   string  `arg:"" help:"The file to make; an existing one is kept unless --force is given."`
	Config string  `short:"c" placeholder:"FILE" help:"The settings file that names the store (default: bezoar.yaml here, if there is one)."`
	Store  *string `placeholder:"STORE" help:"Copy this store, sqlite:PATH, and ignore settings files (default sqlite:bezoar.db)."`
	Force  bool    `help:"Replace FILE if it exists."`
}

// Help is shown below the flags.
func (*backupCmd) Help() string {
	return "The copy shows the store at one moment. Bezoar may serve meanwhile, and no write waits for the copy. The copy is checked before it gets its name. " +
		"Keep the file secret of state_dir with the copy. A PostgreSQL store is backed up with pg_dump."
}

// backedUp is what --json prints.
type backedUp struct {
	Store   string  `json:"store"`
	File    string  `json:"file"`
	Bytes   int64   `json:"bytes"`
	Seconds float64 `json:"seconds"`
	Secret  string  `json:"secret,omitempty"` // the file to keep with it
}

func (c *backupCmd) Run(s *session) error {
	cfg, err := storeSettings(c.Config, c.Store)
	if err != nil {
		return settingsError(err)
	}
	progress := newBackupProgress(s, "copied")
	began := s.now()
	ctx, stop := signal.NotifyContext(s, os.Interrupt, syscall.SIGTERM) // half a copy is removed
	defer stop()
	size, err := app.Backup{To: c.File, Replace: c.Force, Told: progress.tell}.Run(ctx, cfg)
	progress.clear()
	if err != nil {
		return c.fault(err)
	}
	done := backedUp{Store: cfg.Store, File: c.File, Bytes: size, Seconds: s.now().Sub(began).Seconds()}
	if cfg.StateDir != "" {
		done.Secret = filepath.Join(cfg.StateDir, "secret")
	}
	return s.show(done, nil, func() {
		s.out.printf("%s: %s bytes, checked\n", clean(c.File), grouped(int(size)))
		if done.Secret != "" {
			s.say("keep %s with the backup: without that file verdicts, quotas and letters in it match nothing", clean(done.Secret))
		} else {
			s.say("keep the file secret of state_dir with the backup: without it verdicts, quotas and letters in it match nothing")
		}
	})
}

// storeSettings returns the settings of the serving Bezoar. With a named store it reads no file, and the state directory is
// unknown.
func storeSettings(file string, store *string) (config.Config, error) {
	if store != nil {
		cfg, err := config.Queues(func(cfg *config.Config) { cfg.Store = *store })
		cfg.StateDir = ""
		return cfg, err
	}
	cfg, _, err := settingsOrQueues(file, func(*config.Config) {})
	return cfg, err
}

// fault adds the exit code to an error.
func (c *backupCmd) fault(err error) error {
	switch {
	case errors.Is(err, errors.ErrUnsupported):
		return &exitError{code: exitUsage, err: err}
	case errors.Is(err, fs.ErrExist):
		return &exitError{code: exitUsage, err: err, hint: "--force replaces an earlier copy, and nothing else"}
	case errors.Is(err, fs.ErrNotExist):
		return &exitError{code: exitNotFound, err: err, hint: "--store sqlite:PATH or -c FILE names the store; the folder of the copy must exist"}
	case errors.Is(err, fs.ErrPermission):
		return &exitError{code: exitNotAllowed, err: err, hint: "run it as the user that Bezoar runs as"}
	}
	return err
}

// backupProgress reports how far a copy is; with --json as lines of JSON on stderr.
type backupProgress struct {
	*longWork
	last    time.Time // when JSON was last written
	checked bool
	done    string // verb for the bytes
}

func newBackupProgress(s *session, done string) *backupProgress {
	return &backupProgress{longWork: newLongWork(s), done: done}
}

func (p *backupProgress) tell(at store.Progress) {
	if !p.s.json {
		p.longWork.tell(at.Done, at.Total, func() string {
			if at.Checking {
				return fmt.Sprintf("%s bytes %s; checking the copy", grouped(int(at.Total)), p.done)
			}
			return fmt.Sprintf("%s of %s bytes %s", grouped(int(at.Done)), grouped(int(at.Total)), p.done)
		})
		return
	}
	now := p.s.now()
	if now.Sub(p.last) < time.Second && at.Checking == p.checked {
		return
	}
	p.last, p.checked = now, at.Checking
	// Stderr may be closed; that must not stop the backup.
	_ = json.NewEncoder(p.s.Stderr).Encode(struct {
		Done     int64 `json:"done"`
		Total    int64 `json:"total"`
		Checking bool  `json:"checking"`
	}{at.Done, at.Total, at.Checking})
}
