// Package livetest is the test suite for implementations of [live.Store]. Every store
// passes all of it:
//
//	func TestLive(t *testing.T) {
//		livetest.Run(t, livetest.Harness{Open: openMine, Reopen: reopenMine, Age: ageMine})
//	}
//
// It is the complete contract of the store. Where the interface leaves room, it decides:
//
//   - Numbers of versions have no gaps, and continue after old versions were removed.
//   - Calls without an effect do not change the revision: a conflict, an error, a missing
//     object, a node's report. The end of an override does not change it either.
//   - An override that replaces another gets a new place in the order. An ID that belongs to
//     an override of another target is an error.
//   - Times are returned in UTC with microseconds, and texts unchanged, whatever they contain.
//   - What Validate, CheckOverride, CheckPresence and CheckLimit of package live reject, the
//     store rejects without a change.
//   - A method called with an ended context returns its error and changes nothing. If the
//     context ends during a write, the error is the context's, and the write may or may not
//     have happened.
//   - Values passed in and returned share no memory with the store.
package livetest
