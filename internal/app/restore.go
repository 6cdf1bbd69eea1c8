package app

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"time"

	"github.com/bezoar-dev/bezoar/internal/control/config"
	"github.com/bezoar-dev/bezoar/internal/state/lastrun"
	"github.com/bezoar-dev/bezoar/internal/store"
)

// Restore describes a backup that replaces a store.
type Restore struct {
	From    string // the file
	Replace bool   // keep an existing store under another name
	Told    func(store.Progress)
}

// Restored counts what was restored.
type Restored struct {
	store.Restored
	Secret string `json:"secret,omitempty"` // the missing file without which the restored data match nothing; "": it exists
}

// Run puts the backup in the place of the store of cfg, which must not be in use. If cfg names a state directory, the
// backup must be of the store that was used with it.
func (r Restore) Run(ctx context.Context, cfg config.Config) (done Restored, err error) {
	var run store.Restore
	run.From, run.Replace, run.Mark, run.Now, run.Told = r.From, r.Replace, storeMark, time.Now(), r.Told
	if cfg.StateDir != "" && cfg.Store != config.MemoryStore {
		if run.Is, err = nameOfStore(cfg); err != nil {
			return done, err
		}
		used, err := lastrun.Peek(cfg.StateDir)
		if err == nil && used.Running {
			return done, fmt.Errorf("state_dir %s is %w (pid %d): stop that Bezoar first", cfg.StateDir, store.ErrInUse, used.PID)
		}
		secret := filepath.Join(cfg.StateDir, "secret")
		if _, err := os.Stat(secret); errors.Is(err, fs.ErrNotExist) {
			done.Secret = secret
		}
	}
	done.Restored, err = run.Run(ctx, cfg.Store)
	return done, err
}

// nameOfStore returns what the state directory knows of the store of cfg, as the document of a mark; nil: nothing.
func nameOfStore(cfg config.Config) ([]byte, error) {
	known, err := readStoreFile(filepath.Join(cfg.StateDir, storeFile))
	if err != nil {
		return nil, err
	}
	at, err := addressOf(cfg.Store)
	if err != nil || known.Name == "" || known.Store != at {
		return nil, err
	}
	return json.Marshal(known.Name)
}
