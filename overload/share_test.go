package overload_test

import (
	"testing"

	"github.com/bezoar-dev/bezoar/overload"
	"github.com/bezoar-dev/bezoar/policy/shed"
)

// TestShare: what one caller may have can be changed for it alone.
func TestShare(t *testing.T) {
	for _, tc := range []struct {
		perCaller int
		share     float64
		want      int
	}{
		{4, 0, 4}, {4, 1, 4}, {4, 0.5, 2}, {4, 2, 8}, {4, 0.01, 1}, {4, -1, 4}, {0, 0.3, 3}, {0, 0.01, 1}, {0, 0, 10}, {0, 3, 10},
	} {
		p, err := overload.New(overload.Config{Limit: shed.Config{Fixed: 10}, Queue: overload.Off, PerCaller: tc.perCaller})
		if err != nil {
			t.Fatal(err)
		}
		n := 0
		for {
			_, no := p.Enter(t.Context(), overload.Request{Caller: 7, Share: tc.share})
			if no == nil {
				n++
				continue
			}
			if no.Rule == overload.RulePerCaller && no.Limit != tc.want {
				t.Errorf("%+v: the limit is %d", tc, no.Limit)
			}
			break
		}
		if n != tc.want {
			t.Errorf("%+v: %d entered", tc, n)
		}
	}
}
