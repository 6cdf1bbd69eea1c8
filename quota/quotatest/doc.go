// Package quotatest is the suite that every [quota.Store] passes, unskipped:
//
//	func TestQuota(t *testing.T) {
//		quotatest.Run(t, quotatest.Harness{Open: openMine, Rows: countMine, Reopen: reopenMine})
//	}
//
// It is the store's contract in full; where the interface leaves room, it
// decides:
//
//   - A batch that [quota.Batch.Validate] refuses, or whose context is over, is
//     an error and changes nothing. When the context ends during the call, the
//     batch may or may not have been added; sent again under its Seq, it has
//     been added once.
//   - Totals are as [quota.Count.Total] computes them, and stop at
//     [quota.MaxTotal].
//   - Any number of nodes may add to the same rows at once, in any order.
//   - Rows are kept at least as long as the longest Keep of those that were
//     added. Calls delete the others: faster than calls can make rows.
package quotatest
