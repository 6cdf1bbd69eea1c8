// Package flowtest is the suite that every [flow.Store] passes, unskipped:
//
//	func TestFlow(t *testing.T) {
//		flowtest.Run(t, flowtest.Harness{Open: openMine, Age: ageMine, Reopen: reopenMine})
//	}
//
// It is the store's complete contract. Where the interface leaves a choice, the suite
// decides:
//
//   - Times come back in UTC, at the microsecond.
//   - Instances come in byte order of their tasks' names, then by index; runs by
//     their ids, attempts by their tokens.
//   - Take gives the oldest runs first.
//   - A batch is refused as a whole with an error, and changes nothing, if any state in
//     it is unknown, any run of it does not exist, or the hold is not current.
//   - A method that is called with an ended context returns the context's error and
//     changes nothing.
//   - Values passed in and handed out share no memory with the store, except for
//     definitions and specs, which nobody changes.
package flowtest
