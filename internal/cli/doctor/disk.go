package doctor

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"

	"golang.org/x/sys/unix"

	"github.com/bezoar-dev/bezoar/internal/process/procstat"
)

// Thresholds of free space.
const (
	littleSpace  = 0.10     // share that is left: warning
	noSpace      = 64 << 20 // bytes that are left: fault
	littleInodes = 0.05
	noInodes     = 100
)

// disks checks the places that Bezoar writes to.
func (e *examination) disks(context.Context) {
	at := map[string]string{}
	if e.Settings.StateDir != "" {
		at[existing(e.Settings.StateDir)] = "state_dir"
	}
	if e.store.File != "" {
		at[existing(filepath.Dir(e.store.File))] = "store" // mostly the same place
	}
	for path, key := range at {
		e.disk(key, path)
	}
}

func (e *examination) disk(key, path string) {
	s, err := e.Machine.Disk(path)
	if errors.Is(err, procstat.ErrUnsupported) {
		return
	}
	if err != nil {
		e.fault("disk", "mount it, or name another folder", "%s: %s cannot be looked at: %v", key, path, err)
		return
	}
	left, free := 1-spaceUsed(s), size(s.Available)
	refusal := unix.Access(path, unix.W_OK|unix.X_OK)
	switch {
	case errors.Is(refusal, unix.EROFS):
		e.fault("disk", "mount it for writing, or move "+key, "%s: the file system of %s can only be read", key, path)
	case refusal != nil:
		e.fault("disk", "run bezoar doctor as the user that Bezoar runs as, or move "+key, "%s: this user may not write to %s", key, path)
	case s.Available < noSpace:
		e.fault("disk", "free space, or move "+key, "%s: %s are left on the disk of %s", key, free, path)
	case s.Inodes > 0 && s.FreeInodes < noInodes:
		e.fault("disk", "remove files, or move "+key, "%s: %d inodes are left on the disk of %s", key, s.FreeInodes, path)
	case left < littleSpace:
		e.warn("disk", "free space, or move "+key, "%s: %.0f%% (%s) are left on the disk of %s", key, left*100, free, path)
	case s.Inodes > 0 && float64(s.FreeInodes) < littleInodes*float64(s.Inodes):
		e.warn("disk", "remove files, or move "+key, "%s: %d of %d inodes are left on the disk of %s", key, s.FreeInodes, s.Inodes, path)
	default:
		e.ok("disk", "%s: %s are left on the disk of %s", key, free, path)
	}
	switch kind := e.Machine.FileSystem(path); {
	case key == "store" && (kind == "nfs" || kind == "smb"):
		e.fault("disk", "move the store to a local disk, or use PostgreSQL", "store: %s is on a network share (%s), where file locks do not keep other machines out", path, kind)
	case kind == "tmpfs":
		e.warn("disk", "move "+key+" to a disk", "%s: %s is in memory (tmpfs): a restart of the machine loses it", key, path)
	case kind == "overlay":
		e.warn("disk", "mount a volume for "+key, "%s: %s is a layer of the container (overlay): it goes with the container", key, path)
	}
}

// spaceUsed returns the used share of the bytes that Bezoar may use.
func spaceUsed(s procstat.Space) float64 {
	all := s.Total - s.Free + s.Available
	if all <= 0 {
		return 1
	}
	return float64(s.Total-s.Free) / float64(all)
}

// size formats a number of bytes.
func size(n int64) string {
	switch {
	case n >= 1<<30:
		return fmt.Sprintf("%.1f GiB", float64(n)/(1<<30))
	case n >= 1<<20:
		return fmt.Sprintf("%.0f MiB", float64(n)/(1<<20))
	}
	return fmt.Sprintf("%d bytes", n)
}

// existing returns the nearest existing folder above a path.
func existing(path string) string {
	path, err := filepath.Abs(path)
	if err != nil {
		return "."
	}
	for {
		if _, err := os.Stat(path); !errors.Is(err, fs.ErrNotExist) || path == filepath.Dir(path) {
			return path
		}
		path = filepath.Dir(path)
	}
}
