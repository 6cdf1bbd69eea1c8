package live

import (
	"errors"

	"github.com/fsnotify/fsnotify"
)

// Deaf takes notifications of files away.
func (l *Live) Deaf() {
	l.notify = func() (*fsnotify.Watcher, error) { return nil, errors.New("too many watches") }
}

// CleanedError is what a node says of an error.
func CleanedError(s string) string { return cleaned(s, maxError) }
