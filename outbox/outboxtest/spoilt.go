package outboxtest

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/bezoar-dev/bezoar/internal/test/suite"
	"github.com/bezoar-dev/bezoar/outbox"
)

// testSpoilt changes and deletes rows by hand. Each such event is parked, shown and skipped
// like any other, blocks only its own key, and stops no other event.
func testSpoilt(_ *testing.T, s *rig) {
	var p place
	s.write(event("a1", "a"), event("headers", "k"), event("k2", "k"), event("gone", "g"), event("g2", "g"), event("b1", "b"))
	s.Spoil(s.t, "headers", false)
	position := s.waiting("")[slices.IndexFunc(s.waiting(""), func(w outbox.Waiting) bool { return w.ID == "gone" })].Position
	s.Spoil(s.t, "gone", true)
	s.relay(outbox.Config{Sinks: to(&p), ParkAfter: 2})
	s.eventually("both are parked", func() bool { return len(s.waiting(outbox.Parked)) == 2 })
	s.write(event("k3", "k"), event("g3", "g"), event("b2", "b"))
	s.eventually("others go on", func() bool { return slices.Contains(p.ids(), "a1") && slices.Contains(p.ids(), "b2") })
	for _, w := range s.waiting(outbox.Parked) {
		s.equal("class", w.Evidence.Class, "invalid")
		suite.FatalIf(s.t, w.Fault == "" || w.Evidence.Reason == "", "%s: fault %q, reason %q", w.ID, w.Fault, w.Evidence.Reason)
	}
	if ids := p.ids(); slices.Contains(ids, "headers") || slices.Contains(ids, "k2") || slices.Contains(ids, "k3") {
		s.t.Fatalf("delivered are %v", ids)
	}
	broken, err := s.Store.Find(s.ctx(), "headers")
	s.check(err)
	s.eventually("what is behind is counted", func() bool {
		broken, err = s.Store.Find(s.ctx(), "headers")
		s.check(err)
		return broken.Behind == 2
	})
	suite.FatalIf(s.t, !strings.Contains(broken.Fault, "headers"), "the fault is %q", broken.Fault)
	gone, err := s.Store.Find(s.ctx(), fmt.Sprint("@", position))
	s.check(err)
	s.equal("the one that is gone", []any{gone.Topic, gone.Key, gone.Position, gone.Fault}, []any{"t", "g", position, outbox.FaultGone})
	byKey, err := s.Store.Waiting(s.ctx(), outbox.Query{State: outbox.Parked, Key: "g", Bare: true})
	s.check(err)
	n, err := s.Store.Count(s.ctx(), outbox.Query{State: outbox.Parked, Key: "g"})
	s.check(err)
	s.equal("by its key", []any{len(byKey), n}, []any{1, 1})
	s.is("edit of a row that is gone", s.Store.Edit(s.ctx(), position, outbox.Edit{Payload: []byte("x")}), outbox.ErrGone)

	s.check(s.Store.Edit(s.ctx(), broken.Position, outbox.Edit{Headers: map[string]string{"a": "b"}}))
	_, err = s.Store.Retry(s.ctx(), []int64{broken.Position})
	s.check(err)
	skipped, err := s.Store.Skip(s.ctx(), []int64{position})
	s.check(err)
	s.equal("skipped", skipped, 1)
	s.eventually("all the rest is delivered", func() bool { return len(s.waiting("")) == 0 })
	s.equal("order", p.orderOf("k"), []string{"headers", "k2", "k3"})
}
