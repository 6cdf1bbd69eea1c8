// Package shed decides how much work runs at once, and whose work is refused when there
// is more. It is pure: the time and randomness are arguments, and the caller holds the
// lock. Package overload is the engine around it.
//
//	       ┌─ a slot is free ──────────────────────────────► runs
//	work ──┤
//	       └─ none ─► Level: is its rank shed? ── yes ─────► refused
//	                    │ no
//	                    ▼
//	                  Queue ── its turn, and time is left ─► runs
//	                    │
//	                    └─ pushed out, overdue ────────────► refused
//
//	runs ─► its latency ─► Limit: how many slots; Level: how many come and go
//
// # Ranks
//
// A [Priority] has [Cohorts] cohorts, and the caller's hash selects one of them. Priority
// and cohort make a [Rank]. Overload sheds from the last rank up: the lowest priority
// first, and within one priority always the same callers. So the other callers get
// everything they ask for, instead of everybody getting a part. (DAGOR of WeChat, 2018,
// and Cinnamon of Uber, 2023, work in the same way.) The order rotates: every Turn/128,
// half a minute by default, one of the 128 cohorts moves from the front of its priority
// to the end. The rotation goes by the clock, so it is the same on all machines. In one
// Turn, an hour, every caller is first once.
//
// # Limit
//
// [Limit] is fixed, or adapts between Min and Max. It follows the gradient of latency
// (Gradient2 of Netflix's concurrency-limits). While the average of a window is within
// Tolerance of the baseline, the limit grows by its square root per window (smoothed).
// Beyond that it shrinks in proportion. Requests that the downstream drops shrink it by
// Backoff, once per round (AIMD).
//
// The baseline is the latency without a queue in the downstream. Only windows that used
// less than half of the limit raise it, and only within Tolerance. So a queue that we
// cause never becomes the baseline, however long it lasts. If latency stays too high for
// Recheck, an experiment finds the cause: the limit is halved for a moment. If latency
// falls, the load was the cause. If it does not, the baseline has really changed and is
// updated.
//
// # Level
//
// [Level] counts arrivals by rank, and about every 100 ms sets the cut: as many arrivals
// pass as work was done, adjusted so that the queue holds a quarter of the limit. That
// keeps every slot busy and costs a quarter of a service time. CriticalPlus is never cut.
// It is refused only when the queue is full of CriticalPlus work, or when too little time
// is left.
//
// # Queue
//
// [Queue] hands out the highest priority first, and within a priority the oldest. If it
// has not been empty for 100 ms, that is overload and no burst: then the newest go first,
// because their callers still wait (adaptive LIFO of Facebook, 2015). Work is not started
// if its deadline is nearer than the time that the fastest quarter of all work takes
// ([Service]).
package shed
