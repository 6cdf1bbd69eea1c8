package hints

import (
	"bytes"
	"math"
	"time"
)

// Answer is what the head of a search's answer says.
type Answer struct {
	Took         time.Duration
	TimedOut     bool
	Hits         float64 // that matched, or as many as were counted
	Shards       float64
	FailedShards float64
	Buckets      float64 // of all aggregations, as far as the head goes
	Cut          bool    // the head ends before the answer does
}

// ReadAnswer reads the head of an answer of Elasticsearch or OpenSearch, at
// most MaxHead bytes of it, in one pass and without allocating. What is not
// there is 0.
func ReadAnswer(head []byte) Answer {
	var r answerReader
	r.read(head)
	return r.answer
}

// answerReader goes through an answer. learn, if set, is told of each
// aggregation.
type answerReader struct {
	answer Answer
	learn  func(name []byte, values float64)
	exact  func(name []byte) bool // whether buckets come in the order of their size

	s     scanner
	stack [maxOpen + 1]level
}

// level is one open container.
type level struct {
	key     []byte
	array   bool
	aggs    bool // within aggregations
	buckets float64
	least   float64 // documents of the smallest bucket so far; 0: none
	other   float64 // sum_other_doc_count
	slack   float64 // doc_count_error_upper_bound
	value   float64
	has     bool // value
}

func (r *answerReader) read(head []byte) {
	r.s = scanner{text: head[:min(len(head), MaxHead)]}
	for {
		switch r.s.next() {
		case evOpen:
			r.opened()
		case evClose:
			r.closed()
			if r.s.depth == 0 {
				return
			}
		case evString, evWord, evNumber:
			r.scalar()
		case evEnd:
			r.answer.Cut = true
			for r.s.depth > 0 { // what was seen of the open ones is true
				r.s.depth--
				r.closed()
			}
			return
		}
	}
}

func (r *answerReader) opened() {
	d := r.s.depth
	up := &r.stack[d-1]
	r.stack[d] = level{key: r.s.key, array: r.s.array, aggs: up.aggs || d == 2 && (string(r.s.key) == "aggregations" || string(r.s.key) == "aggs")}
	if up.aggs && up.array && string(up.key) == "buckets" && d >= 3 {
		r.stack[d-2].buckets++
		r.answer.Buckets++
	}
}

// closed comes when depth is again that around the container.
func (r *answerReader) closed() {
	l := &r.stack[r.s.depth+1]
	if r.learn == nil || !l.aggs || l.array || len(l.key) == 0 {
		return
	}
	name := l.key
	if i := bytes.IndexByte(name, '#'); i >= 0 { // typed_keys
		name = name[i+1:]
	}
	values := l.buckets
	switch {
	case l.has && values == 0:
		values = l.value
	case values > 0 && l.other > 0:
		values++
		// No other bucket has more documents than the smallest that is shown.
		if l.least > 0 && r.exact(name) {
			values = max(values, l.buckets+math.Ceil(l.other/(l.least+l.slack)))
		}
	}
	if values > 0 {
		r.learn(name, values)
	}
}

func (r *answerReader) scalar() {
	d := r.s.depth
	if d == 0 {
		return
	}
	l, a := &r.stack[d], &r.answer
	key := string(r.s.key)
	switch {
	case d == 1 && key == "took":
		a.Took = time.Duration(min(r.s.number(), 1e9)) * time.Millisecond
	case d == 1 && key == "timed_out":
		a.TimedOut = string(r.s.value) == "true"
	case d == 2 && string(l.key) == "_shards" && key == "total":
		a.Shards = r.s.number()
	case d == 2 && string(l.key) == "_shards" && key == "failed":
		a.FailedShards = r.s.number()
	case d == 2 && string(l.key) == "hits" && key == "total", d == 3 && string(l.key) == "total" && key == "value" && string(r.stack[2].key) == "hits":
		a.Hits = r.s.number()
	case !l.aggs || l.array:
	case key == "sum_other_doc_count":
		l.other = r.s.number()
	case key == "doc_count_error_upper_bound":
		l.slack = r.s.number()
	case key == "value":
		l.value, l.has = r.s.number(), true
	case key == "doc_count" && d >= 3 && r.stack[d-1].array && string(r.stack[d-1].key) == "buckets":
		if agg, n := &r.stack[d-2], r.s.number(); n > 0 && (agg.least == 0 || n < agg.least) {
			agg.least = n
		}
	}
}
