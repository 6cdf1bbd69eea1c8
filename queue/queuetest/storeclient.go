package queuetest

import (
	"bytes"
	"cmp"
	"slices"
	"time"

	"github.com/bezoar-dev/bezoar"
	"github.com/bezoar-dev/bezoar/internal/each"
	"github.com/bezoar-dev/bezoar/internal/test/suite"
	"github.com/bezoar-dev/bezoar/policy/poison"
	"github.com/bezoar-dev/bezoar/queue"
)

// storeClient works on one queue by the store alone: what the engine makes of bodies
// and outcomes is not what is tested with it.
type storeClient struct {
	*rig
	q     queue.Queue
	p     queue.Policy
	brief bool // bodies are sent as they are named, and so are brief ones
}

// tail makes a body one that is not brief, whatever tests call it.
const tail = " and more than is brief"

// lease is how long a storeClient's receives hide a message.
const lease = 30 * time.Second

// at makes a queue without a dead-letter queue of its own.
func (r *rig) at(name string, edit func(*queue.Settings)) *storeClient {
	r.Helper()
	q := r.create(name, edit)
	return &storeClient{rig: r, q: q, p: queue.Policy{
		FIFO: q.Settings.FIFO, DeadLetter: queue.ImplicitName(name), Implicit: true,
		Poison: q.Settings.Quarantine.Poison(), KeepExpired: q.Settings.KeepExpired,
	}}
}

// fifo is for at.
func fifo(s *queue.Settings) { s.FIFO = true }

// work is the fingerprint of the nth payload.
func work(n byte) bezoar.Fingerprint { return bezoar.Fingerprint{0: n, 15: 1} }

// put sends a message with the nth payload; 0 is one that is not recognised.
func (d *storeClient) put(n byte, bodies ...string) {
	d.Helper()
	for _, body := range bodies {
		d.send(queue.Entry{SendInput: text(body), Payload: work(n)})
	}
}

func (d *storeClient) send(e queue.Entry) {
	d.Helper()
	e.ID = cmp.Or(e.ID, string(e.Body))
	switch {
	case e.Payload == work(0):
		e.Payload = bezoar.Fingerprint{}
	case !d.brief && queue.Brief(e.Body):
		e.Body = append(slices.Clone(e.Body), tail...)
	}
	if e.FIFO = d.p.FIFO; e.FIFO {
		e.Dedup, e.DedupKey = e.ID, e.ID
	}
	d.must(second(d.store.Send(d.ctx(), d.q.ID, []queue.Entry{e})))
}

func (d *storeClient) claim(n int) queue.Claimed {
	d.Helper()
	c, err := d.store.Receive(d.ctx(), d.q.ID, queue.Claim{
		Policy: d.p, Max: n, Visibility: lease, Retention: d.q.Settings.Retention, Worker: "w1",
	})
	d.must(err)
	untail(c.Messages)
	return c
}

// untail names the bodies as send was told them.
func untail(m []queue.Message) []queue.Message {
	for i := range m {
		m[i].Body = bytes.TrimSuffix(m[i].Body, []byte(tail))
	}
	return m
}

// take receives up to ten, and wants these, in any order.
func (d *storeClient) take(want ...string) []queue.Message {
	d.Helper()
	m := d.claim(10).Messages
	got := bodies(m)
	slices.Sort(got)
	slices.Sort(want)
	suite.FatalIf(d, !slices.Equal(got, want), "received %v, want %v", got, want)
	return m
}

// alone receives a suspect.
func (d *storeClient) alone(want string) queue.Message {
	d.Helper()
	m := d.take(want)[0]
	suite.FatalIf(d, !m.Alone, "%s was received like any other", want)
	return m
}

func (d *storeClient) done(all ...queue.Message) {
	d.Helper()
	for _, m := range all {
		d.must(one(d.store.Delete(d.ctx(), d.q.ID, d.p.FIFO, []queue.Receipt{m.Receipt})))
	}
}

// fail reports how a delivery ended.
func (d *storeClient) fail(m queue.Message, c bezoar.Class, failure string) {
	d.Helper()
	d.change(queue.Change{Receipt: m.Receipt, Release: true, Outcome: &queue.Outcome{Class: c, Failure: failure, Reason: "why"}})
}

func (d *storeClient) change(c queue.Change) {
	d.Helper()
	d.must(one(d.store.Change(d.ctx(), d.q.ID, d.p, []queue.Change{c})))
}

// vanish is the death of a worker that held these, and the end of its leases.
func (d *storeClient) vanish(all ...queue.Message) {
	d.Helper()
	receipts := each.Of(all, func(m queue.Message) queue.Receipt { return m.Receipt })
	d.must(d.store.Vanish(d.ctx(), d.q.ID, receipts, len(all)))
	d.age(lease + time.Second)
}

// known returns what is known of the nth payload, nil for nothing.
func (d *storeClient) known(n byte) *poison.Case {
	d.Helper()
	all, err := d.store.Cases(d.ctx(), d.q.ID, -1, 100)
	d.must(err)
	for _, c := range all {
		if c.Payload == work(n) {
			return &c.Case
		}
	}
	return nil
}

func (d *storeClient) wantState(n byte, want poison.State) poison.Case {
	d.Helper()
	c := d.known(n)
	suite.FatalIf(d, c == nil || c.State != want, "of payload %d is known %+v, want it %s", n, c, want)
	return *c
}

func (d *storeClient) wantUnknown(n byte) {
	d.Helper()
	if c := d.known(n); c != nil {
		d.Fatalf("of payload %d is known %+v, want nothing", n, c)
	}
}

// wantDead wants that the dead-letter queue holds these.
func (d *storeClient) wantDead(want ...string) []queue.Message {
	d.Helper()
	m, err := d.Peek(d.ctx(), d.p.DeadLetter, 0, 100)
	if len(want) > 0 || queue.CodeOf(err) != queue.ErrQueueNotFound {
		d.must(err)
	}
	got := bodies(m)
	slices.Sort(got)
	slices.Sort(want)
	suite.FatalIf(d, !slices.Equal(got, want), "dead are %v, want %v", got, want)
	return m
}
