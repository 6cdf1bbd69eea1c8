package admission

import (
	"strings"
	"testing"
	"time"

	"github.com/bezoar-dev/bezoar/overload"
	"github.com/bezoar-dev/bezoar/policy/breaker"
)

// TestRefusalsSayWhoseFaultItIs: the text of a refusal fits its rule.
func TestRefusalsSayWhoseFaultItIs(t *testing.T) {
	var s Admission
	for want, r := range map[string]*Refusal{
		"failed too often":      s.breakerOpen(breaker.Decision{Reason: "10 in a row"}),
		"An operator has":       s.breakerOpen(breaker.Decision{Reason: "by ann", Forced: true}),
		"more work than can be": s.poolFull(&overload.Refusal{Rule: overload.RuleConcurrency}),
		"as one caller may":     s.poolFull(&overload.Refusal{Rule: overload.RulePerCaller}),
		"caller's deadline":     s.poolFull(&overload.Refusal{Rule: overload.RuleDeadline}),
	} {
		if got := r.Body.Detail; !strings.Contains(got, want) {
			t.Errorf("%s: %q, want %q", r.Body.Rule, got, want)
		}
	}
}

// TestUntilIsNotTooEarly: who comes back at the time that was written is not
// refused for the part of a second that was left out.
func TestUntilIsNotTooEarly(t *testing.T) {
	second := time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)
	for at, want := range map[time.Duration]string{0: "2026-01-02T03:04:05Z", 1: "2026-01-02T03:04:06Z", 999 * time.Millisecond: "2026-01-02T03:04:06Z"} {
		if got := until(second.Add(at)); got != want {
			t.Errorf("%v: %s, want %s", at, got, want)
		}
	}
}
