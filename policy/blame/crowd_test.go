package blame_test

import (
	"fmt"
	"testing"
	"time"

	"github.com/bezoar-dev/bezoar"
	"github.com/bezoar-dev/bezoar/policy/blame"
)

// The death of a worker with many in flight, none of whom has much of the blame, is
// not unexplained while they have yet to run alone.
func TestADeathInACrowdIsNotUnexplainedAtOnce(t *testing.T) {
	b := newState(t, blame.Config{Window: time.Second})
	b.served("/home", 200)
	e := b.life()
	b.runsOn(e, ask("/home", "good1"))
	var tickets []blame.Ticket
	for i := range 20 {
		tk, _ := b.admit(ask(fmt.Sprint("/report/", i), fmt.Sprint("good", i)))
		b.Begin(b.now, tk, e, time.Time{}, false)
		tickets = append(tickets, tk)
	}
	b.Crash(b.now, e, false, bezoar.Evidence{Worker: "w", Class: bezoar.Crash})
	for _, tk := range tickets {
		b.Close(tk)
	}
	b.pass(3 * time.Second)
	tk, d := b.admit(ask("/report/7", "good7"))
	if d.Action != blame.ToLane || d.Quiet != time.Second {
		t.Errorf("a suspect got %+v, want the lane and the ordinary window", d)
	}
	b.Close(tk)
}
