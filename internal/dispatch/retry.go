package dispatch

import (
	"cmp"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/bezoar-dev/bezoar/internal/faults"
	"github.com/bezoar-dev/bezoar/policy/backoff"
	"github.com/bezoar-dev/bezoar/policy/budget"
)

// RetryConfig bounds how often work is sent again (law 8). The zero value means the defaults.
type RetryConfig struct {
	Attempts int            // deliveries of one piece of work; 1 to 10, default 3, and at most the number of live workers
	Budget   budget.Config  // share of the traffic that further attempts may add
	Backoff  backoff.Config // between attempts; default 25 ms, at most 250 ms
	Fleet    *Retry         // its budget applies as well, over all work that names it; nil: none
}

func (c RetryConfig) withDefaults() RetryConfig {
	c.Attempts = cmp.Or(c.Attempts, 3)
	if c.Backoff == (backoff.Config{}) {
		c.Backoff = backoff.Config{Base: 25 * time.Millisecond, Cap: 250 * time.Millisecond}
	}
	return c
}

// Validate reports every impossible field.
func (c RetryConfig) Validate() error {
	var errs faults.List
	errs.If(c.Attempts < 0 || c.Attempts > 10, "Attempts is %d, want 1 to 10", c.Attempts)
	errs.If(c.Fleet != nil && c.Fleet.cfg.Fleet != nil, "Fleet has a Fleet itself")
	return errors.Join(append(errs, c.Budget.Validate(), c.Backoff.Validate())...)
}

// Retry is a [RetryConfig] with the state of its budget. Work that names the same Retry shares one budget. It is safe for
// concurrent use.
type Retry struct {
	cfg RetryConfig

	mu     sync.Mutex // guards budget
	budget budget.Budget
}

// NewRetry returns a Retry with a full budget.
func NewRetry(cfg RetryConfig) (*Retry, error) {
	if err := cfg.Validate(); err != nil {
		return nil, fmt.Errorf("retry: %w", err)
	}
	r := &Retry{cfg: cfg.withDefaults()}
	r.budget.Config = cfg.Budget
	return r, nil
}

func (r *Retry) first(now time.Time) {
	r.mu.Lock()
	r.budget.First(now)
	r.mu.Unlock()
	if r.cfg.Fleet != nil {
		r.cfg.Fleet.first(now)
	}
}

// again takes a retry from the budget and from the fleet's, or from neither.
func (r *Retry) again(now time.Time) bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.cfg.Fleet == nil {
		return r.budget.Retry(now)
	}
	if !r.budget.Retry(now) {
		return false
	}
	if !r.cfg.Fleet.again(now) {
		r.budget.Return(now)
		return false
	}
	return true
}

// Used returns the used share of the retries that the budget allows now: 1 means that no more are made.
func (r *Retry) Used(now time.Time) float64 {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.budget.Used(now)
}

// count counts a retry that is made even beyond the budget.
func (r *Retry) count(now time.Time) {
	r.mu.Lock()
	r.budget.Count(now)
	r.mu.Unlock()
	if r.cfg.Fleet != nil {
		r.cfg.Fleet.count(now)
	}
}
