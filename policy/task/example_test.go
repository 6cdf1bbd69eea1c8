package task_test

import (
	"fmt"
	"time"

	"github.com/bezoar-dev/bezoar"
	"github.com/bezoar-dev/bezoar/policy/task"
)

// A task may fail five times, but it fails twice in the same line of its own code.
// A third attempt would only waste a slot.
func ExampleRules_Judge() {
	rules := task.Rules{Attempts: 5, Build: "v1"}
	end := task.End{Class: bezoar.Bug, Reason: "ZeroDivisionError", Fingerprint: "7c1e", Quality: "A"}
	room := task.Room{Now: time.Date(2026, 11, 30, 2, 0, 0, 0, time.UTC)}

	h, v := rules.Judge(task.History{}, end, room, 0)
	next, _ := task.Running.Next(v.Event)
	fmt.Println(next)

	_, v = rules.Judge(h, end, room, 0)
	next, _ = task.Running.Next(v.Event)
	fmt.Println(next)
	fmt.Println(v.Why)
	// Output:
	// RETRYING
	// DEAD_LETTER
	// the same failure 2 times in one build (bug; ZeroDivisionError): it repeats itself
}
