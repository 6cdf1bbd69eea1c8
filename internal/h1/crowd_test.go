package h1

import (
	"testing"
	"time"
)

func TestACrowdIsWhereRequestsFollowCloselyUponEachOther(t *testing.T) {
	var c crowd
	now := time.Unix(1_000_000, 0)
	for i, step := range []struct {
		after time.Duration
		want  bool
	}{{0, false}, {closely - 1, true}, {0, true}, {closely, false}, {time.Hour, false}, {1, true}} {
		now = now.Add(step.after)
		if got := c.dense(now); got != step.want {
			t.Errorf("step %d: after %v dense = %v, want %v", i, step.after, got, step.want)
		}
	}
}
