// Package task decides what happens next to one task of a flow: which states follow each
// other, whether a failed attempt is tried again, and when. It is pure: the time and
// randomness are arguments.
//
//	            needs met          slot, attempt written down
//	PENDING ───────────────► READY ──────────────► RUNNING ──────► SUCCESS
//	 │   ▲                   ▲ ▲ ▲                  │ │ │ │
//	 │   │ retried           │ │ └── RETRYING ◄─────┘ │ │ └─► FAILED (permitted, or too late)
//	 │   │                   │ └──── INTERRUPTED ◄────┘ │
//	 │   │                   └────── SENSING ◄──────────┤  not yet
//	 │   │                                              ▼
//	 │   └── HELD ◄── what it needs is ── DEAD_LETTER ◄─┘
//	 │                                       │
//	 │                                       └──► READY (retried), SKIPPED (permitted), CANCELLED
//	 ├──► HELD, UPSTREAM_FAILED, SKIPPED, CANCELLED
//
// Only RUNNING holds a slot. All transitions are in the test of [State.Next].
//
// # End of retries
//
// Each cause has a separate budget. [Rules.Attempts] counts failures of the task itself.
// Kills by the infrastructure, stops at the timeout and failed starts have [MaxKilled],
// [MaxOverdue] and [MaxUnstarted].
//
// A death of Bezoar or of its machine is not the fault of a task that ran beside others,
// and costs it nothing. After [MaxTogether] such deaths the task runs alone: see
// [History.Alone]. Then it either ends, or [MaxAlone] further deaths show that it is the
// cause.
//
// A failure repeats itself when the last failures have the same class and fingerprint, in
// one build, since a person last retried the task. Quality A needs two of them; B and C
// need three that are 30 seconds apart. D, an exit code alone, never counts. Failures
// that may not happen next time never count either: transient, throttled, outage,
// timeout. A timeout below the p99 of successful runs is called a wrong timeout.
//
// A retry must fit the deadline: now + wait + p95 of a run + p95 of the tasks after it.
//
// [SiblingsPoisoned] tells a common cause from anomalies: enough instances died in the
// same way, and they are at least a fifth of all that have ended.
package task
