package dispatch

import (
	"cmp"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/bezoar-dev/bezoar/internal/faults"
	"github.com/bezoar-dev/bezoar/policy/budget"
)

// CallerBudgetsConfig describes [CallerBudgets]. Its zero value is useful.
type CallerBudgetsConfig struct {
	Budget budget.Config // of each caller; default 20 % and 0.5 retries per second
	Max    int           // number of callers with separate budgets; default 4,096, about 300 bytes each
}

func (c CallerBudgetsConfig) withDefaults() CallerBudgetsConfig {
	c.Budget.Floor = cmp.Or(c.Budget.Floor, 0.5)
	c.Max = cmp.Or(c.Max, 4096)
	return c
}

// Validate reports every impossible field.
func (c CallerBudgetsConfig) Validate() error {
	var errs faults.List
	errs.If(c.Max < 0, "Max is %d, want 0 or more", c.Max)
	return errors.Join(append(errs, c.Budget.Validate())...)
}

// CallerBudgets holds a retry budget for each of many callers. Pieces of work with the same CallerBudgets share them. It is
// safe for concurrent use.
type CallerBudgets struct {
	mu    sync.Mutex // guards table
	table *budget.Table
}

// NewCallerBudgets returns budgets that are all full.
func NewCallerBudgets(cfg CallerBudgetsConfig) (*CallerBudgets, error) {
	if err := cfg.Validate(); err != nil {
		return nil, fmt.Errorf("budgets of callers: %w", err)
	}
	cfg = cfg.withDefaults()
	return &CallerBudgets{table: budget.NewTable(cfg.Budget, cfg.Max)}, nil
}

func (b *CallerBudgets) first(now time.Time, caller uint64) {
	b.mu.Lock()
	b.table.First(now, caller)
	b.mu.Unlock()
}

func (b *CallerBudgets) again(now time.Time, caller uint64) bool {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.table.Retry(now, caller)
}

// back returns what again took.
func (b *CallerBudgets) back(now time.Time, caller uint64) {
	b.mu.Lock()
	b.table.Return(now, caller)
	b.mu.Unlock()
}
