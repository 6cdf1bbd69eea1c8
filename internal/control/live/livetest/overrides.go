package livetest

import (
	"errors"
	"fmt"
	"math"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/bezoar-dev/bezoar/internal/control/live"
	"github.com/bezoar-dev/bezoar/internal/test/suite"
)

func testOverrides(t *testing.T, h Harness) {
	s := h.Open(t)
	want(t, "an empty store's overrides", []live.Override(nil), overrides(t, s))
	wantErr(t, "DeleteOverride of none", s.DeleteOverride(t.Context(), "ov-0001"), live.ErrNotFound)
	wantErr(t, "DeleteOverride of no id", s.DeleteOverride(t.Context(), "\x00\xff"), live.ErrNotFound)

	one := putOverride(t, s, override(1), time.Hour)
	sample := override(1)
	sample.Since, sample.Until = one.Since, one.Since.Add(time.Hour)
	want(t, "an override", sample, one)
	suite.ErrorIf(t, one.Since.IsZero() || one.Since.Location() != time.UTC || !one.Since.Equal(one.Since.Truncate(time.Microsecond)), "it is in force since %v", one.Since)
	h.Age(t, s, time.Second)
	two, three := live.Override{ID: "!", What: live.Priority, Value: "sheddable", By: "x"}, live.Override{ID: "~", Plan: "p", What: live.Deny, By: "x"}
	two = putOverride(t, s, two, live.MaxOverride)
	h.Age(t, s, time.Second)
	three = putOverride(t, s, three, time.Hour)
	var ids []string
	for _, o := range overrides(t, s) {
		ids = append(ids, o.ID)
	}
	want(t, "the order", []string{one.ID, two.ID, three.ID}, ids)
	suite.Must(t, s.DeleteOverride(t.Context(), two.ID))
	wantErr(t, "DeleteOverride again", s.DeleteOverride(t.Context(), two.ID), live.ErrNotFound)
	if found := overrides(t, s); len(found) != 2 || found[0].ID != one.ID || found[1].ID != three.ID {
		t.Errorf("left are %+v", found)
	}
}

func testOverrideReplaced(t *testing.T, h Harness) {
	s := h.Open(t)
	putOverride(t, s, override(1), time.Hour)
	// Of the same target, something else; of another target, the same.
	beside := []live.Override{override(2), override(3), override(4), override(5), override(6), override(7), override(8)}
	for i, change := range []func(*live.Override){
		func(o *live.Override) { o.What = live.Concurrency },
		func(o *live.Override) { o.Route = "" },
		func(o *live.Override) { o.Plan = "" },
		func(o *live.Override) { o.Caller = "" },
		func(o *live.Override) { limit(o); o.Class = "" },
		func(o *live.Override) { limit(o); o.Index = "" },
		func(o *live.Override) { limit(o); o.Predictor = "in_list" },
	} {
		beside[i].Caller = override(1).Caller
		change(&beside[i])
		putOverride(t, s, beside[i], time.Hour)
	}
	of := override(9)
	limit(&of)
	putOverride(t, s, of, time.Hour)
	of.ID, of.Value = "ov-newer", "off"
	of = putOverride(t, s, of, time.Hour)
	again := override(1)
	again.ID, again.Factor, again.Reason = "ov-again", 2, ""
	again = putOverride(t, s, again, time.Minute)
	found := overrides(t, s)
	suite.FatalIf(t, len(found) != 9, "%d overrides are in force: %+v", len(found), found)
	for _, o := range found {
		if o.ID == "ov-0001" {
			t.Error("the replaced one is in force")
		}
		if o.ID == again.ID {
			want(t, "the one that replaced it", again, o)
		}
		if o.ID == of.ID {
			want(t, "the limit that replaced another", of, o)
		}
	}
	// Under its own id too.
	again.Factor = 3
	again = putOverride(t, s, again, time.Minute)
	before := revision(t, s)
	taken := override(9)
	taken.ID = again.ID
	if _, err := s.PutOverride(t.Context(), taken, time.Hour); err == nil {
		t.Error("an id that belongs to another target was accepted")
	}
	want(t, "the revision", before, revision(t, s))
	if found := overrides(t, s); len(found) != 9 {
		t.Errorf("%d overrides are in force", len(found))
	}
}

func testOverrideEnds(t *testing.T, h Harness) {
	s := h.Open(t)
	putOverride(t, s, override(1), time.Minute)
	putOverride(t, s, override(2), time.Hour)
	before := revision(t, s)
	h.Age(t, s, time.Minute)
	if found := overrides(t, s); len(found) != 1 || found[0].ID != "ov-0002" {
		t.Errorf("after its time there are %+v", found)
	}
	want(t, "the revision after an end", before, revision(t, s))
	wantErr(t, "DeleteOverride of one that is over", s.DeleteOverride(t.Context(), "ov-0001"), live.ErrNotFound)
	want(t, "the revision after deleting what is over", before, revision(t, s))
	// Its id and its target are free again.
	other := override(3)
	other.ID = "ov-0001"
	putOverride(t, s, other, time.Minute)
	putOverride(t, s, override(1+1), time.Minute) // replaces the second
	if found := overrides(t, s); len(found) != 2 {
		t.Errorf("in force are %+v", found)
	}
}

func testOverridesBounded(t *testing.T, h Harness) {
	s := h.Open(t)
	putOverride(t, s, override(0), 2*time.Hour)
	putOverride(t, s, override(1), time.Hour)
	there := 2
	if h.Copy != nil {
		there = live.MaxOverrides - 40
		h.Copy(t, s, there)
	}
	suite.Together(t, 8, func(w int) error {
		for i := there + w; i < live.MaxOverrides; i += 8 {
			if _, err := s.PutOverride(t.Context(), override(i), time.Hour); err != nil {
				return err
			}
		}
		return nil
	})
	before := revision(t, s)
	_, err := s.PutOverride(t.Context(), override(live.MaxOverrides), time.Hour)
	wantErr(t, "one more than the bound", err, live.ErrFull)
	want(t, "the revision", before, revision(t, s))
	putOverride(t, s, override(0), 2*time.Hour) // replacing is no more
	if n := len(overrides(t, s)); n != live.MaxOverrides {
		t.Errorf("%d overrides are in force", n)
	}
	h.Age(t, s, time.Hour)
	putOverride(t, s, override(live.MaxOverrides), time.Hour) // those that are over make room
	if n := len(overrides(t, s)); n != 2 {
		t.Errorf("%d overrides are in force", n)
	}
}

func testOverridesRefused(t *testing.T, h Harness) {
	s := h.Open(t)
	for name, spoil := range map[string]func(*live.Override, *time.Duration){
		"no id":              func(o *live.Override, _ *time.Duration) { o.ID = "" },
		"an id with a space": func(o *live.Override, _ *time.Duration) { o.ID = "a b" },
		"a long id":          func(o *live.Override, _ *time.Duration) { o.ID = strings.Repeat("x", 65) },
		"a long caller":      func(o *live.Override, _ *time.Duration) { o.Caller = strings.Repeat("x", 256) },
		"no Unicode":         func(o *live.Override, _ *time.Duration) { o.Route = "\xff" },
		"a control":          func(o *live.Override, _ *time.Duration) { o.Plan = "\x1b[31m" },
		"what?":              func(o *live.Override, _ *time.Duration) { o.What = "weather" },
		"no factor":          func(o *live.Override, _ *time.Duration) { o.Factor = 0 },
		"not a number":       func(o *live.Override, _ *time.Duration) { o.Factor = math.NaN() },
		"infinite":           func(o *live.Override, _ *time.Duration) { o.Factor = math.Inf(1) },
		"both":               func(o *live.Override, _ *time.Duration) { o.Value = "x" },
		"no priority":        func(o *live.Override, _ *time.Duration) { o.What, o.Factor = live.Priority, 0 },
		"half open":          func(o *live.Override, _ *time.Duration) { o.What, o.Factor, o.Value = live.Breaker, 0, "half" },
		"nothing for nobody": func(o *live.Override, _ *time.Duration) { *o = live.Override{ID: "a", What: live.Deny, By: "x"} },
		"a class of rates":   func(o *live.Override, _ *time.Duration) { o.Class = "batch" },
		"an index of none":   func(o *live.Override, _ *time.Duration) { o.What, o.Index = live.Guard, "logs-*" },
		"a limit of nothing": func(o *live.Override, _ *time.Duration) { limit(o); o.Predictor = "" },
		"no limit":           func(o *live.Override, _ *time.Duration) { limit(o); o.Value = "" },
		"by nobody":          func(o *live.Override, _ *time.Duration) { o.By = "" },
		"no time":            func(_ *live.Override, ttl *time.Duration) { *ttl = 0 },
		"the past":           func(_ *live.Override, ttl *time.Duration) { *ttl = -time.Hour },
		"too long":           func(_ *live.Override, ttl *time.Duration) { *ttl = live.MaxOverride + 1 },
	} {
		o, ttl := override(1), time.Hour
		spoil(&o, &ttl)
		if _, err := s.PutOverride(t.Context(), o, ttl); err == nil {
			t.Errorf("%s was accepted", name)
		}
	}
	want(t, "the overrides", []live.Override(nil), overrides(t, s))
	want(t, "the revision", int64(0), revision(t, s))
}

// Many goroutines that put and delete at once lose nothing and leave nothing.
func testManyOverrides(t *testing.T, h Harness) {
	s := h.Open(t)
	var changes atomic.Int64
	suite.Together(t, 6, func(w int) error {
		for i := range 8 {
			o := override(i % 4) // targets that all share
			o.ID = fmt.Sprintf("ov-%d-%d", w, i)
			if _, err := s.PutOverride(t.Context(), o, time.Hour); err != nil {
				return err
			}
			changes.Add(1)
			if i%3 == 0 {
				if err := s.DeleteOverride(t.Context(), o.ID); err == nil {
					changes.Add(1)
				} else if !errors.Is(err, live.ErrNotFound) {
					return err
				}
			}
		}
		return nil
	})
	if r := revision(t, s); r < changes.Load() {
		t.Errorf("the revision is %d after %d changes", r, changes.Load())
	}
	seen := map[string]bool{}
	for _, o := range overrides(t, s) {
		suite.ErrorIf(t, seen[o.Caller], "caller %s has two overrides", o.Caller)
		seen[o.Caller] = true
	}
}
