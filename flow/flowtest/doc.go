// Package flowtest is the suite that every [flow.Store] passes, unskipped:
//
//	func TestFlow(t *testing.T) {
//		flowtest.Run(t, flowtest.Harness{Open: openMine, Age: ageMine, Reopen: reopenMine})
//	}
//
// It is the store's contract in full; where the interface leaves room, it
// decides:
//
//   - Times come back in UTC, at the microsecond.
//   - Instances come in byte order of their tasks' names, then by index; runs by
//     their ids, attempts by their tokens.
//   - Take gives the oldest runs first.
//   - A batch is refused as a whole with an error if any state in it is unknown,
//     any run of it is not there, or the hold is not current; then nothing
//     changes.
//   - A method called with a context that is over returns its error and changes
//     nothing.
//   - Values passed in and handed out share no memory with the store, except for
//     definitions and specs, which nobody changes.
package flowtest
