package cli

import (
	"testing"

	"github.com/bezoar-dev/bezoar"
)

func TestCauseOf(t *testing.T) {
	for _, c := range []struct {
		v    bezoar.Verdict
		want string
	}{
		{bezoar.Verdict{Cause: bezoar.Crash}, "crash"},
		{bezoar.Verdict{Cause: bezoar.Invalid, Manual: true}, "operator"},
	} {
		if got := causeOf(c.v); got != c.want {
			t.Errorf("causeOf(%v, manual %v) = %q, want %q", c.v.Cause, c.v.Manual, got, c.want)
		}
	}
}
