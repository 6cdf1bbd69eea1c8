package app

import (
	"context"

	"github.com/bezoar-dev/bezoar/internal/control/config"
	"github.com/bezoar-dev/bezoar/internal/store"
)

// Backup describes a copy of a store.
type Backup struct {
	To      string // the file
	Replace bool   // it may exist already
	Told    func(store.Progress)
}

// Run copies the store of cfg, which may be in use, and returns the size of the copy. If cfg names a state directory, the
// store must be the one that was used with it. The error is errors.ErrUnsupported for a store that is no file.
func (b Backup) Run(ctx context.Context, cfg config.Config) (int64, error) {
	var run store.Backup
	run.To, run.Replace, run.Mark, run.Told = b.To, b.Replace, storeMark, b.Told
	if cfg.StateDir != "" && cfg.Store != config.MemoryStore {
		var err error
		if run.Is, err = nameOfStore(cfg); err != nil {
			return 0, err
		}
	}
	return run.Run(ctx, cfg.Store)
}
