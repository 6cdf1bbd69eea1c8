package queuetest

import (
	"errors"
	"slices"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/bezoar-dev/bezoar/queue"
)

func testEditMessage(r *rig) {
	for _, name := range []string{"jobs", "jobs.fifo"} {
		isFIFO := name == "jobs.fifo"
		r.create(name, func(s *queue.Settings) { s.FIFO = isFIFO })
		var sent []queue.Sent
		for _, body := range []string{"first", "second", "third"} {
			in := text(body)
			if isFIFO {
				in.Group, in.Dedup = "g", body
			}
			sent = append(sent, r.send(name, in))
		}
		flying := r.receive(name, 1)[0]
		edit := func(seq int64, body string) error {
			id, err := r.EditMessage(r.ctx(), name, seq, queue.EditInput{Body: []byte(body), Set: map[string]queue.Attribute{"a": {DataType: "String", String: "new"}}})
			r.errorIf(err == nil && id != sent[seq-sent[0].Sequence].ID, "edited was %s", id)
			return err
		}
		if err := edit(sent[0].Sequence, "x"); !errors.Is(err, queue.ErrConflict) {
			r.Errorf("what is in flight is edited: %v", err)
		}
		if err := edit(sent[2].Sequence+1, "x"); !errors.Is(err, queue.ErrMessageGone) {
			r.Errorf("what is not there is edited: %v", err)
		}
		r.must(edit(sent[1].Sequence, "SECOND"))
		r.must(r.ChangeVisibility(r.ctx(), name, flying.Receipt, 0)) // and so it was received once
		r.must(edit(sent[0].Sequence, "FIRST"))
		if err := r.Delete(r.ctx(), name, flying.Receipt); err == nil && isFIFO || err != nil && !errors.Is(err, queue.ErrReceiptStale) && !errors.Is(err, queue.ErrReceiptExpired) {
			r.Errorf("a receipt from before is taken: %v", err)
		}
		all, err := r.Receive(r.ctx(), name, queue.ReceiveInput{Max: 10})
		r.must(err)
		got := bodies(all)
		if !isFIFO {
			slices.Sort(got)
		}
		if diff := cmp.Diff([]string{"FIRST", "SECOND", "third"}, got); diff != "" {
			r.Fatal(diff)
		}
		for _, m := range all {
			r.errorIf(string(m.Body) != "third" && (m.Attributes["a"].String != "new" || m.Damaged) || m.Receives != 1, "received was %+v", m)
			r.must(r.Delete(r.ctx(), name, m.Receipt))
		}
		r.wantCounts(name, 0, 0, 0)
	}
}

func testDeleteMessage(r *rig) {
	r.create("jobs", nil)
	const a = "a" + tail
	sent := []queue.Sent{r.send("jobs", text(a)), r.send("jobs", text("b")), r.send("jobs", text(a))}
	r.wantBodies("jobs", 1, "a")
	r.wantBodies("jobs", 10, "b") // the copy waits
	_, err := r.DeleteMessage(r.ctx(), "jobs", sent[0].Sequence, false)
	r.errorIf(!errors.Is(err, queue.ErrConflict), "what is in flight is deleted: %v", err)
	id, err := r.DeleteMessage(r.ctx(), "jobs", sent[0].Sequence, true)
	if r.must(err); id != sent[0].ID {
		r.Errorf("deleted was %s", id)
	}
	r.wantBodies("jobs", 10, "a") // it need not wait any more
	r.age(time.Minute)            // and all leases are over
	for _, s := range sent[1:] {
		r.must(second(r.DeleteMessage(r.ctx(), "jobs", s.Sequence, false)))
	}
	r.wantCounts("jobs", 0, 0, 0)
	d := r.at("other", nil)
	d.die(0, "f", "dead")
	letters, err := r.Peek(r.ctx(), queue.ImplicitName("other"), 0, 1)
	r.must(err)
	if _, err := r.DeleteMessage(r.ctx(), queue.ImplicitName("other"), letters[0].Sequence, true); !errors.Is(err, queue.ErrInvalid) {
		r.Errorf("a dead letter is deleted: %v", err)
	}
}
