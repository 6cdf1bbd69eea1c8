package metrics

import (
	"github.com/bezoar-dev/bezoar/internal/control/adminapi"
	"github.com/bezoar-dev/bezoar/internal/gateway/accesslog"
	"github.com/bezoar-dev/bezoar/policy/sketch"
)

// Indexes of the rankings.
const (
	byCost = iota
	byRequests
	byRefused
	byErrors
	byBytes
	byUnits
	numDims
)

func dims() [numDims]string {
	return [numDims]string{
		adminapi.ByCost, adminapi.ByRequests, adminapi.ByRefused, adminapi.ByErrors, adminapi.ByBytes, adminapi.ByUnits,
	}
}

// weights are the values of one or several requests in each ranking.
type weights [numDims]uint64

func weigh(r *accesslog.Record) (w weights) {
	w[byRequests] = 1
	if r.Attempts > 0 {
		w[byCost] = uint64(max(r.Duration-r.Waited, 0))
	}
	switch {
	case r.Rule != "":
		w[byRefused] = 1
	case r.Status >= 500:
		w[byErrors] = 1
	}
	w[byBytes] = uint64(max(r.BytesIn, 0)) + uint64(max(r.BytesOut, 0))
	w[byUnits] = uint64(max(r.Cost, 0))
	return w
}

func (w *weights) add(o *weights) {
	for i := range w {
		w[i] += o[i]
	}
}

// rows is the number of callers that a shard counts before they are added to the windows.
const rows = 128

// tally sums the weights of a shard's callers. Its index uses open addressing; half of it
// stays empty.
type tally struct {
	n     int
	rows  [rows]row
	index [2 * rows]uint8 // index in rows plus one
	rest  weights         // of callers that are not distinguished
}

type row struct {
	key    uint64
	name   sketch.Name
	weighs weights
}

// find returns the caller's row, or nil, and the row's place in the index.
func (t *tally) find(key uint64) (*row, int) {
	at := int(key % uint64(len(t.index)))
	for ; t.index[at] != 0; at = (at + 1) % len(t.index) {
		if r := &t.rows[t.index[at]-1]; r.key == key {
			return r, at
		}
	}
	return nil, at
}

// take assigns the next row to the caller. There must be a free row.
func (t *tally) take(at int, key uint64, name sketch.Name) *row {
	r := &t.rows[t.n]
	t.n++
	t.index[at] = uint8(t.n)
	*r = row{key: key, name: name}
	return r
}

func (t *tally) full() bool { return t.n == rows }

func (t *tally) reset() {
	t.n, t.rest = 0, weights{}
	clear(t.index[:])
}
