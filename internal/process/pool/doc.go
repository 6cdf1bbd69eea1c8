// Package pool runs messages in children that live longer than one message, so that a
// child is started only once. A child takes one message at a time by a line on its stdin
// and answers by a line on its stdout. docs/pool.md describes the lines for authors of
// children.
//
// # The life of a child
//
//	        hello                 Do                     spent: Recycle, Growth
//	starting ─────────► idle ◄──────────► busy           or the pool ends
//	  ▲    │              │ │    answer     │                    │
//	  │    │ death,       │ └───────────────┼────────────────────┤
//	  │    │ too slow     │ death,          │ death, deadline,   ▼
//	  │    ▼              ▼ a stray answer  ▼ out of step     closing: its stdin is closed,
//	  └─ pause ◄──────── gone ◄─────────────┴───────────────── then TERM, grace, KILL
//
// # How an end is classified
//
// When a child dies, only the message that it held fails. The class is the one that
// [child.Runner.Do] gives to a process that ends in the same way. Other ends:
//
//   - A good exit without an answer is a bug: nothing says that the work was done.
//   - A deadline, or the end of the message's processor time, is a timeout.
//   - A garbled answer is a bug of the message, because the message made the child write
//     it. The child is ended.
//   - An answer to another message is transient: the child is out of step, and this
//     message may be the innocent one behind the culprit. The child is ended.
//   - A well-formed answer with an unknown class is a bug of the message. The child lives.
//
// A death between messages blames no message. A pause follows, which grows while the
// children of that slot do nothing but die. A start that fails counts in the same way.
// Config.Starts of these in a row, over all slots, end the pool with a [StartError], and
// so does a start that will certainly fail again (no such command, another version of
// the protocol). Waiting messages are then spawn-failed, and no message is to blame.
//
// # Guarantees
//
// An answer counts once, for the message whose id it has, and only while the child holds
// that message. When Do returns a message whose child died, no process of that child is
// left. When Run returns, no process of any child is left. Children are isolated like
// those of [child.Runner] and have the same mark, so that [Pool.Sweep] finds what a dead
// owner left. A result's Stdout and Stderr are the ends of what was written during its
// message, up to the last byte before the answer.
//
// # Limits
//
// Processes that a message starts and leaves behind run until the child ends: a child may
// have helpers of its own, and the pool cannot tell the two apart. Output that a child
// writes to stderr after its answer belongs to no message; after the next message has
// come it counts as that message's. Processor time is that of the child's own process.
// It is measured, not limited by the kernel, and only on Linux. The same holds for
// growth.
//
// A child costs 64 KiB for lines, what its tails have grown to, and six
// goroutines. A message costs one write and one read, and a look at stderr before
// and after.
package pool
