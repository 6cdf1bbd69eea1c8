package main

import (
	"testing"
)

// Every command of the guide to flows is run, in order.
func TestFlowGuide(t *testing.T) {
	t.Parallel()
	r := newBuilt(t, "docs/flow.md")
	r.read(map[string][]string{
		"flow run orders.yaml": {
			"orders.yaml: ok: orders, 3 tasks", "HELD", "load       DEAD_LETTER", "load[2] DEAD_LETTER", "KeyError: 'price'", "item   oslo",
			"1 dead letter of run", "hint: bezoar flow logs",
		},
		"flow retry last": {"load[2] DEAD_LETTER", "  orders  SUCCESS  ", "FLOW    STATE    BEGAN"},
		"--attempt 1":     {"KeyError: 'price'", "flowchart"},
		"--dry-run":       {"5 runs"},
	})
}
