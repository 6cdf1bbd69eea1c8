package queuetest

import (
	"fmt"
	"math/rand/v2"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/anishathalye/porcupine"

	"github.com/bezoar-dev/bezoar/queue"
)

// act is what a client does to one message.
type act struct {
	kind actKind
	gen  int64 // of the delivery that a delete ends, or that a receive began
}

type actKind string

const (
	actSend    actKind = "send"
	actReceive actKind = "receive"
	actDelete  actKind = "delete"
	actExpire  actKind = "expire" // all leases are over
	actMiss    actKind = "miss"   // it is not there, although nothing hides it
)

// life is a message as one client after the other would see it.
type life struct {
	sent, leased, gone bool
	gen                int64
}

// lives is what a history of one message has to be linearizable to.
func lives() porcupine.Model {
	return porcupine.Model{
		Init: func() any { return life{} },
		Step: func(state, input, output any) (bool, any) {
			s, a := state.(life), input.(act)
			return s.step(a, output.(queue.Code))
		},
		DescribeOperation: func(input, output any) string { return fmt.Sprintf("%+v = %q", input, output) },
		DescribeState:     func(state any) string { return fmt.Sprintf("%+v", state) },
	}
}

func (s life) step(a act, out queue.Code) (bool, life) {
	switch a.kind {
	case actSend:
		return !s.sent, life{sent: true}
	case actExpire:
		s.leased = false
		return true, s
	case actMiss:
		return !s.sent || s.gone, s
	case actReceive:
		ok := s.sent && !s.gone && !s.leased && a.gen == s.gen+1
		s.gen, s.leased = a.gen, true
		return ok, s
	case actDelete:
		switch {
		case s.gone:
			return out == "", s
		case a.gen != s.gen:
			return out == queue.ErrReceiptStale, s
		}
		s.gone = true
		return out == "", s
	}
	return false, s
}

// historian writes down what clients do to each message, by a clock that only
// orders.
type historian struct {
	*rig
	clock atomic.Int64

	expiries []porcupine.Operation // by one client

	mu       sync.Mutex // guards all below
	of       map[string][]porcupine.Operation
	receipts []delivery
}

func (h *historian) note(client int, id string, a act, out queue.Code, call int64) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.of[id] = append(h.of[id], porcupine.Operation{ClientId: client, Input: a, Output: out, Call: call, Return: h.clock.Add(1)})
}

func (h *historian) send(client int, name string) {
	call := h.clock.Add(1)
	sent, err := h.Send(h.ctx(), name, text(fmt.Sprint(client, "/", call)))
	if err != nil {
		h.Error(err)
		return
	}
	h.note(client, sent.ID, act{kind: actSend}, "", call)
}

func (h *historian) receive(client int, name string, n int) int {
	call := h.clock.Add(1)
	m, err := h.Receive(h.ctx(), name, queue.ReceiveInput{Max: n, Visibility: new(time.Hour)})
	if err != nil {
		h.Error(err)
	}
	for _, m := range m {
		h.note(client, m.ID, act{actReceive, m.Receipt.Generation}, "", call)
		h.mu.Lock()
		h.receipts = append(h.receipts, delivery{m.ID, int(m.Receipt.Generation), m.Receipt})
		h.mu.Unlock()
	}
	return len(m)
}

// delete ends any delivery that somebody has begun, perhaps an old one.
func (h *historian) delete(client int, name string, r *rand.Rand) {
	h.mu.Lock()
	if len(h.receipts) == 0 {
		h.mu.Unlock()
		return
	}
	d := h.receipts[r.IntN(len(h.receipts))]
	h.mu.Unlock()
	call := h.clock.Add(1)
	err := h.Delete(h.ctx(), name, d.receipt)
	if err != nil && queue.CodeOf(err) != queue.ErrReceiptStale {
		h.Error(err)
	}
	h.note(client, d.id, act{actDelete, int64(d.gen)}, queue.CodeOf(err), call)
}

// expire ends all leases: an act on every message.
func (h *historian) expire(client int) {
	call := h.clock.Add(1)
	h.age(2 * time.Hour)
	h.expiries = append(h.expiries, porcupine.Operation{
		ClientId: client, Input: act{kind: actExpire}, Output: queue.Code(""), Call: call, Return: h.clock.Add(1),
	})
}

// Whatever clients do at the same time: each message's history is that of one
// which they used one after the other.
func testLinearizable(t *testing.T, harness Harness) {
	const clients, rounds, acts = 6, 3, 20
	h := &historian{rig: newRig(t, harness), of: map[string][]porcupine.Operation{}}
	h.create("jobs", nil)
	for round := range uint64(rounds) {
		var wg sync.WaitGroup
		for c := range clients {
			wg.Go(func() {
				r := rand.New(rand.NewPCG(round, uint64(c)))
				for range acts {
					switch n := r.IntN(10); {
					case n < 3:
						h.send(c, "jobs")
					case n < 7:
						h.receive(c, "jobs", 1+r.IntN(3))
					default:
						h.delete(c, "jobs", r)
					}
				}
			})
		}
		wg.Go(func() { h.expire(clients) })
		wg.Wait()
	}
	h.expire(clients)
	for h.receive(clients, "jobs", 100) > 0 { // what is left
	}
	for id := range h.of {
		if last := h.of[id][len(h.of[id])-1]; last.Input.(act).kind != actReceive {
			h.note(clients, id, act{kind: actMiss}, "", h.clock.Add(1))
		}
	}
	for id, history := range h.of {
		history = append(history, h.expiries...)
		if !porcupine.CheckOperations(lives(), history) {
			t.Errorf("the history of message %s is not one of a message:", id)
			for _, o := range history {
				t.Errorf("  %4d to %4d: client %d: %+v = %q", o.Call, o.Return, o.ClientId, o.Input, o.Output)
			}
		}
	}
}
