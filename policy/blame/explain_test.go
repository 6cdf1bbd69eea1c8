package blame_test

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/bezoar-dev/bezoar"
	"github.com/bezoar-dev/bezoar/policy/blame"
)

// The sentences of verdicts about one attack agree with one another: a variant's says that
// more than it is refused, one death is enough where the lane came first, and a caller's
// pace falls as it does.
func TestVerdictsOfOneAttackAgree(t *testing.T) {
	b := newState(t, blame.Config{Window: time.Second})
	b.served("/home", 500)
	for i := range 6 {
		pill := ask("/home", "evil", fmt.Sprint("X-Theme: neon", i))
		for range 2 {
			if b.action(pill) == blame.Refuse {
				break
			}
			b.kills(pill)
			b.pass(100 * time.Millisecond)
		}
	}
	var feature bezoar.Verdict
	why := map[bezoar.Scope][]string{}
	for _, v := range b.Verdicts(b.now) {
		why[v.Scope] = append(why[v.Scope], strings.Join(v.Why, " "))
		if v.Scope == bezoar.ScopeFeature {
			feature = v
		}
	}
	for _, tc := range []struct {
		scope bezoar.Scope
		want  string
	}{
		{bezoar.ScopeVariant, "is refused, too: " + feature.ID + "."},
		{bezoar.ScopeVariant, "This death was enough: it ran in the lane from its first copy on"},
		{bezoar.ScopeClient, "Each death makes that eight times slower, or 64 times if new work killed alone."},
	} {
		if all := strings.Join(why[tc.scope], "\n"); feature.ID == "" || !strings.Contains(all, tc.want) {
			t.Errorf("no verdict about a %s says %q:\n%s", tc.scope, tc.want, all)
		}
	}
}
