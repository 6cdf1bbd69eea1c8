// Package queuetest is the suite that every [queue.Store] passes, unskipped,
// under a real engine:
//
//	func TestQueue(t *testing.T) {
//		queuetest.Run(t, queuetest.Harness{Open: openMine, Age: ageMine, Reopen: reopenMine})
//	}
//
// It is the store's complete contract. Where the interface leaves a choice, the suite
// decides:
//
//   - Times come back in UTC, at the microsecond. Bodies come back byte for
//     byte, attributes as they were.
//   - Standard messages come by priority (higher first), then by the time of becoming
//     visible, then by the order of sending.
//   - A purge and a deletion void receipts: deleting with them succeeds, changing is
//     ErrMessageGone.
//   - A dead letter keeps its ID and its time of sending; its retention counts from its
//     death, its receives from 0. In a FIFO queue its ID becomes its deduplication id.
//   - If a message is due to be set aside and its queue no longer has a dead-letter
//     queue, it is received again.
//   - Copies of an unproven payload wait until the one in flight has ended. Meanwhile
//     they do not block other messages, however many they are; in a FIFO queue their
//     groups wait. If the lease of one copy is over, that delivery is ended before
//     another copy is delivered, so that the cause of its worker's death is known. Any
//     copy may go first.
//   - If a redriven message ends unworked (set aside or just removed), it counts as dead
//     for the task that sent it. The Done and Dead of a task count on when it is over.
//   - The newest letters are those with the largest Sequence, so restored ones are new.
//     Groups are ordered by their newest death.
//   - A letter in flight is neither moved nor replaced.
//   - Versions of marks are never used again, also when a mark is made anew.
//   - Resuming a task that has halted forgives its dead; pausing one that has halted
//     leaves it halted.
//   - A method that is called with an ended context returns the context's error and
//     changes nothing.
//   - Values passed in and handed out share no memory with the store.
package queuetest
