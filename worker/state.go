package worker

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strconv"

	"github.com/bezoar-dev/bezoar/internal/state/startlog"
)

// maxWorkers bounds the workers of one machine that share a root.
const maxWorkers = 1000

// FreeState returns the first of the directories 1, 2, 3 … below root that no worker uses,
// for Config.State. Use root itself for Config.Shared. Another process may take the
// directory first: see InUse.
func FreeState(root string) (string, error) {
	for n := 1; n <= maxWorkers; n++ {
		dir := filepath.Join(root, strconv.Itoa(n))
		free, err := startlog.Free(dir)
		if err != nil && !errors.Is(err, os.ErrNotExist) {
			return "", err
		}
		if free {
			return dir, nil
		}
	}
	return "", fmt.Errorf("%s: %d workers have their state there already", root, maxWorkers)
}

// InUse reports whether a worker did not run because another worker uses its Config.State.
func InUse(err error) bool {
	_, used := errors.AsType[*startlog.InUseError](err)
	return used
}
