package judge

import (
	"context"
	"encoding/json"

	"github.com/bezoar-dev/bezoar/internal/facts"
)

// marks keeps marks in a fact store. They stay until somebody deletes them.
type marks struct{ facts *facts.Store }

const factMarks = "mark/"

type factMark struct {
	Version int64           `json:"version"`
	Doc     json.RawMessage `json:"doc"`
}

func (m marks) Marks(_ context.Context, prefix string) (all []Mark, err error) {
	err = m.facts.View(func(tx *facts.Tx) error {
		all = all[:0]
		for key, text := range tx.All(factMarks + prefix) {
			var f factMark
			if err := json.Unmarshal(text, &f); err != nil {
				return err
			}
			all = append(all, Mark{Key: key[len(factMarks):], Version: f.Version, Doc: f.Doc})
		}
		return nil
	})
	return all, err
}

func (m marks) PutMark(_ context.Context, put Mark) (Mark, error) {
	err := m.facts.Update(func(tx *facts.Tx) error {
		var there factMark
		if _, err := tx.Get(factMarks+put.Key, &there); err != nil {
			return err
		}
		if there.Version != put.Version {
			put.Version, put.Doc = there.Version, there.Doc
			return ErrConflict
		}
		put.Version++
		return tx.Put(factMarks+put.Key, factMark{put.Version, put.Doc})
	})
	return put, err
}

func (m marks) DeleteMark(_ context.Context, key string, version int64) error {
	return m.facts.Update(func(tx *facts.Tx) error {
		var there factMark
		if _, err := tx.Get(factMarks+key, &there); err != nil || version != 0 && there.Version != version {
			return err
		}
		tx.Drop(factMarks + key)
		return nil
	})
}
