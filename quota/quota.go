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

// Quota is a limit that every key has for itself.
type Quota struct {
	Name    string        // in refusals and metrics; unique
	Unit    Unit          // "" means Requests
	Limit   int64         // so much …
	Per     time.Duration // … in so long; 1 ms to 366 days
	Burst   int64         // above 0: a token bucket of this size that fills at Limit per Per; 0: a sliding window
	Buckets int           // of the sliding window: more count finer, and take more memory; 1 to MaxBuckets; default 1
	Shared  bool          // counted over all nodes, through the store
}

// MaxBuckets bounds [Quota.Buckets]. Up to 3, of a shared quota 1, a key takes
// no more than 64 bytes beside its own 16.
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

// ID is under what the quota's counts are stored. Quotas with the same ID share
// them: Name, Unit, Per and the way of counting are the same.
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

// Key is the keyed hash of who is counted, computed by the caller.
type Key [16]byte

// Charge asks for N of a quota for one key.
type Charge struct {
	Quota int     // index in [Config.Quotas], or of the last [Limiter.Update]
	Key   Key     //
	N     int64   // 0 asks whether anything is left, and counts nothing
	Scale float64 // multiplies the limit and the burst, which stay 1 or more; 0 means 1
}

// Decision answers [Limiter.Admit]. Its numbers are those of one quota: of a
// refusal, the one that refuses for the longest; else the tightest.
type Decision struct {
	Allowed    bool
	Never      bool          // of a refusal: the charge is above the whole limit, no waiting helps
	Quota      int           // index; -1 when nothing was charged
	Limit      int64         // what Used and Remaining are out of: the limit, of a token bucket its burst; scaled
	Used       int64         // of the limit; with the charge when allowed
	Remaining  int64         // of the limit
	Excess     int64         // of a refusal: by how much the charge would have gone over
	Reset      time.Duration // until all of the limit is there again, if nothing else comes
	RetryAfter time.Duration // of a refusal: until the same would be allowed, if nothing else comes
}

// Config says what to count and where. The zero Config has no quotas.
type Config struct {
	Quotas  []Quota
	MaxKeys int           // keys kept per quota; default 262,144, at most 16,777,216
	Store   Store         // of shared quotas; nil: those count this process alone
	Node    string        // tells the processes that share a store apart, for people; may be ""
	Flush   time.Duration // how often shared counts are written and read; 10 ms to 1 min, default 200 ms
	Timeout time.Duration // of one call of the store; 10 ms to 1 min, default 1 s
	Log     *slog.Logger  // nil: none
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
	errs := []error{validate(c.Quotas)}
	if c.MaxKeys < 1 || c.MaxKeys > 1<<24 {
		errs = append(errs, fmt.Errorf("max keys is %d, want 1 to %d", c.MaxKeys, 1<<24))
	}
	if c.Flush < 10*time.Millisecond || c.Flush > time.Minute {
		errs = append(errs, fmt.Errorf("flush is %v, want 10ms to 1m", c.Flush))
	}
	if c.Timeout < 10*time.Millisecond || c.Timeout > time.Minute {
		errs = append(errs, fmt.Errorf("timeout is %v, want 10ms to 1m", c.Timeout))
	}
	if len(c.Node) > maxNode {
		errs = append(errs, fmt.Errorf("node has %d bytes, want at most %d", len(c.Node), maxNode))
	}
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
