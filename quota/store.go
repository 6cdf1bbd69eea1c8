package quota

import (
	"cmp"
	"context"
	"errors"
	"slices"
	"time"

	"github.com/bezoar-dev/bezoar/internal/faults"
)

// Store adds up what all nodes count. It is safe for concurrent use and honours
// ctx. The suite in quota/quotatest says exactly what an implementation owes.
type Store interface {
	// AddCounts adds all counts of b, or none, and returns the totals
	// afterwards. A batch that is sent again, or late, under a Seq that is not
	// above the node's last one is not added again; the totals are read all the
	// same. Rows whose time is over are deleted by the way, a bounded number at
	// a time. A batch without counts is welcome: it asks for the clock.
	AddCounts(ctx context.Context, b Batch) (Totals, error)
}

// Bounds of batches.
const (
	MaxBatch = 4096    // counts
	MaxCount = 1 << 60 // of one
	MaxTotal = 1 << 62 // where totals stop growing
	MaxKeep  = 3 * 366 * 24 * time.Hour
	// KeepNode is for how long a store knows the last Seq of a node that is
	// silent.
	KeepNode = time.Hour
)

// Batch is what one node has counted since the last one.
type Batch struct {
	Node   string // one life of one node: 1 to 255 bytes
	Seq    int64  // 1, 2, … in the order in which the node made them
	Counts []Count
}

// Row is what a count adds to.
type Row struct {
	Quota  uint64 // see [Quota.ID]
	Key    Key
	Bucket int64 // number of the window's bucket; 0 of a token bucket
}

// Count adds to one row. Each of a batch is for a row of its own.
type Count struct {
	Row

	Floor int64         // the total becomes max(total, Floor) + N; a row that is not there is 0
	N     int64         // 0 only reads: it makes no row, and the Floor does nothing
	Keep  time.Duration // for how long, from now, the row is kept at least
}

// Totals answers a batch.
type Totals struct {
	N   []int64   // one for each count, in their order
	Now time.Time // the clock that all nodes go by
}

// Compare orders rows: whoever locks several does so in this order.
func (r Row) Compare(o Row) int {
	return cmp.Or(cmp.Compare(int64(r.Quota), int64(o.Quota)), slices.Compare(r.Key[:], o.Key[:]), cmp.Compare(r.Bucket, o.Bucket))
}

// Adds reports whether b does more than read.
func (b Batch) Adds() bool {
	return slices.ContainsFunc(b.Counts, func(c Count) bool { return c.N > 0 })
}

// Validate reports the first fault of each kind.
func (b Batch) Validate() error {
	var errs faults.List
	errs.If(b.Node == "" || len(b.Node) > 255, "node has %d bytes, want 1 to 255", len(b.Node))
	errs.If(b.Seq < 1, "seq is %d, want 1 or more", b.Seq)
	errs.If(len(b.Counts) > MaxBatch, "%d counts, want at most %d", len(b.Counts), MaxBatch)
	seen := make(map[Row]struct{}, len(b.Counts))
	for i, c := range b.Counts {
		if c.N < 0 || c.N > MaxCount || c.Floor < 0 || c.Floor > MaxTotal || c.Keep < 0 || c.Keep > MaxKeep {
			errs.Add("count %d: n is %d, floor %d, keep %v; want 0 to %d, %d, %v", i, c.N, c.Floor, c.Keep, int64(MaxCount), int64(MaxTotal), MaxKeep)
			break
		}
		if _, twice := seen[c.Row]; twice {
			errs.Add("count %d: row %v is there twice", i, c.Row)
			break
		}
		seen[c.Row] = struct{}{}
	}
	return errors.Join(errs...)
}

// Until is when a row may go that is used at now, in microseconds since 1970.
// It is rounded up a little, so that it does not change with every use.
func (c Count) Until(now int64) int64 {
	grain := c.Grain()
	return (now + c.Keep.Microseconds() + grain - 1) / grain * grain
}

// Grain is what Until is a multiple of.
func (c Count) Grain() int64 { return max(c.Keep.Microseconds()/4, 1) }

// Total is what a row holds after c, if it held total before.
func (c Count) Total(total int64) int64 {
	if c.N == 0 {
		return total
	}
	return min(max(total, c.Floor)+c.N, MaxTotal)
}
