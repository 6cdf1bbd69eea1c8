package gateway

import "github.com/bezoar-dev/bezoar/internal/dispatch"

// CallerBudgets are the retry budgets of a route's callers, which apply beside
// the fleet's.
type CallerBudgets = dispatch.CallerBudgets
