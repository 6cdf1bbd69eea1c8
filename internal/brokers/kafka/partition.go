package kafka

import (
	"time"

	"github.com/twmb/franz-go/pkg/kgo"
)

// maxWindow bounds the records of a partition from the oldest one that has not
// ended to the newest.
const maxWindow = 10_000

// The states of a record.
type state int

const (
	waiting state = iota // for the one before it in its key, or for its time
	ready                // to be handed out
	out                  // handed out
	ended
)

// entry is one record that was fetched.
type entry struct {
	part     *partition
	offset   int64
	epoch    int32       // of the partition's leader
	record   *kgo.Record // nil when it has ended
	size     int
	state    state
	receives int
	after    *time.Timer // until it may be handed out again
}

// partition is what we hold of one partition while it is ours. The source's lock
// guards it.
type partition struct {
	id      int32
	serial  int           // of the assignment
	lost    chan struct{} // closed when it is not ours any more
	gone    bool          // likewise
	leaving bool          // nothing more of it is handed out
	paused  bool          // nothing is fetched

	window    []*entry // by offset, from the oldest that has not ended
	byOffset  map[int64]*entry
	chains    map[string][]*entry // by key: those that have not ended, in their order
	next      int64               // behind the last that was fetched
	epoch     int32               // of that one's leader
	before    []span              // what had ended when it became ours
	committed progress
	records   int // held: those that have not ended
	bytes     int
	running   int // handed out
}

func newPartition(id int32, serial int) *partition {
	return &partition{
		id: id, serial: serial, lost: make(chan struct{}), next: -1,
		byOffset: map[int64]*entry{}, chains: map[string][]*entry{},
	}
}

// add takes a record in, and returns its entry if it may be handed out.
func (p *partition) add(r *kgo.Record) *entry {
	e := &entry{part: p, offset: r.Offset, epoch: r.LeaderEpoch, record: r, size: sizeOf(r)}
	p.window = append(p.window, e)
	p.byOffset[r.Offset] = e
	p.next, p.epoch = r.Offset+1, r.LeaderEpoch
	p.records++
	p.bytes += e.size
	if r.Key != nil {
		key := string(r.Key)
		chain := append(p.chains[key], e)
		p.chains[key] = chain
		if len(chain) > 1 {
			return nil
		}
	}
	e.state = ready
	return e
}

// end ends a record. It returns the one that waited behind it in its key, if there
// is one.
func (p *partition) end(e *entry) (next *entry) {
	if e.state == out {
		p.running--
	}
	e.state = ended
	p.records--
	p.bytes -= e.size
	if key := e.record.Key; key != nil {
		next = p.unchain(string(key), e)
	}
	e.record = nil
	for len(p.window) > 0 && p.window[0].state == ended {
		delete(p.byOffset, p.window[0].offset)
		p.window[0], p.window = nil, p.window[1:]
	}
	return next
}

// unchain takes an entry out of its key, and returns the next one if it is first now.
func (p *partition) unchain(key string, e *entry) *entry {
	chain := p.chains[key]
	for i := range chain {
		if chain[i] != e {
			continue
		}
		chain = append(chain[:i], chain[i+1:]...)
		if len(chain) == 0 {
			delete(p.chains, key)
			return nil
		}
		p.chains[key] = chain
		if i == 0 {
			return chain[0]
		}
		return nil
	}
	return nil
}

// full reports whether it holds its share, or parts times less.
func (p *partition) full(records, bytes, parts int) bool {
	return p.records*parts >= records || p.bytes*parts >= bytes || len(p.window)*parts >= maxWindow
}

// leave stops what waits.
func (p *partition) leave() {
	p.leaving = true
	for _, e := range p.window {
		if e.after != nil {
			e.after.Stop()
		}
		if e.state == ready {
			e.state = waiting
		}
	}
}

// lose ends it.
func (p *partition) lose() {
	p.leave()
	if !p.gone {
		p.gone = true
		close(p.lost)
	}
}

func sizeOf(r *kgo.Record) int {
	n := len(r.Key) + len(r.Value) + overhead
	for _, h := range r.Headers {
		n += len(h.Key) + len(h.Value) + overhead/4
	}
	return n
}

// overhead is about what it costs to hold a record, beside its bytes.
const overhead = 400
