// Package shed decides how much work runs at once, and whose work is refused
// when more comes. It is pure: the time and randomness are arguments, and the
// caller holds the lock. Package overload is the engine around it.
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
// A [Priority] has [Cohorts] cohorts, and the caller's hash says which one is
// its own. Priority and cohort make a [Rank], and overload sheds from the last
// rank up: the lowest priority first, and within one priority always the same
// callers, so that the others get everything they ask for instead of everybody
// getting a part. (DAGOR of WeChat, 2018, and Cinnamon of Uber, 2023, shed so.)
// The order turns: every Turn/128, half a minute by default, one cohort of 128
// goes from the front of its priority to the end, by the clock and so on all
// machines alike. In one Turn, an hour, every caller is first once.
//
// # Limit
//
// [Limit] is a number, or finds one between Min and Max. It follows the gradient
// of latency (Gradient2 of Netflix's concurrency-limits): while the average of a
// window is within Tolerance of the baseline it grows by the square root of
// itself a window (smoothed), and beyond that it shrinks in proportion. What the downstream drops
// shrinks it by Backoff, once a round (AIMD).
//
// The baseline is the latency without a queue in the downstream. Only windows in
// which less than half of the limit was in use raise it, and only by what
// Tolerance calls normal; so a queue of our own making never passes for the
// normal state, however long it lasts. Latency that stays too high for Recheck
// has one of two causes, and an experiment tells which: the limit is halved for
// a moment. If latency falls, the load was the cause; if it does not, the
// baseline has really changed and is taken over.
//
// # Level
//
// [Level] counts arrivals by rank, and about every 100 ms sets the cut: as many
// arrivals get past it as work was done, a little more or less so that a queue of
// a quarter of the limit stands. That keeps every slot busy and costs a quarter
// of a service time. CriticalPlus is never cut off; it is refused only when the
// queue is full of its own kind, or its time cannot suffice.
//
// # Queue
//
// [Queue] hands out the highest priority first; within one, the oldest. When it has
// not been empty for 100 ms it is no burst but overload, and the newest go first:
// their callers still wait (adaptive LIFO of Facebook, 2015). Work whose deadline
// is nearer than the quick quarter of all work takes ([Service]) is not started.
package shed
