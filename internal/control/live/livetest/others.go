package livetest

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/bezoar-dev/bezoar/internal/control/live"
	"github.com/bezoar-dev/bezoar/internal/test/suite"
)

// The revision grows with every change, and only then.
func testRevision(t *testing.T, h Harness) {
	s := h.Open(t)
	last := revision(t, s)
	grows := func(what string, change func() error) {
		t.Helper()
		if err := change(); err != nil {
			t.Fatal(what, err)
		}
		now := revision(t, s)
		suite.ErrorIf(t, now <= last, "%s: the revision went from %d to %d", what, last, now)
		last = now
		if again := revision(t, s); again != now {
			t.Errorf("%s: the revision went on to %d by itself", what, again)
		}
	}
	grows("a version", func() error { _, err := s.PutVersion(t.Context(), 0, version("a")); return err })
	grows("the same text", func() error { _, err := s.PutVersion(t.Context(), 1, version("a")); return err })
	grows("an override", func() error { _, err := s.PutOverride(t.Context(), override(1), time.Hour); return err })
	grows("the same override", func() error { _, err := s.PutOverride(t.Context(), override(1), time.Hour); return err })
	grows("a deletion", func() error { return s.DeleteOverride(t.Context(), "ov-0001") })
	suite.Must(t, s.PutNode(t.Context(), node("a"), time.Hour))
	want(t, "the revision after a node spoke", last, revision(t, s))
}

func testNodes(t *testing.T, h Harness) {
	s := h.Open(t)
	want(t, "an empty store's nodes", []live.Node(nil), nodes(t, s))
	seen := cmpopts.IgnoreFields(live.Node{}, "Seen")
	a, b, zero := node("a"), node("Übernode\n"), live.Node{Name: "zero"}
	for _, n := range []live.Node{zero, b, a} {
		suite.Must(t, s.PutNode(t.Context(), n, time.Minute))
	}
	found := nodes(t, s)
	want(t, "the nodes", []live.Node{a, zero, b}, found, seen)
	for _, n := range found {
		suite.ErrorIf(t, n.Seen.IsZero() || n.Seen.Location() != time.UTC, "node %s was seen %v", n.Name, n.Seen)
	}
	h.Age(t, s, 40*time.Second)
	a.Running, a.Error = 8, ""
	suite.Must(t, s.PutNode(t.Context(), a, time.Minute))
	h.Age(t, s, 40*time.Second)
	want(t, "those that spoke lately", []live.Node{a}, nodes(t, s), seen)
	if err := s.PutNode(t.Context(), b, time.Minute); err != nil { // it comes back
		t.Fatal(err)
	}
	want(t, "those that spoke lately", []live.Node{a, b}, nodes(t, s), seen)
}

func testNodesRefused(t *testing.T, h Harness) {
	s := h.Open(t)
	for name, spoil := range map[string]func(*live.Node, *time.Duration){
		"no name":          func(n *live.Node, _ *time.Duration) { n.Name = "" },
		"a long name":      func(n *live.Node, _ *time.Duration) { n.Name = strings.Repeat("x", 256) },
		"a long error":     func(n *live.Node, _ *time.Duration) { n.Error = strings.Repeat("x", 2001) },
		"no Unicode":       func(n *live.Node, _ *time.Duration) { n.Error = "\xff" },
		"no sum":           func(n *live.Node, _ *time.Duration) { n.Sum = "zz" },
		"negative":         func(n *live.Node, _ *time.Duration) { n.Running = -1 },
		"a distant future": func(n *live.Node, _ *time.Duration) { n.Since = time.Date(10000, 1, 1, 0, 0, 0, 0, time.UTC) },
		"no time":          func(_ *live.Node, ttl *time.Duration) { *ttl = 0 },
		"days":             func(_ *live.Node, ttl *time.Duration) { *ttl = 25 * time.Hour },
	} {
		n, ttl := node("a"), time.Minute
		spoil(&n, &ttl)
		if err := s.PutNode(t.Context(), n, ttl); err == nil {
			t.Errorf("%s was accepted", name)
		}
	}
	want(t, "the nodes", []live.Node(nil), nodes(t, s))
}

func testCancelled(t *testing.T, h Harness) {
	s := h.Open(t)
	kept, o := put(t, s, 0, "a"), putOverride(t, s, override(1), time.Hour)
	before := revision(t, s)
	cancelled, cancel := context.WithCancel(t.Context())
	cancel()
	overdue, done := context.WithDeadline(t.Context(), time.Unix(0, 0))
	defer done()
	for ctx, end := range map[context.Context]error{cancelled: context.Canceled, overdue: context.DeadlineExceeded} {
		for method, call := range map[string]func() error{
			"Revision":       func() error { _, err := s.Revision(ctx); return err },
			"PutVersion":     func() error { _, err := s.PutVersion(ctx, 1, version("b")); return err },
			"Version":        func() error { _, err := s.Version(ctx, 1); return err },
			"Versions":       func() error { _, err := s.Versions(ctx, 1); return err },
			"PutOverride":    func() error { _, err := s.PutOverride(ctx, override(2), time.Hour); return err },
			"DeleteOverride": func() error { return s.DeleteOverride(ctx, o.ID) },
			"Overrides":      func() error { _, _, err := s.Overrides(ctx); return err },
			"PutNode":        func() error { return s.PutNode(ctx, node("a"), time.Hour) },
			"Nodes":          func() error { _, err := s.Nodes(ctx); return err },
		} {
			wantErr(t, method, call(), end)
		}
	}
	want(t, "the revision", before, revision(t, s))
	want(t, "the history", []live.Version{bare(kept)}, history(t, s, 2))
	want(t, "the overrides", []live.Override{o}, overrides(t, s))
	want(t, "the nodes", []live.Node(nil), nodes(t, s))
}

func testReopen(t *testing.T, h Harness) {
	s := h.Open(t)
	for i := range int64(live.KeepVersions + 2) {
		put(t, s, i, fmt.Sprint("n: ", i))
	}
	putOverride(t, s, override(1), time.Hour)
	putOverride(t, s, override(2), time.Hour)
	suite.Must(t, s.DeleteOverride(t.Context(), "ov-0001"))
	kept, rules, last := history(t, s, live.KeepVersions), overrides(t, s), revision(t, s)
	newest, err := s.Version(t.Context(), 0)
	suite.Must(t, err)
	for range 2 {
		s = h.Reopen(t, s)
		want(t, "the history", kept, history(t, s, live.KeepVersions))
		want(t, "the overrides", rules, overrides(t, s))
		want(t, "the revision", last, revision(t, s))
		got, err := s.Version(t.Context(), 0)
		suite.Must(t, err)
		want(t, "the newest version", newest, got)
	}
	if v := put(t, s, newest.Number, "more"); v.Number != newest.Number+1 {
		t.Errorf("the next version has number %d", v.Number)
	}
}

// What one process changes, another sees at once, and none loses a change.
func testShared(t *testing.T, h Harness) {
	a := h.Open(t)
	b := h.Beside(t, a)
	put(t, a, 0, "a")
	want(t, "the history beside", history(t, a, 10), history(t, b, 10))
	_, err := b.PutVersion(t.Context(), 0, version("b"))
	wantErr(t, "PutVersion beside", err, live.ErrConflict)
	putOverride(t, b, override(1), time.Hour)
	want(t, "the overrides beside", overrides(t, b), overrides(t, a))
	want(t, "the revision beside", revision(t, b), revision(t, a))
	suite.Must(t, a.PutNode(t.Context(), node("a"), time.Minute))
	suite.Must(t, b.PutNode(t.Context(), node("b"), time.Minute))
	for _, s := range []live.Store{a, b} {
		if found := nodes(t, s); len(found) != 2 {
			t.Errorf("the nodes are %+v", found)
		}
	}
	suite.Together(t, 4, func(w int) error {
		s := []live.Store{a, b}[w%2]
		for i := 0; i < 5; {
			newest, err := s.Version(t.Context(), 0)
			if err != nil {
				return err
			}
			before, err := s.Revision(t.Context())
			if err != nil {
				return err
			}
			switch _, err := s.PutVersion(t.Context(), newest.Number, version(fmt.Sprint(w, i))); {
			case err == nil:
				i++
			case !errors.Is(err, live.ErrConflict):
				return err
			}
			if after, err := s.Revision(t.Context()); err != nil || after < before {
				return fmt.Errorf("the revision went from %d to %d: %w", before, after, err)
			}
		}
		return nil
	})
	if found := history(t, a, 100); len(found) != 21 || found[0].Number != 21 {
		t.Errorf("there are %d versions", len(found))
	}
}
