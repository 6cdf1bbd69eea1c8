package judge

import (
	"context"
	"encoding/json"
	"strings"

	"github.com/bezoar-dev/bezoar/internal/state/facts"
	"github.com/bezoar-dev/bezoar/internal/state/marks"
)

// localMarks keeps marks in a fact store. They stay until they are deleted.
type localMarks struct {
	facts *facts.Store
	keys  []string // those that Marks looks up: all that the gate of one queue needs
}

const factMarks = "mark/"

type factMark struct {
	Version int64           `json:"version"`
	Doc     json.RawMessage `json:"doc"`
}

func (m localMarks) Marks(_ context.Context, prefix string) (all []marks.Mark, err error) {
	err = m.facts.View(func(tx *facts.Tx) error {
		for _, key := range m.keys {
			if !strings.HasPrefix(key, prefix) {
				continue
			}
			var f factMark
			known, err := tx.Get(factMarks+key, &f)
			if err != nil {
				return err
			}
			if known {
				all = append(all, marks.Mark{Key: key, Version: f.Version, Doc: f.Doc})
			}
		}
		return nil
	})
	return all, err
}

func (m localMarks) PutMark(_ context.Context, put marks.Mark) (marks.Mark, error) {
	err := m.facts.Update(func(tx *facts.Tx) error {
		var there factMark
		if _, err := tx.Get(factMarks+put.Key, &there); err != nil {
			return err
		}
		if there.Version != put.Version {
			put.Version, put.Doc = there.Version, there.Doc
			return marks.ErrConflict
		}
		put.Version++
		return tx.Put(factMarks+put.Key, factMark{put.Version, put.Doc})
	})
	return put, err
}

func (m localMarks) DeleteMark(_ context.Context, key string, version int64) error {
	return m.facts.Update(func(tx *facts.Tx) error {
		var there factMark
		if _, err := tx.Get(factMarks+key, &there); err != nil || version != 0 && there.Version != version {
			return err
		}
		tx.Drop(factMarks + key)
		return nil
	})
}
