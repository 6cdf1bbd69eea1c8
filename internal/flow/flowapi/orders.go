package flowapi

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/bezoar-dev/bezoar/flow"
	"github.com/bezoar-dev/bezoar/internal/control/adminapi"
)

// rows retries the bad rows of an instance.
func (s *Service) rows(ctx context.Context, run string, o Order) (Ordered, error) {
	if s.c.Rows == nil {
		return Ordered{}, missing("bad rows cannot be retried here")
	}
	index := 0
	if o.Index != nil {
		index = *o.Index
	}
	rows, n, err := flow.RetryRows(ctx, s.c.Rows, run, o.Task, index, o.Who, o.Reason)
	switch {
	case errors.Is(err, flow.ErrNotFound):
		return Ordered{}, missing("%s", err)
	case err != nil:
		return Ordered{}, conflict("%s", err)
	}
	if s.c.Ordered != nil {
		s.c.Ordered(flow.Order{Run: rows.ID, Verb: o.Verb, Task: o.Task, Index: -1, Who: o.Who})
	}
	return Ordered{Run: rows.ID, Instances: n}, nil
}

// check refuses orders that do not fit the run.
func check(r *flow.Run, o Order) error {
	var faults []string
	faultIf := func(bad bool, format string, args ...any) {
		if bad {
			faults = append(faults, fmt.Sprintf(format, args...))
		}
	}
	switch o.Verb {
	case flow.VerbRetry, flow.VerbSkip, flow.VerbCancel:
	default:
		faultIf(true, "verb %.40q is none of retry, skip and cancel", string(o.Verb))
	}
	faultIf(o.Rows && (o.Verb != flow.VerbRetry || o.Task == "" || len(o.Set) > 0), "rows is for the retry of one task, without set")
	faultIf(o.Index != nil && o.Task == "", "index needs a task")
	faultIf(o.Verb == flow.VerbSkip && o.Task == "" && o.Group == "", "skip needs a task or a group")
	faultIf(len(o.Reason) > MaxReason, "reason may have %d bytes", MaxReason)
	faultIf(len(o.Set) > 0 && o.Verb != flow.VerbRetry, "set belongs to a retry")
	for name, v := range o.Set {
		faultIf(!slices.ContainsFunc(r.Definition.Params, func(p flow.Param) bool { return p.Name == name }), "the flow has no parameter %.100q", name)
		faultIf(len(v) > flow.MaxValue, "set.%s may have %d bytes", name, flow.MaxValue)
	}
	if len(faults) > 0 {
		slices.Sort(faults)
		return adminapi.Invalid("%s", strings.Join(faults, "; "))
	}
	if o.Task != "" && taskOf(r, o.Task) == nil {
		return missing("run %s has no task %.100q: it has %s", r.ID, o.Task, names(r))
	}
	return nil
}
