// Package pool runs messages in children that live longer than one. A child costs
// its start once, and takes one message at a time by a line on its stdin and a
// line on its stdout; docs/pool.md describes the lines for who writes one.
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
// # Whose doing an end was
//
// A death costs the one message that the child held, by how it died: what
// [child.Runner.Do] says of a process that ends so. A good exit without an answer
// is a bug: nothing says that the work was done. A deadline, or the message's
// processor time, is a timeout. A garbled answer is the message's bug, since it
// made the child say that. An answer to something else is transient: it tells
// that the child is out of step, and nothing about this message, which may be the
// innocent one behind the culprit. Both end the child, because nothing that it
// says can be believed any more; an answer that is well-formed and impossible (a
// class that there is not) does not.
//
// A death between messages blames nobody, and is followed by a pause that grows
// while a slot's children do nothing else. So does a start that fails. Config.Starts
// of these in a row, from all slots, or one that will fail again for certain (no
// such command, another version of the protocol), end the pool with a
// [StartError]: what waits is spawn-failed, and no message is to blame.
//
// # Guarantees
//
// An answer counts for the message whose id it has, while the child holds that
// message, and once. When Do returns a message that cost its child the life,
// nothing of that child is left. When Run returns nothing is left of any.
// Children are isolated as those of [child.Runner] are, with the same mark, so
// that [Pool.Sweep] finds what a dead owner left. A result's Stdout and Stderr are
// the ends of what was written during its message, to the last byte before the
// answer.
//
// # Limits
//
// What a message leaves running in a child that lives on, lives on as well: a
// child may have helpers, and nobody can tell them apart. It ends with the child.
// What a child writes to stderr after its answer is nobody's, and once the next
// message has come it is that one's. Processor time is that of the child's own process, looked at
// rather than limited by the kernel, and on Linux only, as its growth is.
//
// A child costs 64 KiB for lines, what its tails have grown to, and six
// goroutines. A message costs one write and one read, and a look at stderr before
// and after.
package pool
