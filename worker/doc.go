// Package worker takes messages from a queue and runs a handler on each: a child
// process that nothing can escape from, or a Go function. It finds out what
// failed and whose fault it was, and loses nothing, however it dies.
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
// A [Command] says it by its exit code: 0 done, 75 transient, 65 invalid, others
// bug; by a signal: crash; the kernel by its memory limit: oom; the worker by its
// Timeout: timeout. On descriptor 3 it may say more: see docs/work.md. A handler
// in this process returns nil, or an error: any one is a bug, [Transient],
// [Throttled], [Outage], [Invalid] and [InvalidRows] say otherwise; a panic is a
// crash. Package crash tells failures apart.
//
// # Who judges
//
// Queues of Bezoar do ([Direct], and [SQS] of its endpoint, which is recognised
// by an attribute that only it has): the worker reports outcomes. For all
// others the worker judges, by the same policies: payloads that kill are
// convicted, the same failure again ends early, many payloads that fail alike
// pause everything, a downstream's breaker holds back all workers that share
// Config.Shared. Letters go to the dead-letter queue of the queue's
// RedrivePolicy. Without one they stay, and the worker says so.
//
// # Guarantees
//
// What is about to run is on the disk before it begins, if there is a
// Config.State. After a death, the next worker there kills the processes that
// were left and blames exactly what was running: alone it is a strike, in company
// a suspicion, and either runs alone from then on. A death during a drain
// blames nobody. After the machine's death, what was due within milliseconds
// counts as running too.
//
// A lease is extended while its message is here. When it is lost the run is
// stopped and nothing is reported. Messages of one group of a FIFO queue run one
// after another; when one is not done, those behind it are given back before it.
//
// When Run is to end, nothing more is received, what runs may go on for
// Config.Drain, and every message is done or visible again. A command that
// cannot be started stops the worker: a [SpawnError], and no message is to blame.
// So does one whose first runs all fail before they read their message: a
// [CommandError].
//
// # Not guaranteed
//
// Delivery is at least once. A handler in this process cannot be stopped: its
// Timeout is cooperative, and if it ignores its context its message stays held.
// Bad rows of a message that fails after they were set aside may be set aside
// twice on queues that do not recognise copies. A receive that is under way
// when the worker stops may take messages with it, until their leases end, on
// endpoints that do not notice. Where the worker judges, an attempt that is
// excused still counts as a receive for the queue's own limit.
//
// # Bounds
//
// At most Config.Concurrency messages run. No more are received than there are
// free places, except while they take a few milliseconds each: then as many more
// as have their turn within 20 ms, at most 20. Of what a child writes
// the ends are kept, 64 KiB of each stream. A message runs at most 100 times in
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
