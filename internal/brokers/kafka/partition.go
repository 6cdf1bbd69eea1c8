package kafka

import (
	"time"

	"github.com/twmb/franz-go/pkg/kgo"
)

// maxWindow is the maximum number of records from the oldest unfinished one to the newest
// in a partition.
const maxWindow = 10_000

// state is the state of a held record.
type state int

const (
	waiting state = iota // for the previous record of its key, or for the end of its delay
	ready                // may be handed out
	out                  // handed out
	ended
)

// entry is one fetched record.
type entry struct {
	part     *partition
	offset   int64
	epoch    int32       // leader epoch
	record   *kgo.Record // nil after the record has ended
	size     int
	state    state
	receives int
	after    *time.Timer // runs at the end of the delay
}

// partition is an assigned partition with its held records. The source's lock guards it.
type partition struct {
	id      int32
	serial  int           // number of the assignment
	lost    chan struct{} // closed when the partition is no longer assigned
	gone    bool          // the partition is no longer assigned
	leaving bool          // no more records are handed out
	paused  bool          // fetching is paused

	window    []*entry // by offset, from the oldest unfinished record
	byOffset  map[int64]*entry
	chains    map[string][]*entry // unfinished records by key, in order
	next      int64               // offset after the last fetched record
	epoch     int32               // leader epoch of the last fetched record
	before    []span              // records that had ended before the assignment
	committed progress
	records   int // held, unfinished records
	bytes     int
	running   int // handed out records
}

func newPartition(id int32, serial int) *partition {
	return &partition{
		id: id, serial: serial, lost: make(chan struct{}), next: -1,
		byOffset: map[int64]*entry{}, chains: map[string][]*entry{},
	}
}

// add stores a record. It returns its entry if the record may be handed out.
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

// end ends a record. It returns the next record of the same key, if there is one.
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

// unchain removes an entry from the list of its key. It returns the next entry if that is
// first now.
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

// full reports whether the partition holds its share divided by parts.
func (p *partition) full(records, bytes, parts int) bool {
	return p.records*parts >= records || p.bytes*parts >= bytes || len(p.window)*parts >= maxWindow
}

// leave stops waiting records.
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

// overhead is the approximate memory per held record, beside its bytes.
const overhead = 400
