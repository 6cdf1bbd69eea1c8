// Package worker takes messages from a queue and runs a handler on each: an isolated
// child process, or a Go function. It finds out what failed and why, and loses no
// message, however it dies.
//
// A message's way through a worker:
//
//	Receive ──► admit ──► written down ──► run ──► result ──► reported ──► let go
//	   ▲          │          │ (synced)     │                    │
//	   │          │ its      │              │ lease lost:        ├─► done: deleted, in batches
//	   │ paused,  │ payload  │ drained:     │ stopped, told      ├─► failed: the queue judges, or
//	   │ breaker  │ is       │ given back   │ nobody             │    the worker: again later, or dead
//	   │ open     ▼ convicted▼              ▼                    └─► interrupted: given back, free
//	 waits     set aside   visible again  somebody else's
//
// # How it ended
//
// The class of a [Command]'s end comes from its exit code (0 done, 75 transient, 65
// invalid, others bug), from a signal (crash), from the kernel's memory limit (oom), or
// from the worker's Timeout (timeout). The command can report more on descriptor 3: see
// docs/work.md. A handler in this process returns nil or an error. An error is a bug,
// unless it is [Transient], [Throttled], [Outage], [Invalid] or [InvalidRows]; a panic is
// a crash. Package crash distinguishes failures.
//
// # Decisions
//
// Queues of Bezoar decide about messages themselves ([Direct], and [SQS] of its endpoint,
// which the worker recognises by an attribute that only Bezoar has): the worker reports
// outcomes. For all other queues the worker decides, by the same policies. It convicts
// payloads that kill, ends retries early if the same failure repeats, pauses if many
// payloads fail in the same way, and shares the breaker of a downstream with all workers
// of the same Config.Shared. Letters go to the dead-letter queue of the queue's
// RedrivePolicy. Without one they stay, and the worker says so.
//
// # Guarantees
//
// With Config.State, the worker writes each start to the disk before the message runs.
// After a death, the next worker with that state kills remaining processes and blames
// exactly the running messages: a message that ran alone gets a strike, several become
// suspects, and all of them run alone from then on. A death during a drain blames no
// message. After the machine's death, messages that were to start within milliseconds
// count as running too.
//
// The worker extends a lease while it holds the message. When a lease is lost, it stops
// the run and reports nothing. Messages of one group of a FIFO queue run one after
// another; if one is not done, the worker gives the later ones back before it.
//
// When Run is to end, the worker receives nothing more and lets running messages go on
// for Config.Drain; then every message is done or visible again. If a command cannot
// start, the worker stops with a [SpawnError] and blames no message. If the first runs
// of a command all fail before they read their message, it stops with a [CommandError].
//
// # Not guaranteed
//
// Delivery is at least once. A handler in this process cannot be stopped: its
// Timeout is cooperative, and if it ignores its context its message stays held.
// Bad rows of a message that fails after they were set aside may be set aside
// twice on queues that do not recognise copies. If the worker stops during a
// receive, messages may stay invisible until their leases end, on endpoints that do not
// notice the closed connection. If the worker decides, an excused attempt still counts
// as a receive for the queue's own limit.
//
// # Bounds
//
// At most Config.Concurrency messages run. The worker receives only as many as it has
// free places. If messages take only a few milliseconds, it holds at most 20 more, which
// start within 20 ms. It keeps the last 64 KiB of each output stream of a child. A message runs at most 100 times in
// one delivery to find its bad rows, of which 1,000 become letters. The facts about
// payloads are bounded: see internal/judge.
//
// # The life of a message that kills its handler
//
//  1. worker.(*Worker) receives as many messages as it has free slots, and extends each
//     one's lease while it runs.
//  2. Before anything runs internal/state/startlog has written the start down and synced it.
//     Then child.(*Runner).Do forks into a session, a process group and kernel groups of
//     the slot's own, and hands the body over once the limits hold.
//  3. The handler dies. Its group is killed before its leader is reaped, then what left
//     the group; the class comes from the wait status, from the slot's own count of out-
//     of-memory kills, or from our own deadline, never from what the child wrote about
//     itself.
//  4. crash.OfRun reads the last words: type, innermost own frame, fingerprint. The
//     worker reports class, fingerprint and last lines: to Bezoar's queue, which judges as
//     above, or to a judge.Local, which asks the same questions for Amazon's and others',
//     and sets aside by sending to their dead-letter queue.
//  5. Had the worker itself been killed: the next one in its folder kills what
//     processes are left, finds the starts that have no end, and blames these, alone or in
//     company, and no message that was merely received.
package worker
