package outbox

import (
	"cmp"
	"context"
	"errors"
	"slices"
	"time"

	"github.com/bezoar-dev/bezoar/internal/sorted"
)

// topicLoop sends the events of one topic, batch after batch, and ends when there are none.
type topicLoop struct {
	*leader
	topic string
	sink  Route
	gate  *gate
	again bool // guarded by leader.mu: look for events once more
	tx    TxSink
}

func (t *topicLoop) run() {
	if !t.joins() {
		t.end()
		return
	}
	for {
		t.drain()
		if t.end() {
			return
		}
	}
}

// end reports whether the loop may end, and removes it from the list of loops.
func (t *topicLoop) end() bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.again && t.work.Err() == nil {
		t.again = false
		return false
	}
	delete(t.topics, t.topic)
	return true
}

// joins reports whether the sink delivers in the store's transactions.
func (t *topicLoop) joins() bool {
	sink, isTx := t.sink.Sink.(TxSink)
	store, joins := t.c.Store.(TxStore)
	if !isTx || !joins {
		return true
	}
	return t.store(t.work, func() error {
		in, err := store.Within(t.work, sink)
		if in {
			t.tx = sink
		}
		return err
	})
}

// drain sends batches until no event is ready, the sink pauses with nothing in flight, or
// the work ends.
func (t *topicLoop) drain() {
	var f *Flight
	for misses := 0; ; {
		most, calm, ok := t.gate.enter(t.work, t.c.Events)
		if !ok {
			return
		}
		claim := Claim{Topic: t.topic, Events: most, Bytes: t.c.Bytes}
		if !t.advance(nil, &claim, &f) {
			t.gate.leave()
			return
		}
		if f == nil {
			t.gate.leave()
			// The feed may report an event before its commit is visible here.
			if misses++; misses > 5 || !t.cache.has(t.topic) {
				return
			}
			pause(t.work, time.Millisecond<<misses)
			continue
		}
		misses = 0
		for f != nil {
			v, ok := t.deliver(&f, calm)
			if !ok {
				t.gate.leave()
				return
			}
			if f == nil && v.place == nil && !t.gate.paused() && !t.cache.has(t.topic) {
				return // no event to claim
			}
			calm = true
		}
	}
}

// advance settles and claims. It continues after the work has ended, because sent events
// must be settled.
func (t *topicLoop) advance(done *Settlement, next *Claim, f **Flight) bool {
	*f = nil
	return t.store(t.life, func() (err error) {
		*f, err = t.c.Store.Advance(t.life, t.epoch, done, next)
		return err
	})
}

// deliver sends a flight, settles it, and claims the next one if no failure occurred. ok is
// false if the flight could not be settled.
func (t *topicLoop) deliver(f **Flight, calm bool) (v verdict, ok bool) {
	records, ok := t.read(*f)
	if !ok {
		return v, false
	}
	b := batchOf(*f, records)
	began := time.Now()
	if t.tx != nil && len(b.records) > 0 {
		return t.deliverTx(f, b, calm)
	}
	results, panics := t.send(b.records)
	if t.overdue() {
		t.lost("the lease expired while a batch was sent")
		return v, false
	}
	v = t.judge(b, results, t.sink.Name, calm)
	if panics != nil && len(b.records) > 1 {
		v = verdict{done: t.blameAll(**f, t.evidence(panics, t.sink.Name))}
	}
	return v, t.settle(f, b.records, v, time.Since(began), calm)
}

// settle reports the verdict to the gate, the store and the counters.
func (t *topicLoop) settle(f **Flight, records []Record, v verdict, took time.Duration, calm bool) bool {
	next := t.next(v, took, calm)
	if !t.advance(v.done, next, f) {
		return false
	}
	t.count(records, v)
	return true
}

// next reports the verdict to the gate, and decides what to claim.
func (t *topicLoop) next(v verdict, took time.Duration, calm bool) *Claim {
	if v.place != nil {
		t.gate.fail(v.place, v.after, !calm)
		return nil
	}
	t.gate.pass(took)
	if t.work.Err() != nil || t.gate.paused() {
		return nil
	}
	return &Claim{Topic: t.topic, Events: t.gate.most(t.c.Events), Bytes: t.c.Bytes}
}

func (t *topicLoop) count(records []Record, v verdict) {
	var age time.Duration
	if len(records) > 0 {
		age = time.Since(records[0].Written)
	}
	t.counts.settled(t.topic, t.sink.Name, v, age)
	for _, s := range v.done.Failed {
		if s.Parked {
			t.c.Log.Warn("event parked", "topic", t.topic, "position", s.Position, "attempts", s.Attempts,
				"class", s.Evidence.Class, "reason", s.Evidence.Reason)
		}
	}
}

// read returns the records of a flight, from the feed's cache as far as possible.
func (t *topicLoop) read(f *Flight) (records []Record, ok bool) {
	missing := f.Refs
	if t.c.Feed != nil {
		records, missing = t.cache.take(f.Refs)
		t.counts.hit(len(records))
	}
	if len(missing) == 0 {
		return records, true
	}
	var rest []Record
	ok = t.store(t.life, func() (err error) {
		rest, err = t.c.Store.Read(t.life, missing)
		return err
	})
	if len(records) > 0 {
		records = append(records, rest...)
		sorted.Func(records, func(a, b Record) int { return cmp.Compare(a.Position, b.Position) })
		return records, ok
	}
	return rest, ok
}

// send passes records to the sink. If the sink panics, all records fail.
func (t *topicLoop) send(records []Record) (results []error, panics error) {
	if len(records) == 0 {
		return nil, nil
	}
	ctx, cancel := context.WithTimeout(t.sends, t.c.SendFor)
	defer cancel()
	defer func() {
		if value := recover(); value != nil {
			panics = panicked(value)
			results = slices.Repeat([]error{panics}, len(records))
		}
	}()
	return t.sink.Sink.Send(ctx, records), nil
}

// deliverTx sends a flight in the transaction that settles it.
func (t *topicLoop) deliverTx(f **Flight, b batch, calm bool) (v verdict, ok bool) {
	began := time.Now()
	claim := &Claim{Topic: t.topic, Events: t.gate.most(t.c.Events), Bytes: t.c.Bytes}
	if t.work.Err() != nil || !calm {
		claim = nil
	}
	var refused error // error of the sink, which rolled the transaction back
	ok = t.store(t.life, func() (err error) {
		refused = nil
		*f, err = t.c.Store.(TxStore).AdvanceTx(t.life, t.epoch, b.flight.ID, claim, func(ctx context.Context, tx any) (*Settlement, error) { //nolint:forcetypeassert // joins has seen it
			ctx, cancel := context.WithTimeout(ctx, t.c.SendFor)
			defer cancel()
			defer context.AfterFunc(t.sends, cancel)()
			results, err := t.tx.SendTx(ctx, tx, b.records)
			if err != nil {
				refused = err
				return nil, err
			}
			v = t.judge(b, results, t.sink.Name, calm)
			return v.done, nil
		})
		if refused != nil && !errors.Is(err, ErrFenced) && t.life.Err() == nil {
			return nil
		}
		return err
	})
	if !ok {
		return v, false
	}
	if refused != nil {
		v = t.judge(b, slices.Repeat([]error{refused}, len(b.records)), t.sink.Name, calm)
		return v, t.settle(f, b.records, v, time.Since(began), calm)
	}
	if v.place != nil {
		t.gate.fail(v.place, v.after, !calm)
		if *f != nil { // the next flight was claimed before the failure was known
			t.advance(&Settlement{Flight: (*f).ID}, nil, f)
		}
	} else {
		t.gate.pass(time.Since(began))
	}
	t.count(b.records, v)
	return v, true
}
