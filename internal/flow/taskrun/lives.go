package taskrun

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"sync"

	"github.com/bezoar-dev/bezoar/internal/process/guardian"
	"github.com/bezoar-dev/bezoar/internal/process/proc"
	"github.com/bezoar-dev/bezoar/internal/state/statefile"
)

// life is a process that used the state directory.
type life struct {
	PID  int    `json:"pid"`
	Born uint64 `json:"born"`
	Boot string `json:"boot"` // of the machine
}

func (l life) owner() proc.Owner { return proc.Owner{PID: l.PID, Born: l.Born} }

// lives holds earlier processes whose attempts may still run.
type lives struct {
	path string
	self life

	mu   sync.Mutex // guards left, and killing what they left
	left []life
}

// openLives reads the earlier users of the directory, and records this process.
func openLives(dir string) (*lives, error) {
	me := proc.Self()
	l := &lives{path: filepath.Join(dir, "lives"), self: life{PID: me.PID, Born: me.Born, Boot: statefile.Boot()}}
	text, err := os.ReadFile(l.path)
	if err != nil && !os.IsNotExist(err) {
		return nil, err
	}
	if len(text) > 0 {
		if err := json.Unmarshal(text, &l.left); err != nil {
			return nil, fmt.Errorf("%s: %w: Bezoar cannot tell which processes still run attempts of this directory: when none does, remove the file", l.path, err)
		}
	}
	kept := l.left[:0]
	for _, old := range l.left {
		// After a reboot no process of earlier lives runs. A process may open a directory twice.
		if old != l.self && (old.Boot == l.self.Boot || old.Boot == "") {
			kept = append(kept, old)
		}
	}
	l.left = kept
	return l, l.write()
}

// write replaces the file atomically.
func (l *lives) write() error {
	text, err := json.Marshal(append(append([]life(nil), l.left...), l.self))
	if err != nil {
		return err
	}
	return statefile.Replace(l.path, text)
}

// prove kills processes that earlier lives left. When it returns nil, none of them runs.
func (l *lives) prove(ctx context.Context) (ended int, err error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if len(l.left) == 0 {
		return 0, nil
	}
	var errs []error
	var left []life
	for _, old := range l.left {
		n, err := 0, ctx.Err()
		if err == nil && old.owner().Alive() {
			err = fmt.Errorf("process %d, which used this directory before, is still running", old.PID)
		}
		if err == nil {
			n, err = guardian.Sweep(old.owner())
		}
		if ended += n; err != nil {
			left, errs = append(left, old), append(errs, err)
		}
	}
	l.left = left
	if len(errs) > 0 {
		return ended, fmt.Errorf("make sure that no process of an earlier run is left: %w", errors.Join(errs...))
	}
	return ended, l.write()
}
