package hints

import (
	"bytes"
	"context"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/bezoar-dev/bezoar/guard"
)

// MaxNotes bounds the answers of one Learner whose heads are kept at once, each
// in 128 KiB. Of those beyond nothing is learned.
const MaxNotes = 32

// Note keeps the head of an answer while it passes. It belongs to one goroutine,
// from Note to Submit or Drop.
type Note struct {
	Path        string // of the request
	Body        []byte // of the request; copied by Submit, when something can be learned from it
	Status      int    // of the answer
	Packing     Packing
	Predicted   float64
	Observation guard.Observation // what is told when the answer has been read

	index       string // cloned
	kept, asked int
	head        [MaxHead]byte
	body        [maxBody]byte
}

// Write keeps as much of p as there is room for, and never fails.
func (n *Note) Write(p []byte) (int, error) {
	n.kept += copy(n.head[n.kept:], p)
	return len(p), nil
}

// Reset forgets what was written: the answer begins again.
func (n *Note) Reset() { n.kept = 0 }

// noteQueue holds the notes that wait to be read.
type noteQueue struct {
	pool  sync.Pool // of *Note
	out   atomic.Int32
	notes chan *Note // never full: it has room for all that are out

	read, missed atomic.Int64
	unpacker     unpacker // what follows belongs to Run
	owed         time.Duration
}

func (d *noteQueue) init() {
	d.pool.New = func() any { return new(Note) }
	d.notes = make(chan *Note, MaxNotes)
}

// Note returns an empty one, or nil when so many are in use that this answer is
// better left alone. Submit or Drop is owed.
func (l *Learner) Note() *Note {
	if l.out.Add(1) > MaxNotes {
		l.out.Add(-1)
		l.missed.Add(1)
		return nil
	}
	return l.pool.Get().(*Note)
}

// Submit hands in a note of an answer that is complete. It does not wait, and
// keeps nothing of the request but copies.
func (l *Learner) Submit(n *Note) {
	n.index, n.asked = "", 0
	if index := searched(n.Path); n.Status == 200 && l.cfg.Store != nil && index != "" && len(n.Body) <= maxBody && aggregates(n.Body) {
		n.index, n.asked = strings.Clone(index), copy(n.body[:], n.Body)
	}
	o := &n.Observation
	o.Caller, o.Request, o.Text = strings.Clone(o.Caller), strings.Clone(o.Request), bytes.Clone(o.Text)
	n.Path, n.Body = "", nil
	l.notes <- n
}

func aggregates(body []byte) bool {
	return bytes.Contains(body, []byte(`"aggs"`)) || bytes.Contains(body, []byte(`"aggregations"`))
}

// Drop gives a note back. What it would have told is told without.
func (l *Learner) Drop(n *Note) {
	n.Path, n.Body, n.index, n.kept, n.Observation = "", nil, "", 0, guard.Observation{}
	l.pool.Put(n)
	l.out.Add(-1)
}

// searched is the index that a plain search is about, or "".
func searched(path string) string {
	index, ok := strings.CutSuffix(path, "/_search")
	if index = strings.TrimPrefix(index, "/"); !ok || !single(index) {
		return ""
	}
	return index
}

// look reads a note, and says how long that took.
func (l *Learner) look(n *Note) time.Duration {
	began := time.Now()
	if head, ok := l.unpacker.text(n.Packing, n.head[:n.kept]); ok {
		n.Observation.Told = l.says(n, head)
		l.read.Add(1)
	} else {
		l.missed.Add(1)
	}
	if l.cfg.Tell != nil {
		l.cfg.Tell(n.Observation)
	}
	l.Drop(n)
	return time.Since(began)
}

// says is what an answer says of itself, and learns from it. Of one that went
// wrong it is only whether the backend has protected itself.
func (l *Learner) says(n *Note, head []byte) *guard.Told {
	const breaker = "circuit_breaking_exception"
	if n.Status != 200 {
		if n.Status < 400 || !bytes.Contains(head, []byte(breaker)) {
			return nil
		}
		return &guard.Told{Tripped: true}
	}
	a := l.Observe(Seen{Index: n.index, Body: n.body[:n.asked], Answer: head, Shape: n.Observation.Shape, Predicted: n.Predicted})
	if !a.Timed { // not the answer to a search
		return nil
	}
	return &guard.Told{
		Took: a.Took, Buckets: a.Buckets, TimedOut: a.TimedOut, Partial: a.FailedShards > 0,
		Tripped: a.FailedShards > 0 && bytes.Contains(head, []byte(breaker)),
	}
}

// rest keeps reading to a tenth of one core.
func (l *Learner) rest(ctx context.Context, took time.Duration) {
	const (
		share = 10
		least = time.Millisecond
		most  = 100 * time.Millisecond
	)
	if l.owed += (share - 1) * took; l.owed < least {
		return
	}
	t := time.NewTimer(min(l.owed, most))
	defer t.Stop()
	l.owed = 0
	select {
	case <-ctx.Done():
	case <-t.C:
	}
}

// finish reads what waits, so that nothing that was submitted goes untold.
func (l *Learner) finish() {
	for {
		select {
		case n := <-l.notes:
			l.look(n)
		default:
			return
		}
	}
}

// LearnStatus is how learning goes.
type LearnStatus struct {
	Read   int64     // answers
	Missed int64     // answers that there was no time for, or that could not be unpacked
	Fields int       // of which a lower bound is known
	Told   time.Time // when the Store was last told
}

// Status says how learning goes.
func (l *Learner) Status() LearnStatus {
	l.mu.Lock()
	defer l.mu.Unlock()
	return LearnStatus{Read: l.read.Load(), Missed: l.missed.Load(), Fields: len(l.fields), Told: l.told}
}
