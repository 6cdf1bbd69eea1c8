package app

import (
	"fmt"
	"os"
	"path/filepath"

	"github.com/bezoar-dev/bezoar/internal/state/secret"
)

// openState makes the state directory and reads the deployment's secret. A store in memory needs no state: its secret is
// generated.
func (a *App) openState() ([32]byte, error) {
	if a.cfg.StateDir == "" {
		return made(), nil
	}
	if err := os.MkdirAll(a.cfg.StateDir, 0o700); err != nil {
		return [32]byte{}, fmt.Errorf("state_dir: %w", err)
	}
	switch info, err := os.Stat(a.cfg.StateDir); {
	case err != nil:
		return [32]byte{}, fmt.Errorf("state_dir: %w", err)
	case info.Mode().Perm()&0o002 != 0: // any user could put a secret and journals there
		return [32]byte{}, fmt.Errorf("state_dir: all users may write in %s (mode %04o): run chmod 700 %s, or name another directory",
			a.cfg.StateDir, info.Mode().Perm(), a.cfg.StateDir)
	}
	a.openRun()
	return secret.Load(filepath.Join(a.cfg.StateDir, "secret"))
}
