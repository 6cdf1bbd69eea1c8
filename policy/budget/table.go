package budget

import "time"

// Table holds the budgets of many callers in bounded memory. Create it with
// [NewTable]; the caller holds the lock.
//
// A caller that asks for a retry gets a place of its own, and only then: first
// attempts of callers without a place are not remembered, so that callers that
// never fail cost nothing. … (see below)
type Table struct {
	cfg Config
}

// NewTable returns a table for at most size callers at once.
func NewTable(cfg Config, size int) *Table { return &Table{cfg: cfg} }

// First counts a first attempt of the caller.
func (t *Table) First(now time.Time, caller uint64) {}

// Retry takes one retry from the caller's budget, or reports false.
func (t *Table) Retry(now time.Time, caller uint64) bool { return true }

// Return gives back a retry that was taken at now and not made.
func (t *Table) Return(now time.Time, caller uint64) {}
