// Package ledgertest is the suite that every [ledger.Store] passes, unskipped:
//
//	func TestStore(t *testing.T) {
//		ledgertest.Run(t, ledgertest.Harness{Open: openMine, Reopen: reopenMine})
//	}
//
// It is the store's complete contract. Where the interface leaves a choice, the suite
// decides:
//
//   - Ties are broken by id, ascending. When there is no room for a new letter, the
//     letter that Letters lists last is dropped, never the new one.
//   - A merged letter also keeps its Shape and Route: they belong to the work.
//   - Times come back in UTC, at the microsecond. Strings and bodies come back
//     byte for byte, whatever they hold.
//   - Ids are 1 to 64 printable ASCII characters; a fleet's name is at most 255 bytes of
//     Unicode without NUL; a letter has a fingerprint; classes have a name; numbers are
//     finite; years are 1 to 9999. Anything else is refused and changes nothing. Looking
//     up an invalid id returns ErrNotFound.
//   - A query with a Limit above 1,000 or with a negative number is refused.
//   - A method that is called with an ended context returns the context's error and
//     changes nothing. When the context ends during a write, the error is the context's
//     and the write may or may not have happened.
//   - Values passed in and handed out share no memory with the store.
package ledgertest
