package h1

import (
	"testing"
	"time"
)

func TestACrowdIsWhereConnectionsFollowCloselyUponEachOther(t *testing.T) {
	var c Crowd
	now := time.Unix(1_000_000, 0)
	for i, step := range []struct {
		after time.Duration
		who   uint8
		want  bool
	}{
		{0, 1, false},
		{closely / 2, 2, true},
		{0, 3, true},
		{1, 3, false}, // the same again
		{closely + time.Microsecond, 1, false},
		{time.Hour, 2, false},
		{1, 255, true},
	} {
		now = now.Add(step.after)
		if got := c.dense(now, step.who); got != step.want {
			t.Errorf("step %d: %d after %v: dense = %v, want %v", i, step.who, step.after, got, step.want)
		}
	}
}
