package quota

import (
	"cmp"
	"context"
	"errors"
	"slices"
	"time"

	"github.com/bezoar-dev/bezoar/internal/faults"
)

// Store adds up the counts of all nodes. It is safe for concurrent use and respects ctx.
// The suite in quota/quotatest defines what an implementation must do.
type Store interface {
	// AddCounts adds all counts of b, or none, and returns the totals after that. A batch
	// whose Seq is not above the last one of its node was added before: AddCounts then
	// only reads the totals. It also deletes expired rows, a bounded number at a time. A
	// batch without counts asks for the clock.
	AddCounts(ctx context.Context, b Batch) (Totals, error)
}

// Bounds of batches.
const (
	MaxBatch = 4096    // counts
	MaxCount = 1 << 60 // of one
	MaxTotal = 1 << 62 // where totals stop growing
	MaxKeep  = 3 * 366 * 24 * time.Hour
	// KeepNode is how long a store remembers the last Seq of a silent node.
	KeepNode = time.Hour
)

// Batch holds the counts of one node since its last batch.
type Batch struct {
	Node   string // one life of one node: 1 to 255 bytes
	Seq    int64  // 1, 2, … in the order of creation
	Counts []Count
}

// Row identifies a stored total.
type Row struct {
	Quota  uint64 // see [Quota.ID]
	Key    Key
	Bucket int64 // number of the bucket of the window; 0 for a token bucket
}

// Count adds to one row. All counts of a batch have different rows.
type Count struct {
	Row

	Floor int64         // the total becomes max(total, Floor) + N; a missing row counts as 0
	N     int64         // 0 only reads: it creates no row and ignores Floor
	Keep  time.Duration // the row is kept for at least this long from now
}

// Totals is the answer to a batch.
type Totals struct {
	N   []int64   // one for each count, in their order
	Now time.Time // the clock that all nodes use
}

// Compare orders rows. A store that locks several rows locks them in this order.
func (r Row) Compare(o Row) int {
	return cmp.Or(cmp.Compare(int64(r.Quota), int64(o.Quota)), slices.Compare(r.Key[:], o.Key[:]), cmp.Compare(r.Bucket, o.Bucket))
}

// Adds reports whether b changes any row.
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

// Until returns when a row that is used at now may be deleted, in microseconds since 1970.
// It is rounded up a little, so that it does not change with every use.
func (c Count) Until(now int64) int64 {
	grain := c.Grain()
	return (now + c.Keep.Microseconds() + grain - 1) / grain * grain
}

// Grain returns the unit of Until: Until is a multiple of it.
func (c Count) Grain() int64 { return max(c.Keep.Microseconds()/4, 1) }

// Total returns the total of a row after c, from the total before.
func (c Count) Total(total int64) int64 {
	if c.N == 0 {
		return total
	}
	return min(max(total, c.Floor)+c.N, MaxTotal)
}
