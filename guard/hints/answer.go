package hints

import (
	"bytes"
	"math"
	"time"
)

// Answer is what the head of a search's answer says.
type Answer struct {
	Timed        bool // it says how long it took
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

// answerReader goes through an answer. learn, if set, is told how many values
// the aggregations of asked have shown, at least.
type answerReader struct {
	answer Answer
	asked  *request
	learn  func(a *asked, values float64)

	s     scanner
	base  int // containers around the answer: that of an asynchronous search lies in another
	stack [maxOpen + 1]level
}

// place is what an open container of an answer is. Only what lies where the
// answer to an aggregation lies is one: documents, names of buckets and what
// callers have sent along (meta) look as their writers like.
type place uint8

const (
	placeOther   place = iota
	placeList          // aggregations
	placeAgg           // the answer to one
	placeBuckets       // its buckets
	placeBucket        // one of them
)

// level is one open container.
type level struct {
	key     []byte
	array   bool
	aggs    bool // within aggregations
	is      place
	agg     int     // of asked
	buckets float64 // what follows is of an answer to an aggregation
	least   float64 // documents of the smallest bucket so far; 0: none
	other   float64 // sum_other_doc_count
	slack   float64 // doc_count_error_upper_bound
	bounded bool    // slack
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
	up, l := &r.stack[d-1], &r.stack[d]
	*l = level{key: r.s.key, array: r.s.array, aggs: up.aggs || d == 2+r.base && isAggs(r.s.key)}
	if d == 2 && r.asked == nil && string(r.s.key) == "response" {
		r.base = 1
	}
	if up.aggs && up.array && string(up.key) == "buckets" && d >= 3 {
		r.answer.Buckets++
	}
	if r.asked != nil && l.aggs {
		r.place(d, up, l)
	}
}

// place says what a container is that lies in another.
func (r *answerReader) place(d int, up, l *level) {
	switch {
	case d == 2:
		if !l.array {
			l.is, l.agg = placeList, -1
		}
	case up.is == placeList, up.is == placeBucket, up.is == placeAgg && r.asked.aggs[up.agg].form == formSingle:
		if i := r.asked.find(up.agg, plainName(l.key)); i >= 0 && !l.array {
			l.is, l.agg = placeAgg, i
		}
	case up.is == placeAgg && l.array && string(l.key) == "buckets":
		if f := r.asked.aggs[up.agg].form; f == formTerms || f == formBuckets {
			l.is, l.agg = placeBuckets, up.agg
		}
	case up.is == placeBuckets && !l.array:
		l.is, l.agg = placeBucket, up.agg
		r.stack[d-2].buckets++
	}
}

// plainName is a name without the kind that typed_keys puts before it.
func plainName(key []byte) []byte {
	if _, name, ok := bytes.Cut(key, []byte("#")); ok {
		return name
	}
	return key
}

// closed comes when depth is again that around the container.
func (r *answerReader) closed() {
	l := &r.stack[r.s.depth+1]
	if l.is != placeAgg || r.learn == nil {
		return
	}
	a := &r.asked.aggs[l.agg]
	switch {
	case len(a.field) == 0 || a.rough:
	case a.form == formCount && l.has:
		r.learn(a, l.value)
	case a.form != formTerms || l.buckets == 0:
	case l.other > 0 && l.bounded && l.least > 0 && !a.ordered:
		// No other bucket has more documents than the smallest that is shown.
		r.learn(a, l.buckets+math.Ceil(l.other/(l.least+l.slack)))
	default:
		r.learn(a, l.buckets)
	}
}

func (r *answerReader) scalar() {
	d := r.s.depth
	if d == 0 {
		return
	}
	l := &r.stack[d]
	key := string(r.s.key)
	switch {
	case l.is == placeAgg:
		r.member(l, key)
	case l.is == placeBucket && key == "doc_count":
		if agg, n := &r.stack[d-2], r.s.number(); n > 0 && (agg.least == 0 || n < agg.least) {
			agg.least = n
		}
	case d > r.base:
		r.whole(l, d-r.base, key)
	}
}

// whole takes in what an answer says of all of itself.
func (r *answerReader) whole(l *level, d int, key string) {
	a := &r.answer
	switch {
	case d == 1 && key == "took":
		a.Timed, a.Took = true, time.Duration(min(r.s.number(), 1e9))*time.Millisecond
	case d == 1 && key == "timed_out":
		a.TimedOut = string(r.s.value) == "true"
	case d == 2 && string(l.key) == "_shards" && key == "total":
		a.Shards = r.s.number()
	case d == 2 && string(l.key) == "_shards" && key == "failed":
		a.FailedShards = r.s.number()
	case d == 2 && string(l.key) == "hits" && key == "total", d == 3 && string(l.key) == "total" && key == "value" && string(r.stack[2+r.base].key) == "hits":
		a.Hits = r.s.number()
	}
}

// member takes in one number of an answer to an aggregation.
func (r *answerReader) member(l *level, key string) {
	switch key {
	case "sum_other_doc_count":
		l.other = r.s.number()
	case "doc_count_error_upper_bound":
		l.slack = r.s.number()
		l.bounded = len(r.s.value) > 0 && r.s.value[0] != '-' // -1: it is not known
	case "value":
		l.value, l.has = r.s.number(), true
	}
}
