package quota

import (
	"context"
	"time"
)

// Store adds up what all nodes count. The suite in quota/quotatest says exactly
// what an implementation owes.
type Store interface {
	// AddCounts adds all counts of b, or none, and returns the totals
	// afterwards. What a node sends again, under a Seq that has been added or
	// is older, is not added again; the totals are read all the same. Rows
	// whose time is over are deleted by the way, a bounded number at a time.
	AddCounts(ctx context.Context, b Batch) (Totals, error)
}

// MaxBatch bounds [Batch.Counts].
const MaxBatch = 4096

// Batch is what one node has counted since the last one.
type Batch struct {
	Node   string // one life of one node: 1 to 255 bytes
	Seq    int64  // 1, 2, … in the order in which the node made them
	Counts []Count
}

// Count adds to one row. Each of a batch is for a row of its own.
type Count struct {
	Quota  uint64 // which quota: see [Quota.ID]
	Key    Key
	Bucket int64         // number of the window's bucket; 0 of a token bucket
	Floor  int64         // the total becomes max(total, Floor) + N; a row that is not there is 0
	N      int64         // 0 only reads: it makes no row
	Keep   time.Duration // for how long, from now, the row is kept at least
}

// Totals answers a batch.
type Totals struct {
	N   []int64   // one for each count, in their order
	Now time.Time // the clock that all nodes go by
}
