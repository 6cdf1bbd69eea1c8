package memory

import (
	"bytes"
	"cmp"
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/bezoar-dev/bezoar/internal/control/live"
	"github.com/bezoar-dev/bezoar/internal/sorted"
	"github.com/bezoar-dev/bezoar/internal/store/record"
)

type settingsStore struct {
	lock      // guards the fields below; never held while waiting
	revision  int64
	versions  []live.Version // oldest first
	overrides map[string]live.Override
	nodes     live.Presence
}

var _ live.Store = (*settingsStore)(nil)

func newSettingsStore() *settingsStore {
	return &settingsStore{overrides: make(map[string]live.Override)}
}

func (s *settingsStore) Revision(ctx context.Context) (int64, error) {
	return within(ctx, &s.lock, func() (int64, error) {
		return s.revision, nil
	})
}

func (s *settingsStore) PutVersion(ctx context.Context, base int64, v live.Version) (live.Version, error) {
	if err := v.Validate(); err != nil {
		return live.Version{}, fmt.Errorf("put version: %w", err)
	}
	leave, err := s.enter(ctx)
	if err != nil {
		return live.Version{}, err
	}
	defer leave()
	newest := int64(0)
	if n := len(s.versions); n > 0 {
		newest = s.versions[n-1].Number
	}
	if base != newest {
		return live.Version{}, fmt.Errorf("put version on %d: the newest is %d: %w", base, newest, live.ErrConflict)
	}
	v.Number, v.At = base+1, record.Time(micros())
	s.versions = append(s.versions, cloneVersion(v))
	file := int64(0)
	for _, v := range s.versions {
		if v.Source == live.FromFile {
			file = v.Number
		}
	}
	s.versions = slices.DeleteFunc(s.versions, func(o live.Version) bool {
		return o.Number <= v.Number-live.KeepVersions && o.Number != file
	})
	s.revision++
	return cloneVersion(v), nil
}

func (s *settingsStore) Version(ctx context.Context, number int64) (live.Version, error) {
	return within(ctx, &s.lock, func() (live.Version, error) {
		for _, v := range slices.Backward(s.versions) {
			if number == 0 || v.Number == number {
				return cloneVersion(v), nil
			}
		}
		return live.Version{}, fmt.Errorf("version %d: %w", number, live.ErrNotFound)
	})
}

func (s *settingsStore) Versions(ctx context.Context, limit int) ([]live.Version, error) {
	if err := live.CheckLimit(limit); err != nil {
		return nil, err
	}
	leave, err := s.enter(ctx)
	if err != nil {
		return nil, err
	}
	defer leave()
	var found []live.Version
	for _, v := range slices.Backward(s.versions) {
		if len(found) == limit {
			break
		}
		v.Text = nil
		found = append(found, v)
	}
	return found, nil
}

func (s *settingsStore) PutOverride(ctx context.Context, o live.Override, ttl time.Duration) (live.Override, error) {
	if err := live.CheckOverride(o, ttl); err != nil {
		return live.Override{}, fmt.Errorf("put override: %w", err)
	}
	leave, err := s.enter(ctx)
	if err != nil {
		return live.Override{}, err
	}
	defer leave()
	now := micros()
	s.expire(now)
	var replaced string
	for id, there := range s.overrides {
		if there.SameTarget(o) {
			replaced = id
		}
	}
	if _, taken := s.overrides[o.ID]; taken && o.ID != replaced {
		return live.Override{}, fmt.Errorf("put override %s: the ID belongs to another override", o.ID)
	}
	if replaced == "" && len(s.overrides) >= live.MaxOverrides {
		return live.Override{}, fmt.Errorf("put override %s: %d overrides are in force: %w", o.ID, live.MaxOverrides, live.ErrFull)
	}
	delete(s.overrides, replaced)
	o.Since, o.Until = record.Time(now), record.Time(now+ttl.Microseconds())
	s.overrides[o.ID] = o
	s.revision++
	return o, nil
}

// expire removes expired overrides. The caller holds s.mu.
func (s *settingsStore) expire(now int64) {
	maps.DeleteFunc(s.overrides, func(_ string, o live.Override) bool { return o.Until.UnixMicro() <= now })
}

func (s *settingsStore) DeleteOverride(ctx context.Context, id string) error {
	return locked(ctx, &s.lock, func() error {
		s.expire(micros())
		if _, ok := s.overrides[id]; !ok {
			return fmt.Errorf("delete override %.80q: %w", id, live.ErrNotFound)
		}
		delete(s.overrides, id)
		s.revision++
		return nil
	})
}

func (s *settingsStore) Overrides(ctx context.Context) ([]live.Override, time.Time, error) {
	leave, err := s.enter(ctx)
	if err != nil {
		return nil, time.Time{}, err
	}
	defer leave()
	now := micros()
	s.expire(now)
	found := sorted.Collect(maps.Values(s.overrides), func(a, b live.Override) int {
		return cmp.Or(a.Since.Compare(b.Since), strings.Compare(a.ID, b.ID))
	})
	return found, record.Time(now), nil
}

func (s *settingsStore) PutNode(ctx context.Context, n live.Node, ttl time.Duration) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	return s.nodes.Put(time.Now(), n, ttl)
}

func (s *settingsStore) Nodes(ctx context.Context) ([]live.Node, error) {
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	return s.nodes.List(time.Now()), nil
}

func cloneVersion(v live.Version) live.Version {
	v.Text = bytes.Clone(v.Text)
	return v
}
