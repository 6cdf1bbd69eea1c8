package secret

import (
	"bytes"
	"crypto/rand"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"syscall"

	"github.com/bezoar-dev/bezoar/internal/state/statefile"
)

// Size is the secret's length in bytes. The file contains only these bytes.
const Size = 32

// Load returns the secret in the file at path, and makes it if there is none. Processes that start at once all get the same
// one. The folder must exist.
func Load(path string) ([Size]byte, error) {
	s, err := read(path)
	if !errors.Is(err, fs.ErrNotExist) {
		return s, err
	}
	if err := create(path); err != nil && !errors.Is(err, fs.ErrExist) {
		return [Size]byte{}, fmt.Errorf("create the secret %s: %w", path, err)
	}
	return read(path) // ours, or that of a faster process
}

// read returns the secret in the file. The file may be a symbolic link, as orchestrators mount it.
func read(path string) (s [Size]byte, err error) {
	f, err := os.OpenFile(path, os.O_RDONLY|syscall.O_NONBLOCK, 0) // a pipe must not block
	if err != nil {
		return s, fmt.Errorf("read the secret: %w", err)
	}
	defer f.Close()
	info, err := f.Stat()
	switch {
	case err != nil:
		return s, fmt.Errorf("read the secret: %w", err)
	case !info.Mode().IsRegular():
		return s, fmt.Errorf("the secret %s is not a file but %s", path, info.Mode().Type())
	case info.Mode().Perm()&0o077 != 0:
		return s, fmt.Errorf("the secret %s is open to others (mode %04o): run chmod 600 %s, and if others may have read it, delete it for a new one",
			path, info.Mode().Perm(), path)
	case info.Size() != Size:
		return s, fmt.Errorf("the secret %s has %d bytes, want %d: restore it, or delete it for a new one, which forgets all verdicts", path, info.Size(), Size)
	}
	if _, err := io.ReadFull(f, s[:]); err != nil {
		return [Size]byte{}, fmt.Errorf("read the secret %s: %w", path, err)
	}
	if bytes.Count(s[:], s[:1]) == Size {
		return [Size]byte{}, fmt.Errorf("the secret %s repeats one byte and is not random: delete it for a new one", path)
	}
	return s, nil
}

// create makes the file atomically: it writes and syncs it under another name, and links it into place. Unlike a rename, a
// link never replaces a file that another process has made meanwhile.
func create(path string) (err error) {
	var s [Size]byte
	if _, err := rand.Read(s[:]); err != nil {
		return err
	}
	dir := filepath.Dir(path)
	draft := filepath.Join(dir, "."+filepath.Base(path)+"."+rand.Text())
	if err := write(draft, s[:]); err != nil {
		return err
	}
	defer func() { err = errors.Join(err, os.Remove(draft)) }()
	if err := os.Link(draft, path); err != nil {
		return err
	}
	return statefile.SyncDir(dir)
}

func write(path string, b []byte) error {
	f, err := os.OpenFile(path, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
	if err != nil {
		return err
	}
	_, err = f.Write(b)
	if err = errors.Join(err, f.Sync(), f.Close()); err != nil {
		return errors.Join(err, os.Remove(path))
	}
	return nil
}
