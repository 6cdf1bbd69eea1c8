// Package flow runs tasks in the order of a directed acyclic graph, and keeps a
// task that fails again and again from wasting the rest.
//
//	Definition ──► Run: instances ──► READY ──► attempt, written down ──► Executor
//	                   ▲                                                   │
//	                   └── what follows ◄── policy/task ◄── Ending ◄───────┘
//
// An [Engine] plans the runs that it holds, in memory, by pure rules (package
// policy/task). It writes each step as one batch to a [Store], which refuses the batch if
// the engine no longer holds the run. Nodes run attempts through an [Executor].
//
// # States
//
//	PENDING ──► READY ──► RUNNING ──► SUCCESS
//	              ▲          ├──► RETRYING, SENSING, INTERRUPTED ──► READY
//	              │          ├──► FAILED          permitted, or too late
//	              │          └──► DEAD_LETTER     waits for a person; what needs it is HELD
//	              └── retry ◄─────────┘ skip ──► SKIPPED, cancel ──► CANCELLED
//
// The complete state machine is in package policy/task. A task with [Each] has one
// instance for each item, and one with index -1 that stands for all of them: it is
// RUNNING while one of them goes on, and HELD when the others wait for a person.
//
// An attempt that succeeds may report bad rows (Ending.Rows). They are stored before its
// end, as a separate run: the task alone, with one instance in DEAD_LETTER for each row.
// A retry gives the task the row on standard input. [RetryRows] retries all rows of an
// instance.
//
// # Guarantees
//
//   - An attempt is written down before it starts. The next attempt of an instance starts
//     only when the executor has proven that nothing of the previous one runs. If a node
//     is lost, it starts when the node's lease is over and the same time has passed
//     again, in which the node's guardian ends its jobs.
//   - RETRYING, SENSING and HELD hold no slot. Slots of pools and concurrency keys are
//     counted from attempts that are not over, in the transaction that begins attempts.
//   - A failure that repeats itself ends the retries early. If so many instances of one
//     task die of one failure that it is no anomaly, instances that have not run are held
//     without a run. Until the first one succeeds, only as many instances run as are
//     needed to know, beyond those that began together.
//   - A retry is tried only if it fits the run's deadline. The deadline is absolute, and
//     set when the run is created.
//   - A side effect happens at most once for its key within Config.KeepKeys, unless a
//     person permits more: an attempt that ended in any other way than success may have
//     had its effect.
//   - A death of Bezoar costs the attempts that ran at that time nothing. An instance
//     that was running at task.MaxTogether deaths runs alone on its node from then on, so
//     that the others are cleared and the cause is found.
//   - People are told once of each failure group of a run, and of the end of a run that
//     FAILED. That is written down in the same transaction as the failure. If Bezoar
//     crashes at the wrong moment, they are told again.
//
// # Not guaranteed
//
//   - A task may run more than once: Bezoar or its machine may die. Make tasks
//     idempotent, or side effects with a key.
//   - A function runs in this process, and nothing can stop it from outside. Its context
//     ends at its timeout, at the deadline and when a person cancels it. A function that
//     ignores its context goes on: its attempt is not over, it keeps its slot, and the
//     next attempt waits. The end of the process waits for it for at most 30 seconds and
//     its grace. Its memory has no separate limit. A panic is caught only in the
//     function's own goroutine; in another one it ends the process. Use a task with a
//     command for work that must be stopped for certain.
//   - Each node learns by itself how long tasks take, and counts by itself how often a
//     downstream fails. Nodes tell each other through Config.Judge that a downstream does
//     not work. Without it each node has its own circuit breakers.
//   - One node at a time plans a run, in memory: about 100,000 instances, and 64 MiB of
//     outputs.
//
// # Speed
//
// The cost of an event depends only on what it changes: needs are counters, instances
// that wait for the same thing share a lane, and everything that happened meanwhile
// shares a batch.
package flow
