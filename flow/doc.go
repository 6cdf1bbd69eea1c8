// Package flow runs tasks in the order of a directed acyclic graph, and keeps a
// task that fails again and again from wasting the rest.
//
//	Definition ──► Run: instances ──► READY ──► attempt, written down ──► Executor
//	                   ▲                                                   │
//	                   └── what follows ◄── policy/task ◄── Ending ◄───────┘
//
// An [Engine] plans the runs that it holds: in memory, by pure rules (package
// policy/task). It writes each step as one batch to a [Store], fenced by its hold
// of the run. Nodes run attempts through an [Executor].
//
// # States
//
//	PENDING ──► READY ──► RUNNING ──► SUCCESS
//	              ▲          ├──► RETRYING, SENSING, INTERRUPTED ──► READY
//	              │          ├──► FAILED          permitted, or too late
//	              │          └──► DEAD_LETTER     waits for a person; what needs it is HELD
//	              └── retry ◄─────────┘ skip ──► SKIPPED, cancel ──► CANCELLED
//
// The whole machine is in package policy/task. A task with [Each] has one
// instance for each item, and one of index -1 that stands for all of them: it is
// RUNNING while one of them goes on, HELD when the rest waits for a person.
//
// The bad rows of an attempt that is done (Ending.Rows) are stored before its end, as
// a run of their own: the task alone, with one instance in DEAD_LETTER for each row.
// A retry gives it the row on standard input. [RetryRows] retries all of an instance.
//
// # Guarantees
//
//   - An attempt is written down before it starts. The next attempt of an
//     instance starts only when the executor has proven that nothing of the one
//     before runs; or, for a node that is lost, when its lease is over and its
//     guardian has had as long again to end its jobs.
//   - RETRYING, SENSING and HELD hold no slot. Slots of pools and concurrency
//     keys are counted from attempts that are not over, in the transaction that
//     begins attempts.
//   - A failure that repeats itself ends the retries early. When so many
//     instances of one task die of one failure that it is no anomaly, those that
//     have not run are held without a run. While none has worked, no more
//     instances are at risk than it takes to know, beyond those that began
//     together.
//   - A retry is tried only if it fits the run's deadline. The deadline is
//     absolute, and set when the run is created.
//   - A side effect happens at most once for its key within Config.KeepKeys, unless a
//     person says otherwise: an attempt that ended in any other way than success
//     may have had its effect.
//   - A death of Bezoar costs the attempts that ran at that time nothing. An
//     instance that was running at task.MaxTogether deaths runs alone on its node
//     from then on, so that the others are cleared and the cause is found.
//   - People are told once of each failure group of a run, and of the end of a run
//     that FAILED. That is written down in the same transaction as the failure. After
//     a crash of Bezoar at the wrong moment they are told again.
//
// # Not guaranteed
//
//   - A task may run more than once: Bezoar or its machine may die. Make tasks
//     idempotent, or side effects with a key.
//   - A function runs in this process, and nothing can stop it from outside. At its
//     timeout, at the deadline and when a person cancels it, its context ends. One
//     that ignores its context goes on: its attempt is not over, it keeps its slot,
//     and the next attempt waits. The end of the process waits for it for at most 30
//     seconds and its grace. Its memory has no limit of its own. A panic is caught
//     in its own goroutine only; in another one it ends the process. What must be
//     stopped for certain is a task with a command.
//   - Each node learns by itself how long tasks take, and counts by itself how often
//     a downstream fails. That it does not work, nodes tell each other by
//     Config.Judge; without it each has circuit breakers of its own.
//   - A run is planned by one node at a time, in memory: some 100,000 instances,
//     and 64 MiB of outputs.
//
// # Speed
//
// An event costs what it changes: needs are counters, instances that wait for the
// same thing share a lane, and all that has happened meanwhile shares a batch.
package flow
