// Package queuetest is the suite that every [queue.Store] passes, unskipped,
// under a real engine:
//
//	func TestQueue(t *testing.T) {
//		queuetest.Run(t, queuetest.Harness{Open: openMine, Age: ageMine, Reopen: reopenMine})
//	}
//
// It is the store's contract in full; where the interface leaves room, it
// decides:
//
//   - Times come back in UTC, at the microsecond. Bodies come back byte for
//     byte, attributes as they were.
//   - Of standard messages, a higher priority comes first, then an earlier time
//     of becoming visible, then the order of sending.
//   - A purge and a deletion void receipts: deleting with them succeeds, changing
//     is ErrMessageGone.
//   - A dead letter keeps its ID and its time of sending; its retention counts
//     from its death, its receives from 0. In a FIFO queue its ID becomes its
//     deduplication id.
//   - Where a message is due to be set aside and its queue has no dead-letter
//     queue any more, it is received again.
//   - Copies of an unproven payload wait until the one in flight has ended, and
//     block nobody else meanwhile, however many they are; in a FIFO queue their
//     groups wait. Before a copy goes, the delivery of another one whose lease
//     is over is ended, so that what its worker died of is known. Which copy
//     goes first is not said.
//   - What was redriven and ends unworked, set aside or just removed, is dead
//     for the task that sent it. The Done and Dead of a task count on when it is
//     over.
//   - The newest letters are those with the largest Sequence: restored ones are
//     new. Of groups it is the newest death that counts.
//   - A letter in flight is neither moved nor replaced.
//   - Versions of marks are never used again, also when a mark is made anew.
//   - Resuming a task that has halted forgives its dead; pausing one that has
//     halted leaves it halted.
//   - A method called with a context that is over returns its error and changes
//     nothing.
//   - Values passed in and handed out share no memory with the store.
package queuetest
