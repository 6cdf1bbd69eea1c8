package sqlite

import (
	"slices"

	"github.com/bezoar-dev/bezoar"
)

// cache is state that the file's only writer keeps in memory, so that ordinary messages
// need no lookup in tables without entries for them. It belongs to the goroutine that
// commits. It is filled when the file is opened, and is exact: the changes of a failed
// transaction are undone.
type cache struct {
	byID   map[int64]definition // queues, as read since the last change
	byName map[string]definition
	bucket map[int64]definition

	cases    map[caseKey]struct{} // payloads that have a case
	known    map[int64]int        // number of them per queue
	flying   flights              // leased messages; the table shows whether the lease is still valid
	vanished flights              // those whose worker is gone
	parked   map[payloadKey]int   // messages, or groups, that wait for a copy
	waiting  map[int64]int        // number of them per bucket

	log    []step          // of the current transaction
	sizes  map[int64]int64 // growth of each bucket in it
	bodies []int64         // bodies that it removes
}

type caseKey struct {
	queue   int64
	payload bezoar.Fingerprint
}

type payloadKey struct {
	bucket  int64
	payload bezoar.Fingerprint
}

// flights maps payloads to messages. Most have only one message, which is stored without a
// pointer to spare the garbage collector.
type flights struct {
	one  map[payloadKey]int64
	more map[payloadKey][]int64
}

func newFlights() flights {
	return flights{make(map[payloadKey]int64), make(map[payloadKey][]int64)}
}

// step is one change that can be undone.
type step struct {
	kind stepKind
	key  payloadKey // for a case, its bucket is the queue's ID
	n    int64      // a message, or a number
}

type stepKind uint8

const (
	flew stepKind = iota
	landed
	missed
	found
	parked
	opened // a case
	closed
)

// maxDefinitions is the maximum number of cached queues.
const maxDefinitions = 4096

func newCache() *cache {
	return &cache{
		byID: make(map[int64]definition), byName: make(map[string]definition), bucket: make(map[int64]definition),
		cases: make(map[caseKey]struct{}), known: make(map[int64]int),
		flying: newFlights(), vanished: newFlights(), parked: make(map[payloadKey]int), waiting: make(map[int64]int), sizes: make(map[int64]int64),
	}
}

func (m *cache) remember(d definition) {
	if len(m.byID) >= maxDefinitions {
		m.forget()
	}
	m.byID[d.ID], m.byName[d.Name], m.bucket[d.bucket] = d, d, d
}

// forget makes definitions be read again.
func (m *cache) forget() {
	clear(m.byID)
	clear(m.byName)
	clear(m.bucket)
}

// ended is called at the end of a transaction.
func (m *cache) ended(kept bool) {
	if !kept {
		m.forget()
		for _, s := range slices.Backward(m.log) {
			m.undo(s)
		}
	}
	m.log = m.log[:0]
	clear(m.sizes)
	m.bodies = m.bodies[:0]
}

func (m *cache) undo(s step) {
	switch s.kind {
	case flew:
		m.flying.remove(s.key, s.n)
	case landed:
		m.flying.add(s.key, s.n)
	case missed:
		m.vanished.remove(s.key, s.n)
	case found:
		m.vanished.add(s.key, s.n)
	case parked:
		m.count(s.key, -s.n)
	case opened:
		m.forgetCase(caseKey{s.key.bucket, s.key.payload})
	case closed:
		m.rememberCase(caseKey{s.key.bucket, s.key.payload})
	}
}

func (f flights) add(key payloadKey, seq int64) bool {
	one, ok := f.one[key]
	switch {
	case !ok:
		f.one[key] = seq
	case one == seq || slices.Contains(f.more[key], seq):
		return false
	default:
		f.more[key] = append(f.more[key], seq)
	}
	return true
}

func (f flights) remove(key payloadKey, seq int64) bool {
	one, ok := f.one[key]
	if !ok {
		return false
	}
	more := f.more[key]
	i := slices.Index(more, seq)
	switch {
	case i >= 0:
		more = slices.Delete(more, i, i+1)
	case one != seq:
		return false
	case len(more) == 0:
		delete(f.one, key)
		return true
	default:
		f.one[key], more = more[len(more)-1], more[:len(more)-1]
	}
	if f.more[key] = more; len(more) == 0 {
		delete(f.more, key)
	}
	return true
}

// of returns the messages with a payload, in no particular order.
func (f flights) of(key payloadKey) []int64 {
	one, ok := f.one[key]
	if !ok {
		return nil
	}
	return append([]int64{one}, f.more[key]...)
}

func (m *cache) count(key payloadKey, n int64) {
	if m.parked[key] += int(n); m.parked[key] <= 0 {
		delete(m.parked, key)
	}
	if m.waiting[key.bucket] += int(n); m.waiting[key.bucket] <= 0 {
		delete(m.waiting, key.bucket)
	}
}

func (m *cache) rememberCase(key caseKey) {
	m.cases[key] = struct{}{}
	m.known[key.queue]++
}

func (m *cache) forgetCase(key caseKey) {
	delete(m.cases, key)
	if m.known[key.queue]--; m.known[key.queue] == 0 {
		delete(m.known, key.queue)
	}
}

// fly records whether a message is leased, and whether its worker is gone.
func (m *cache) fly(key payloadKey, seq int64, leased, gone bool) {
	switch {
	case leased && m.flying.add(key, seq):
		m.log = append(m.log, step{flew, key, seq})
	case !leased && m.flying.remove(key, seq):
		m.log = append(m.log, step{landed, key, seq})
	}
	switch {
	case leased && gone && m.vanished.add(key, seq):
		m.log = append(m.log, step{missed, key, seq})
	case !(leased && gone) && len(m.vanished.one) > 0 && m.vanished.remove(key, seq):
		m.log = append(m.log, step{found, key, seq})
	}
}

// park changes the number of waiting messages.
func (m *cache) park(key payloadKey, n int64) {
	m.count(key, n)
	m.log = append(m.log, step{parked, key, n})
}

func (m *cache) open(key caseKey) {
	if _, ok := m.cases[key]; !ok {
		m.rememberCase(key)
		m.log = append(m.log, step{opened, payloadKey{key.queue, key.payload}, 0})
	}
}

func (m *cache) close(key caseKey) {
	if _, ok := m.cases[key]; ok {
		m.forgetCase(key)
		m.log = append(m.log, step{closed, payloadKey{key.queue, key.payload}, 0})
	}
}
