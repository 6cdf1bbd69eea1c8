package blame_test

import (
	"testing"
	"time"

	"github.com/bezoar-dev/bezoar"
	"github.com/bezoar-dev/bezoar/policy/blame"
)

// Law 6: whoever kills a whole small fleet kills the lane too, with a suspect
// alone in it. The conviction is taken back when the others follow at once, and
// stands when they do not.
func TestLaw6WorkersThatDieWithTheLane(t *testing.T) {
	for _, tc := range []struct {
		name  string
		after time.Duration // from the death in the lane to that of the others
		want  blame.Action
	}{
		{"at once", 20 * time.Millisecond, blame.ToLane},
		{"a second later", time.Second, blame.Refuse},
	} {
		t.Run(tc.name, func(t *testing.T) {
			b := newState(t, blame.Config{})
			b.SetFleet(4)
			for i := range 40 {
				b.runs(work(uint64(i%4), 1))
			}
			slow := work(100, 2)
			b.kills(slow)
			b.runs(work(1, 1))
			if _, f := b.kills(slow); !f.Convicted {
				t.Fatal("the premise: a second death, alone in the lane, convicts")
			}
			b.pass(tc.after)
			for _, w := range []string{"w3", "w4"} {
				b.Crash(b.now, b.life(), false, bezoar.Evidence{Worker: w, Class: bezoar.Crash})
			}
			if a := b.action(slow); a != tc.want {
				t.Errorf("its next copy goes to %v, want %v", a, tc.want)
			}
		})
	}
}
