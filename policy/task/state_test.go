package task_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/bezoar-dev/bezoar/policy/task"
)

// machine is every transition there is; what is not here is refused.
const machine = `
PENDING          needs met → READY, needs held → HELD, needs failed → UPSTREAM_FAILED, skip → SKIPPED, cancel → CANCELLED
READY            begin → RUNNING, succeed → SUCCESS, set aside → DEAD_LETTER, give up → FAILED, hold back → HELD, skip → SKIPPED, cancel → CANCELLED, deadline → FAILED
RUNNING          succeed → SUCCESS, set aside → DEAD_LETTER, give up → FAILED, try again → RETRYING, look again → SENSING, interrupt → INTERRUPTED, hold back → HELD, skip → SKIPPED, cancel → CANCELLED, deadline → FAILED
SUCCESS
FAILED           begin → RUNNING, retry → PENDING
UPSTREAM_FAILED  release → PENDING, retry → PENDING
RETRYING         due → READY, retry → READY, skip → SKIPPED, cancel → CANCELLED, deadline → FAILED
SENSING          due → READY, retry → READY, skip → SKIPPED, cancel → CANCELLED, deadline → FAILED
DEAD_LETTER      retry → READY, skip → SKIPPED, cancel → CANCELLED
HELD             needs failed → UPSTREAM_FAILED, release → PENDING, begin → RUNNING, retry → PENDING, skip → SKIPPED, cancel → CANCELLED
SKIPPED
CANCELLED        begin → RUNNING, retry → PENDING
INTERRUPTED      due → READY, hold back → HELD, retry → READY, skip → SKIPPED, cancel → CANCELLED, deadline → FAILED
`

func TestEveryStateMeetsEveryEvent(t *testing.T) {
	var got strings.Builder
	fmt.Fprintln(&got)
	refused := 0
	for _, s := range task.States() {
		var moves []string
		for e := range task.Event(task.Events) {
			next, ok := s.Next(e)
			switch {
			case ok && !next.Known():
				t.Errorf("%s: %s leads to %q, which is no state", s, e, next)
			case ok:
				moves = append(moves, fmt.Sprintf("%s → %s", e, next))
			case next != s:
				t.Errorf("%s: %s is refused, and the state is %s", s, e, next)
			default:
				refused++
			}
		}
		got.WriteString(strings.TrimRight(fmt.Sprintf("%-16s %s", s, strings.Join(moves, ", ")), " ") + "\n")
	}
	if got.String() != machine {
		t.Errorf("the machine is\n%s\nwant\n%s", got.String(), machine)
	}
	if all := len(task.States()) * task.Events; refused+strings.Count(machine, "→") != all {
		t.Errorf("%d refused and %d allowed, want %d together", refused, strings.Count(machine, "→"), all)
	}
}

func TestEveryStateCanBeReachedAndLeft(t *testing.T) {
	reached := []task.State{task.Pending}
	for k := 0; k < len(reached); k++ {
		for e := range task.Event(task.Events) {
			if next, ok := reached[k].Next(e); ok && !slices.Contains(reached, next) {
				reached = append(reached, next)
			}
		}
	}
	for _, s := range task.States() {
		if !slices.Contains(reached, s) {
			t.Errorf("%s cannot be reached", s)
		}
		if _, ok := s.Next(task.Cancel); !ok && !s.Over() {
			t.Errorf("%s is not over, and cannot be cancelled", s)
		}
		if _, ok := s.Next(task.Skip); !ok && !s.Over() {
			t.Errorf("%s is not over, and cannot be skipped", s)
		}
	}
	if task.State("BOGUS").Known() || task.Event(99).String() != "unknown" {
		t.Error("unknown states and events have names")
	}
}
