package app

import (
	"context"
	"crypto/rand"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/bezoar-dev/bezoar/internal/control/config"
	"github.com/bezoar-dev/bezoar/internal/state/statefile"
	"github.com/bezoar-dev/bezoar/queue"
)

// A store has a name, and the state directory knows it. If a store at the same address has another name, or none, it is not
// the one that was used.
const (
	storeMark    = "store"
	storeMarkFor = 100 * 365 * 24 * time.Hour
	storeFile    = "store" // in the state directory
)

// knownStore is what a state directory knows of its store.
type knownStore struct {
	Store string    `json:"store"` // its address, without credentials
	Name  string    `json:"name"`
	Since time.Time `json:"since"`
}

// recogniseStore refuses a store that has lost what it had according to this state directory: a file that was deleted or
// emptied, a volume that is not mounted, a schema that was dropped. Otherwise everything would begin anew without notice.
func (a *App) recogniseStore(ctx context.Context) error {
	if a.cfg.StateDir == "" || a.cfg.Store == config.MemoryStore {
		return nil
	}
	path := filepath.Join(a.cfg.StateDir, storeFile)
	at, err := addressOf(a.cfg.Store)
	if err != nil {
		return err
	}
	name, err := storeName(ctx, a.stores.Queue, "")
	if err != nil {
		return err
	}
	known, err := readStoreFile(path)
	switch {
	case err != nil:
		return err
	case known.Name == "": // a new state directory, or one of a version that left no trace
	case known.Store != at:
		a.log.Info("the store is not the one of the last start", "store", at, "last", known.Store)
	case name == known.Name:
		return nil
	default:
		what := "is empty"
		if name != "" {
			what = "is another one"
		}
		return fmt.Errorf("the store %s %s: state_dir %s was used since %s with a store that is gone. "+
			"If it was deleted, emptied or is not mounted, put it back or restore a backup; if you want to begin with this one, remove %s",
			at, what, a.cfg.StateDir, known.Since.Format(time.DateOnly), path)
	}
	if name == "" {
		if name, err = storeName(ctx, a.stores.Queue, rand.Text()); err != nil {
			return err
		}
	}
	if err := writeStoreFile(path, knownStore{Store: at, Name: name, Since: time.Now().UTC()}); err != nil {
		return fmt.Errorf("state_dir: %w", err)
	}
	return nil
}

// writeStoreFile writes the file atomically: on a full disk, and when the power fails, the old one stays. Without it the
// next start could not decide.
func writeStoreFile(path string, known knownStore) error {
	text, err := json.Marshal(known)
	if err != nil {
		return err
	}
	return statefile.Replace(path, append(text, '\n'))
}

// storeName returns a store's name. A store without one gets the offered name, unless that is empty.
func storeName(ctx context.Context, store queue.Marks, offer string) (string, error) {
	for {
		found, err := store.Marks(ctx, storeMark)
		if err != nil {
			return "", fmt.Errorf("read the store's name: %w", err)
		}
		for _, m := range found {
			var name string
			if m.Key == storeMark && json.Unmarshal(m.Doc, &name) == nil && name != "" {
				return name, nil
			}
		}
		if offer == "" {
			return "", nil
		}
		doc, err := json.Marshal(offer)
		if err != nil {
			return "", err
		}
		_, err = store.PutMark(ctx, queue.Mark{Key: storeMark, Doc: doc, TTL: storeMarkFor})
		if err == nil {
			return offer, nil
		}
		if !errors.Is(err, queue.ErrConflict) { // otherwise another node was faster
			return "", fmt.Errorf("name the store: %w", err)
		}
	}
}

func readStoreFile(path string) (known knownStore, err error) {
	text, err := os.ReadFile(path)
	if errors.Is(err, fs.ErrNotExist) {
		return known, nil
	}
	if err != nil {
		return known, fmt.Errorf("state_dir: %w", err)
	}
	if err := json.Unmarshal(text, &known); err != nil {
		return known, fmt.Errorf("state_dir: %s cannot be read: remove it if the store is the right one: %w", path, err)
	}
	return known, nil
}

// addressOf returns the place of a store, without secrets and parts that may change.
func addressOf(store string) (string, error) {
	if path, ok := strings.CutPrefix(store, "sqlite:"); ok {
		path, err := filepath.Abs(strings.TrimPrefix(path, "//"))
		return "sqlite:" + path, err
	}
	u, err := url.Parse(store)
	if err != nil {
		return "", errors.New("store: cannot be read")
	}
	return (&url.URL{Scheme: u.Scheme, Host: u.Host, Path: u.Path}).String(), nil
}
