package app

import (
	"context"

	"github.com/bezoar-dev/bezoar/internal/control/config"
	"github.com/bezoar-dev/bezoar/internal/store"
)

// Backup is a copy that is to be made of a store.
type Backup struct {
	To      string // the file
	Replace bool   // it may be there already
	// Told hears how many bytes are copied, and at last that the copy is checked.
	Told func(done, total int64, checking bool)
}

// Run copies the store of cfg, which may be in use, and returns the copy's size. Unless
// cfg names no state directory it has to be the store that was used with that. The
// error is errors.ErrUnsupported for a store that is no file.
func (b Backup) Run(ctx context.Context, cfg config.Config) (int64, error) {
	var run store.Backup
	run.To, run.Replace, run.Mark = b.To, b.Replace, storeMark
	if b.Told != nil {
		run.Told = func(p store.Progress) { b.Told(p.Done, p.Total, p.Checking) }
	}
	if cfg.StateDir != "" && cfg.Store != config.MemoryStore {
		var err error
		if run.Is, err = nameOfStore(cfg); err != nil {
			return 0, err
		}
	}
	return run.Run(ctx, cfg.Store)
}
