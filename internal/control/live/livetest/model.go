package livetest

import (
	"cmp"
	"errors"
	"fmt"
	"maps"
	"math/rand/v2"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/bezoar-dev/bezoar/internal/control/live"
	"github.com/bezoar-dev/bezoar/internal/test/suite"
)

// testModel runs random operations against the store and a model of it.
func testModel(t *testing.T, h Harness) {
	games := h.Games
	games = cmp.Or(games, 3)
	for seed := range games {
		s := h.Open(t)
		m := model{overrides: map[string]live.Override{}}
		random := rand.New(rand.NewPCG(seed, 1))
		for range 60 {
			m.step(t, s, h, random)
			suite.FatalIf(t, t.Failed(), "of seed %d", seed)
		}
	}
}

// model is the expected content of the store; ages replace times.
type model struct {
	versions  []string
	overrides map[string]live.Override // by ID; Until holds the remaining time, after 1970
}

func (m *model) step(t *testing.T, s live.Store, h Harness, random *rand.Rand) {
	before := revision(t, s)
	changed := true
	switch random.IntN(5) {
	case 0, 1:
		base, text := max(len(m.versions)-random.IntN(2), 0), fmt.Sprint(random.IntN(4))
		_, err := s.PutVersion(t.Context(), int64(base), version(text))
		if changed = base == len(m.versions); changed {
			m.versions = append(m.versions, text)
		}
		suite.ErrorIf(t, (err == nil) != changed || err != nil && !errors.Is(err, live.ErrConflict), "PutVersion on %d of %d = %v", base, len(m.versions), err)
	case 2:
		o, left := override(random.IntN(6)), time.Duration(1+random.IntN(10))*time.Minute
		o.ID = fmt.Sprintf("ov-%d", random.IntN(1<<30))
		putOverride(t, s, o, left)
		maps.DeleteFunc(m.overrides, func(_ string, there live.Override) bool { return there.SameTarget(o) })
		o.Until = time.Unix(0, 0).Add(left)
		m.overrides[o.ID] = o
	case 3:
		id := "ov-none"
		for some := range m.overrides {
			id = some
			break
		}
		err := s.DeleteOverride(t.Context(), id)
		if _, changed = m.overrides[id]; !changed != errors.Is(err, live.ErrNotFound) {
			t.Errorf("DeleteOverride(%s) = %v", id, err)
		}
		delete(m.overrides, id)
	case 4: // half a minute away from the ends, because the test takes time as well
		changed = false
		d := time.Duration(random.IntN(4))*time.Minute + 30*time.Second
		h.Age(t, s, d)
		for id, o := range m.overrides {
			if o.Until = o.Until.Add(-d); o.Until.Unix() <= 0 {
				delete(m.overrides, id)
			} else {
				m.overrides[id] = o
			}
		}
	}
	if after := revision(t, s); changed != (after > before) || !changed && after != before {
		t.Errorf("the revision went from %d to %d; changed: %v", before, after, changed)
	}
	m.compare(t, s)
}

func (m *model) compare(t *testing.T, s live.Store) {
	t.Helper()
	found := history(t, s, live.KeepVersions)
	suite.ErrorIf(t, len(found) != min(len(m.versions), live.KeepVersions), "%d versions are there, of %d", len(found), len(m.versions))
	for i, v := range found {
		at := len(m.versions) - 1 - i
		suite.ErrorIf(t, v.Number != int64(at+1) || v.Sum != live.Sum([]byte(m.versions[at])), "version %d is %+v", at+1, v)
	}
	rules := overrides(t, s)
	suite.ErrorIf(t, len(rules) != len(m.overrides), "%d overrides are in force, not %d", len(rules), len(m.overrides))
	for _, o := range rules {
		want(t, "override "+o.ID, m.overrides[o.ID], o, cmpopts.IgnoreFields(live.Override{}, "Since", "Until"))
	}
}
