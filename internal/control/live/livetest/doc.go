// Package livetest is the suite that every [live.Store] passes, unskipped:
//
//	func TestLive(t *testing.T) {
//		livetest.Run(t, livetest.Harness{Open: openMine, Reopen: reopenMine, Age: ageMine})
//	}
//
// It is the store's contract in full; where the interface leaves room, it
// decides:
//
//   - Numbers of versions have no gaps, and go on where they were after older
//     versions went.
//   - What changes nothing does not change the revision either: a conflict, a
//     refusal, what is not found, presence. Nor does an override's end.
//   - An override that replaces another has a place of its own in the order. An
//     id that belongs to an override of another target is refused.
//   - Times come back in UTC, at the microsecond. Texts come back byte for byte,
//     whatever they hold.
//   - What Validate, CheckOverride, CheckPresence and CheckLimit of package live
//     refuse is refused and changes nothing.
//   - A method called with a context that is over returns its error and changes
//     nothing. When the context ends during a write, the error is the context's
//     and the write may or may not have happened.
//   - Values passed in and handed out share no memory with the store.
package livetest
