package live

import (
	"context"
	"errors"
	"os"
	"slices"
	"time"

	"github.com/fsnotify/fsnotify"

	"github.com/bezoar-dev/bezoar/internal/each"
)

// restless is the number of looks at an unsettled file after which a warning is logged.
const restless = 100

// followFile reads the file after each change, once it has been unchanged for Settle, until
// ctx ends.
func (l *Live) followFile(ctx context.Context) {
	w := l.watch()
	defer w.close()
	slow := time.NewTicker(l.config.SlowPoll)
	defer slow.Stop()
	settle := time.NewTimer(l.config.Settle) // the file may have changed since Start
	defer settle.Stop()
	armed, restarts := w.entries(), 0
	for {
		select {
		case <-ctx.Done():
			return
		case e, ok := <-w.events():
			if !ok {
				l.unnotified(w, errors.New("the watcher ended"))
			} else if w.about(e) {
				armed = w.entries()
				settle.Reset(l.config.Settle)
			}
		case <-l.renamed:
			l.renew(w)
			armed = w.entries()
			settle.Reset(l.config.Settle)
		case err := <-w.errors():
			// Events were lost, possibly of this file.
			l.config.Log.Warn("notifications of changed files were lost", "err", err)
			settle.Reset(l.config.Settle)
		case <-slow.C: // read in any case: some file systems store times in seconds
			armed = w.entries()
			settle.Reset(l.config.Settle)
		case <-settle.C:
			l.renew(w)
			before := w.entries()
			if slices.EqualFunc(before, armed, entry.same) {
				_ = l.fileChanged(ctx) // fileChanged logs the error, and the status shows it
				if slices.EqualFunc(w.entries(), before, entry.same) {
					restarts = 0
					continue
				}
			}
			if restarts++; restarts == restless {
				l.config.Log.Warn("the settings file is being written without a pause; it will be read afterwards", "file", l.config.Path)
			}
			armed = w.entries()
			settle.Reset(l.config.Settle)
		}
	}
}

// entry is the directory entry of a file.
type entry struct{ info os.FileInfo } // nil: there is no such file

func entryOf(path string) entry {
	info, err := os.Stat(path)
	if err != nil {
		return entry{}
	}
	return entry{info}
}

func (a entry) same(b entry) bool {
	if a.info == nil || b.info == nil {
		return a.info == nil && b.info == nil
	}
	return os.SameFile(a.info, b.info) && a.info.Size() == b.info.Size() && a.info.ModTime().Equal(b.info.ModTime())
}

// watcher receives notifications about the directories on the files' paths.
type watcher struct {
	paths   []string
	notify  *fsnotify.Watcher          // nil: no notifications
	folders map[string]os.FileInfo     // watched directories
	names   map[string]map[string]bool // by directory: relevant names
}

// watch starts watching. Without notifications, only the slow poll notices changes.
func (l *Live) watch() *watcher {
	w := &watcher{paths: []string{l.config.Path}, folders: make(map[string]os.FileInfo)}
	notify, err := l.notify()
	if err != nil {
		l.unnotified(w, err)
		return w
	}
	w.notify = notify
	l.renew(w)
	return w
}

func (l *Live) unnotified(w *watcher, err error) {
	w.close()
	l.setNotified(false)
	l.config.Log.Warn("changes of the settings file are noticed by polling", "file", l.config.Path, "every", l.config.SlowPoll, "err", err)
	l.config.Observe(Event{Kind: Unnotified, Err: err})
}

func (l *Live) setNotified(yes bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.status.File.Notified = yes
}

// renew updates the watched directories, because links may have changed and a directory may
// have been replaced.
func (l *Live) renew(w *watcher) {
	w.paths = []string{l.config.Path}
	for _, f := range l.Status().File.Files {
		w.paths = append(w.paths, f.Path)
	}
	if w.notify == nil {
		return
	}
	if err := w.renew(); err != nil {
		l.unnotified(w, err)
		return
	}
	l.setNotified(true)
}

func (w *watcher) renew() error {
	w.names = places(w.paths)
	for folder, was := range w.folders {
		now, err := os.Stat(folder)
		if w.names[folder] == nil || err != nil || !os.SameFile(was, now) {
			_ = w.notify.Remove(folder) // the directory may be gone
			delete(w.folders, folder)
		}
	}
	var failed error
	for folder := range w.names {
		if w.folders[folder] != nil {
			continue
		}
		info, err := os.Stat(folder)
		if err == nil {
			err = w.notify.Add(folder)
		}
		if err == nil {
			w.folders[folder] = info
		} else if !errors.Is(err, os.ErrNotExist) { // a missing directory is reported by its parent
			failed = err
		}
	}
	return failed
}

func (w *watcher) entries() []entry {
	return each.Of(w.paths, entryOf)
}

// about reports whether e may concern one of the files.
func (w *watcher) about(e fsnotify.Event) bool {
	folder, name := split(e.Name)
	return w.names[folder][name] || w.names[e.Name] != nil
}

func (w *watcher) events() <-chan fsnotify.Event {
	if w.notify == nil {
		return nil
	}
	return w.notify.Events
}

func (w *watcher) errors() <-chan error {
	if w.notify == nil {
		return nil
	}
	return w.notify.Errors
}

func (w *watcher) close() {
	if w.notify != nil {
		_ = w.notify.Close() // nothing was written
		w.notify = nil
	}
}
