package quota

import (
	"cmp"
	"errors"
	"fmt"
	"hash/fnv"
	"log/slog"
	"time"

	"github.com/bezoar-dev/bezoar/internal/faults"
	"github.com/bezoar-dev/bezoar/policy/rate"
)

// Unit is what a quota counts.
type Unit string

// The units.
const (
	Requests Unit = "requests"
	Bytes    Unit = "bytes"
	Cost     Unit = "cost"
)

// Quota is a limit that applies to each key separately.
type Quota struct {
	Name    string        // in refusals and metrics; unique
	Unit    Unit          // "" means Requests
	Limit   int64         // so many units
	Per     time.Duration // in this time; 1 ms to 366 days
	Burst   int64         // above 0: a token bucket of this size that fills by Limit in Per; 0: a sliding window
	Buckets int           // of the sliding window: more buckets are more exact and take more memory; 1 to MaxBuckets; default 1
	Shared  bool          // counted over all nodes, through the store
}

// MaxBuckets bounds Quota.Buckets. With up to 3 buckets (1 if the quota is shared), a key
// takes no more than 64 bytes besides its own 16.
const MaxBuckets = 8

// WithDefaults returns q with every zero field set to its default.
func (q Quota) WithDefaults() Quota {
	q.Unit = cmp.Or(q.Unit, Requests)
	q.Buckets = cmp.Or(q.Buckets, 1)
	return q
}

// Validate reports every impossible field.
func (q Quota) Validate() error {
	q = q.WithDefaults()
	var errs faults.List
	errs.If(q.Name == "" || len(q.Name) > 255, "name has %d bytes, want 1 to 255", len(q.Name))
	errs.If(q.Unit != Requests && q.Unit != Bytes && q.Unit != Cost, "unit is %.80q, want %s, %s or %s", q.Unit, Requests, Bytes, Cost)
	if q.Burst != 0 {
		errs.If(q.Buckets != 1, "buckets is %d, want none: with a burst there is no window", q.Buckets)
		return errors.Join(append(errs, q.bucket().Validate())...)
	}
	errs = append(errs, q.window().Validate())
	errs.If(q.Buckets > MaxBuckets, "buckets is %d, want at most %d", q.Buckets, MaxBuckets)
	return errors.Join(errs...)
}

// ID identifies the stored counts of the quota. Quotas with the same Name, Unit, Per and
// way of counting have the same ID and share counts.
func (q Quota) ID() uint64 {
	q = q.WithDefaults()
	h := fnv.New64a()
	fmt.Fprintf(h, "%s\x00%s\x00%d\x00%d\x00%t", q.Name, q.Unit, q.Per, q.Buckets, q.Burst > 0)
	return h.Sum64()
}

func (q Quota) window() rate.Window {
	return rate.Window{Limit: q.Limit, Per: q.Per, Buckets: q.Buckets}
}

func (q Quota) bucket() rate.Bucket {
	return rate.Bucket{Limit: q.Limit, Per: q.Per, Burst: q.Burst}
}

// Key is the keyed hash of the caller or thing that is counted. The user of the package
// computes it.
type Key [16]byte

// Charge asks for N units of a quota for one key.
type Charge struct {
	Quota int     // index in [Config.Quotas], or of the last [Limiter.Update]
	Key   Key     //
	N     int64   // 0 only asks whether anything is left
	Scale float64 // multiplies the limit and the burst, which stay at least 1; 0 means 1
}

// Decision is the answer of Limiter.Admit. Its numbers are those of one quota: the one
// that refuses for the longest time, or else the one with the least room.
type Decision struct {
	Allowed    bool
	Never      bool          // of a refusal: the charge is larger than the whole limit, so waiting does not help
	Quota      int           // index; -1 if nothing was charged
	Limit      int64         // the base of Used and Remaining: the limit, or the burst of a token bucket; scaled
	Used       int64         // includes the charge if it was allowed
	Remaining  int64         // Limit - Used
	Excess     int64         // of a refusal: how far the charge would exceed the limit
	Reset      time.Duration // until the whole limit is available again, without further use
	RetryAfter time.Duration // of a refusal: until the same charge would be allowed, without further use
}

// Config says what to count and where. The zero Config has no quotas.
type Config struct {
	Quotas  []Quota
	MaxKeys int           // keys kept per quota; default 262,144, at most 16,777,216
	Store   Store         // of shared quotas; nil: shared quotas count this process alone
	Node    string        // names this process among those that share a store, for people; may be ""
	Flush   time.Duration // how often shared counts are written and read; 10 ms to 1 min, default 200 ms
	Timeout time.Duration // of one call to the store; 10 ms to 1 min, default 1 s
	Log     *slog.Logger  // nil discards
}

// WithDefaults returns c with every zero field set to its default.
func (c Config) WithDefaults() Config {
	c.MaxKeys = cmp.Or(c.MaxKeys, 1<<18)
	c.Flush = cmp.Or(c.Flush, 200*time.Millisecond)
	c.Timeout = cmp.Or(c.Timeout, time.Second)
	c.Log = cmp.Or(c.Log, slog.New(slog.DiscardHandler))
	return c
}

// Validate reports every impossible field.
func (c Config) Validate() error {
	c = c.WithDefaults()
	errs := faults.List{validate(c.Quotas)}
	errs.If(c.MaxKeys < 1 || c.MaxKeys > 1<<24, "max keys is %d, want 1 to %d", c.MaxKeys, 1<<24)
	errs.If(c.Flush < 10*time.Millisecond || c.Flush > time.Minute, "flush is %v, want 10ms to 1m", c.Flush)
	errs.If(c.Timeout < 10*time.Millisecond || c.Timeout > time.Minute, "timeout is %v, want 10ms to 1m", c.Timeout)
	errs.If(len(c.Node) > maxNode, "node has %d bytes, want at most %d", len(c.Node), maxNode)
	return errors.Join(errs...)
}

// maxNode leaves room for what tells two lives of a node apart.
const maxNode = 200

func validate(quotas []Quota) error {
	var errs faults.List
	seen := make(map[string]bool, len(quotas))
	for i, q := range quotas {
		errs.In(q.Validate(), "quota %d (%.80s)", i, q.Name)
		errs.If(seen[q.Name], "quota %d: the name %.80q is taken", i, q.Name)
		seen[q.Name] = true
	}
	return errors.Join(errs...)
}
