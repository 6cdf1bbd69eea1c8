package queuetest

import (
	"bytes"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/bezoar-dev/bezoar/queue"
)

func messageTests() map[string]func(*rig) {
	return map[string]func(*rig){
		"RoundTrip": testRoundTrip, "EmptyReceive": testEmpty, "SendBatch": testSendBatch, "SendFaults": testSendFaults,
		"Delay": testDelay, "Priorities": testPriorities, "Counts": testCounts, "Peek": testPeek, "EditMessage": testEditMessage, "DeleteMessage": testDeleteMessage,
		"OrderOfSending": testOrder, "ValuesAreCopies": testCopies,
	}
}

func full() queue.SendInput {
	return queue.SendInput{
		Body: []byte("a whole body \x00\xff ü"),
		Attributes: map[string]queue.Attribute{
			"n": {DataType: "Number.int", String: "7"}, "s": {DataType: "String", String: "a\x00b"}, "b": {DataType: "Binary", Binary: []byte{0, 255}},
		},
		System:   map[string]queue.Attribute{"AWSTraceHeader": {DataType: "String", String: "Root=1"}},
		Group:    "tenant-1",
		Priority: 3,
		Sender:   "127.0.0.1",
	}
}

func testRoundTrip(r *rig) {
	r.create("jobs", nil)
	sent := r.send("jobs", full())
	r.errorIf(sent.ID == "" || sent.Sequence < 1 || sent.Duplicate, "sent %+v", sent)
	m := r.one("jobs")
	in := full()
	want := queue.Message{
		ID: sent.ID, Body: in.Body, Attributes: in.Attributes, System: in.System, Group: in.Group, Sequence: sent.Sequence,
		Priority: 3, Sender: in.Sender, Receives: 1, InFlight: true,
	}
	times := cmpopts.IgnoreFields(queue.Message{}, "Sent", "FirstReceived", "VisibleAt", "Receipt", "Payload")
	if diff := cmp.Diff(want, m, times); diff != "" {
		r.Error(diff)
	}
	if lease := m.VisibleAt.Sub(m.FirstReceived); lease != 30*time.Second {
		r.Errorf("leased for %v, want 30s", lease)
	}
	r.errorIf(m.Sent.IsZero() || m.Sent.After(m.FirstReceived) || m.Sent.Location() != time.UTC, "sent %v, received %v", m.Sent, m.FirstReceived)
	parsed, err := queue.ParseReceipt(m.Receipt.String())
	r.must(err)
	r.must(r.Delete(r.ctx(), "jobs", parsed))
	r.wantCounts("jobs", 0, 0, 0)
}

func testEmpty(r *rig) {
	r.create("jobs", nil)
	m, err := r.Receive(r.ctx(), "jobs", queue.ReceiveInput{Max: 10})
	r.errorIf(len(m) > 0 || err != nil, "received %v, %v from an empty queue", m, err)
}

func testSendBatch(r *rig) {
	r.create("jobs", func(s *queue.Settings) { s.MaxBytes = queue.MinBytes })
	results, err := r.SendBatch(r.ctx(), "jobs", []queue.SendInput{
		text("a"), text(""), {Body: make([]byte, queue.MinBytes+1)}, text("b"),
	})
	r.must(err)
	r.must(results[0].Err)
	r.wantErr(results[1].Err, queue.ErrInvalid)
	r.wantErr(results[2].Err, queue.ErrTooLarge)
	r.must(results[3].Err)
	r.errorIf(results[0].Sequence >= results[3].Sequence, "sequences %d, %d", results[0].Sequence, results[3].Sequence)
	r.wantBodies("jobs", 10, "a", "b")
	for _, in := range [][]queue.SendInput{nil, make([]queue.SendInput, queue.MaxBatch+1)} {
		_, err := r.SendBatch(r.ctx(), "jobs", in)
		r.wantErr(err, queue.ErrInvalid)
	}
}

func testSendFaults(r *rig) {
	r.create("jobs", nil)
	r.createFIFO("jobs.fifo", nil)
	for name, c := range map[string]struct {
		queue string
		in    queue.SendInput
	}{
		"delay":            {"jobs", queue.SendInput{Body: []byte("a"), Delay: new(16 * time.Minute)}},
		"priority":         {"jobs", queue.SendInput{Body: []byte("a"), Priority: 10}},
		"dedup":            {"jobs", queue.SendInput{Body: []byte("a"), Dedup: "a"}},
		"NUL":              {"jobs", queue.SendInput{Body: []byte("a"), Group: "a\x00"}},
		"no UTF-8":         {"jobs", queue.SendInput{Body: []byte("a"), Attributes: map[string]queue.Attribute{"a": {String: "\xff"}}}},
		"many":             {"jobs", queue.SendInput{Body: []byte("a"), Attributes: map[string]queue.Attribute{"1": {}, "2": {}, "3": {}, "4": {}, "5": {}, "6": {}, "7": {}, "8": {}, "9": {}, "10": {}, "11": {}}}},
		"no group":         {"jobs.fifo", queue.SendInput{Body: []byte("a"), Dedup: "a"}},
		"no dedup":         {"jobs.fifo", queue.SendInput{Body: []byte("a"), Group: "a"}},
		"priority in FIFO": {"jobs.fifo", queue.SendInput{Body: []byte("a"), Group: "a", Dedup: "a", Priority: 1}},
		"delay in FIFO":    {"jobs.fifo", queue.SendInput{Body: []byte("a"), Group: "a", Dedup: "a", Delay: new(time.Second)}},
	} {
		if _, err := r.Send(r.ctx(), c.queue, c.in); queue.CodeOf(err) != queue.ErrInvalid {
			r.Errorf("%s: %v, want %v", name, err, queue.ErrInvalid)
		}
	}
}

func testDelay(r *rig) {
	r.create("jobs", func(s *queue.Settings) { s.Delay = time.Minute })
	r.send("jobs", text("queue's"))
	r.send("jobs", queue.SendInput{Body: []byte("none"), Delay: new(time.Duration(0))})
	r.send("jobs", queue.SendInput{Body: []byte("longer"), Delay: new(3 * time.Minute)})
	r.wantCounts("jobs", 1, 0, 2)
	r.wantBodies("jobs", 10, "none")
	r.age(time.Minute)
	r.wantBodies("jobs", 10, "none", "queue's") // by when they became visible
	r.age(2 * time.Minute)
	r.wantBodies("jobs", 10, "queue's", "none", "longer") // leased together, so in the order of sending
}

func testRetention(r *rig) {
	q := r.create("jobs", func(s *queue.Settings) { s.Retention = time.Hour; s.Visibility = time.Minute })
	r.send("jobs", text("old"))
	r.one("jobs") // a receive does not make it younger
	r.age(40 * time.Minute)
	r.send("jobs", text("young"))
	r.age(21 * time.Minute)
	r.wantBodies("jobs", 10, "young") // although nobody has expired the other
	n, err := r.store.Expire(r.ctx(), q.ID, queue.Policy{}, time.Hour, 10)
	r.must(err)
	r.errorIf(n > 1, "%d messages expired, want 1 at most", n)
	r.wantCounts("jobs", 0, 1, 0)
	_, err = r.SetSettings(r.ctx(), "jobs", func(s *queue.Settings) error { s.Retention = 2 * time.Minute; return nil })
	r.must(err)
	r.age(time.Minute)
	r.none("jobs") // the new retention is for old messages too
	defer r.run()()
	r.until("the message expires", func() bool {
		c, err := r.Counts(r.ctx(), "jobs")
		return err == nil && c == queue.Counts{}
	})
}

func testPriorities(r *rig) {
	r.create("jobs", nil)
	for _, m := range []struct {
		body     string
		priority int
	}{{"a0", 0}, {"b9", 9}, {"c4", 4}, {"d0", 0}, {"e9", 9}} {
		r.send("jobs", queue.SendInput{Body: []byte(m.body), Priority: m.priority})
	}
	r.wantBodies("jobs", 2, "b9", "e9")
	r.wantBodies("jobs", 2, "c4", "a0")
	r.wantBodies("jobs", 2, "d0")
	r.age(time.Minute)
	r.wantBodies("jobs", 3, "b9", "e9", "c4")
}

func testCounts(r *rig) {
	r.create("jobs", nil)
	for _, body := range []string{"a", "b", "c"} {
		r.send("jobs", text(body))
	}
	r.send("jobs", queue.SendInput{Body: []byte("d"), Delay: new(time.Minute)})
	r.wantCounts("jobs", 3, 0, 1)
	m := r.receive("jobs", 2)
	r.wantCounts("jobs", 1, 2, 1)
	r.must(r.Delete(r.ctx(), "jobs", m[0].Receipt))
	r.wantCounts("jobs", 1, 1, 1)
	r.must(r.Release(r.ctx(), "jobs", queue.ReleaseInput{Receipt: m[1].Receipt, Delay: time.Minute}))
	r.wantCounts("jobs", 1, 0, 2)
	r.age(time.Minute)
	r.wantCounts("jobs", 3, 0, 0)
	c, err := r.Counts(r.ctx(), "jobs")
	r.must(err)
	r.errorIf(c.Oldest < time.Minute || c.Oldest > 2*time.Minute, "the oldest is %v old, want a minute", c.Oldest)
}

func testPeek(r *rig) {
	r.create("jobs", nil)
	var last queue.Sent
	for _, body := range []string{"a", "b", "c"} {
		last = r.send("jobs", text(body))
	}
	r.receive("jobs", 1)
	look := func(after int64, limit int) []queue.Message {
		m, err := r.Peek(r.ctx(), "jobs", after, limit)
		r.must(err)
		return m
	}
	m := look(0, 0)
	if diff := cmp.Diff([]string{"a", "b", "c"}, bodies(m)); diff != "" {
		r.Fatal(diff)
	}
	r.errorIf(!m[0].InFlight || m[0].Receives != 1 || m[1].InFlight || m[1].Receives != 0 || m[0].Receipt != (queue.Receipt{}), "looked at %+v", m)
	r.same([]string{"b"}, bodies(look(m[0].Sequence, 1)), "")
	if m := look(last.Sequence, 10); len(m) > 0 {
		r.Errorf("beyond the last there are %v", bodies(m))
	}
	r.wantBodies("jobs", 10, "b", "c")
}

func testOrder(r *rig) {
	r.create("jobs", nil)
	r.must(second(r.SendBatch(r.ctx(), "jobs", []queue.SendInput{text("a"), text("b"), text("c"), text("d")})))
	r.wantBodies("jobs", 2, "a", "b")
	r.wantBodies("jobs", 10, "c", "d")
}

func testCopies(r *rig) {
	r.create("jobs", nil)
	in := full()
	r.send("jobs", in)
	in.Body[0] = 'X'
	in.Attributes["b"].Binary[0] = 'X'
	m := r.one("jobs")
	m.Body[1] = 'X'
	m.Attributes["b"].Binary[1] = 'X'
	looked, err := r.Peek(r.ctx(), "jobs", 0, 1)
	r.must(err)
	r.errorIf(!bytes.Equal(looked[0].Body, full().Body) || cmp.Diff(full().Attributes, looked[0].Attributes) != "", "a caller's change got in: %q %v", looked[0].Body, looked[0].Attributes)
}
