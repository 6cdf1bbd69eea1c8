package queuetest

import (
	"time"

	"github.com/bezoar-dev/bezoar"
	"github.com/bezoar-dev/bezoar/queue"
)

func receiptTests() map[string]func(*rig) {
	return map[string]func(*rig){
		"DeleteAfterExpiry": testDeleteAfterExpiry, "Fencing": testFencing, "DeleteBatch": testDeleteBatch,
		"Visibility": testVisibility, "VisibilityTotal": testVisibilityTotal, "VisibilityOfReceive": testReceiveVisibility,
		"Release": testRelease, "Unreceive": testUnreceive, "ForeignReceipts": testForeignReceipts, "LeaseLost": testLeaseLost,
	}
}

func testDeleteAfterExpiry(r *rig) {
	r.create("jobs", nil)
	r.send("jobs", text("a"))
	m := r.one("jobs")
	r.age(time.Minute)
	r.wantCounts("jobs", 1, 0, 0)
	r.must(r.Delete(r.ctx(), "jobs", m.Receipt))
	r.wantCounts("jobs", 0, 0, 0)
	r.must(r.Delete(r.ctx(), "jobs", m.Receipt)) // again
	r.wantErr(r.ChangeVisibility(r.ctx(), "jobs", m.Receipt, 0), queue.ErrMessageGone)
}

// Whatever a late worker writes, the message belongs to the next one.
func testFencing(r *rig) {
	r.create("dead", nil)
	r.create("jobs", deadLetter("dead", 5))
	r.send("jobs", text("a"))
	late := r.one("jobs")
	r.age(time.Minute)
	m := r.one("jobs")
	r.errorIf(m.ID != late.ID || m.Receives != 2 || m.Receipt == late.Receipt || !m.FirstReceived.Before(m.VisibleAt.Add(-time.Minute)), "received again: %+v", m)
	for doing, err := range map[string]error{
		"Delete":             r.Delete(r.ctx(), "jobs", late.Receipt),
		"ChangeVisibility":   r.ChangeVisibility(r.ctx(), "jobs", late.Receipt, time.Hour),
		"ChangeVisibility 0": r.ChangeVisibility(r.ctx(), "jobs", late.Receipt, 0),
		"Release":            r.Release(r.ctx(), "jobs", queue.ReleaseInput{Receipt: late.Receipt}),
		"Reject":             r.Reject(r.ctx(), "jobs", late.Receipt, queue.Outcome{Class: bezoar.Bug}),
		"Unreceive":          one(r.Unreceive(r.ctx(), "jobs", []queue.Receipt{late.Receipt})),
	} {
		r.errorIf(queue.CodeOf(err) != queue.ErrReceiptStale, "%s with a late receipt = %v, want %v", doing, err, queue.ErrReceiptStale)
	}
	r.wantCounts("jobs", 0, 1, 0)
	r.must(r.Delete(r.ctx(), "jobs", m.Receipt))
	r.wantCounts("jobs", 0, 0, 0)
}

func one(results []error, err error) error {
	if err != nil {
		return err
	}
	return results[0]
}

func testDeleteBatch(r *rig) {
	r.create("jobs", nil)
	for _, body := range []string{"a", "b", "c"} {
		r.send("jobs", text(body))
	}
	m := r.receive("jobs", 3)
	r.age(time.Minute)
	r.receive("jobs", 1) // "a" again
	results, err := r.Engine.DeleteBatch(r.ctx(), "jobs", []queue.Receipt{m[0].Receipt, {}, m[1].Receipt, m[2].Receipt, m[1].Receipt})
	r.must(err)
	r.wantErr(results[0], queue.ErrReceiptStale)
	r.wantErr(results[1], queue.ErrReceiptInvalid)
	for _, err := range results[2:] {
		r.must(err)
	}
	r.wantCounts("jobs", 0, 1, 0)
}

func testVisibility(r *rig) {
	r.create("jobs", nil)
	r.send("jobs", text("a"))
	m := r.one("jobs")
	r.must(r.ChangeVisibility(r.ctx(), "jobs", m.Receipt, 10*time.Minute))
	r.age(9 * time.Minute)
	r.none("jobs")
	r.must(r.ChangeVisibility(r.ctx(), "jobs", m.Receipt, 0))
	r.wantCounts("jobs", 1, 0, 0)
	again := r.one("jobs")
	r.errorIf(again.Receives != 2, "received %d times, want 2", again.Receives)
	r.must(r.ChangeVisibility(r.ctx(), "jobs", again.Receipt, 0))
	r.must(r.ChangeVisibility(r.ctx(), "jobs", again.Receipt, time.Minute)) // nobody has it
	r.wantCounts("jobs", 1, 0, 0)
	again = r.one("jobs")
	r.age(2 * time.Minute)
	r.must(r.ChangeVisibility(r.ctx(), "jobs", again.Receipt, time.Minute)) // likewise after expiry
	r.wantCounts("jobs", 1, 0, 0)
	_, err := r.ChangeVisibilityBatch(r.ctx(), "jobs", []queue.VisibilityChange{{Receipt: again.Receipt, Visibility: 13 * time.Hour}})
	r.wantErr(err, queue.ErrInvalid)
	r.must(r.Delete(r.ctx(), "jobs", again.Receipt))
}

func testVisibilityTotal(r *rig) {
	r.create("jobs", nil)
	r.send("jobs", text("a"))
	m := r.one("jobs")
	r.must(r.ChangeVisibility(r.ctx(), "jobs", m.Receipt, 11*time.Hour))
	r.age(10 * time.Hour)
	r.must(r.ChangeVisibility(r.ctx(), "jobs", m.Receipt, time.Hour))
	r.wantErr(r.ChangeVisibility(r.ctx(), "jobs", m.Receipt, 2*time.Hour+time.Second), queue.ErrVisibilityTotal)
	r.age(59 * time.Minute)
	r.wantCounts("jobs", 0, 1, 0) // the refused change changed nothing
	r.age(time.Minute)
	m = r.one("jobs")
	r.must(r.ChangeVisibility(r.ctx(), "jobs", m.Receipt, 11*time.Hour)) // of this receive
}

func testReceiveVisibility(r *rig) {
	r.create("jobs", nil)
	r.send("jobs", text("a"))
	m, err := r.Receive(r.ctx(), "jobs", queue.ReceiveInput{Max: 10, Visibility: new(time.Duration(0))})
	r.must(err)
	r.fatalIf(len(m) != 1, "with visibility 0 %d messages were received in one call, want 1", len(m))
	r.wantCounts("jobs", 1, 0, 0)
	_, err = r.Receive(r.ctx(), "jobs", queue.ReceiveInput{Visibility: new(2 * time.Hour)})
	r.must(err)
	r.age(time.Hour)
	r.none("jobs")
	r.age(time.Hour)
	r.one("jobs")
}

func testRelease(r *rig) {
	r.create("jobs", nil)
	r.send("jobs", text("a"))
	m := r.one("jobs")
	r.must(r.Release(r.ctx(), "jobs", queue.ReleaseInput{
		Receipt: m.Receipt, Delay: time.Minute, Outcome: &queue.Outcome{Class: bezoar.Bug, Failure: "f1", Reason: "ü\x00"},
	}))
	r.wantErr(r.Delete(r.ctx(), "jobs", m.Receipt), queue.ErrReceiptStale)
	r.wantCounts("jobs", 0, 0, 1)
	r.age(time.Minute)
	again := r.one("jobs")
	r.fatalIf(again.Receives != 2 || len(again.Attempts) != 1, "received %d times after %d attempts, want 2 after 1", again.Receives, len(again.Attempts))
	a := again.Attempts[0]
	r.errorIf(a.Class != bezoar.Bug || a.Failure != "f1" || a.Reason != "ü\uFFFD" || a.Worker != "w1" || a.Received.IsZero() || a.Ended.Before(a.Received), "the attempt is %+v", a)
	r.must(r.Release(r.ctx(), "jobs", queue.ReleaseInput{Receipt: again.Receipt, Refund: true}))
	if m := r.one("jobs"); m.Receives != 2 || len(m.Attempts) != 1 {
		r.Errorf("after a refund received %d times, %d attempts; want 2, 1", m.Receives, len(m.Attempts))
	}
}

func testUnreceive(r *rig) {
	r.create("dead", nil)
	r.create("jobs", deadLetter("dead", 1))
	r.send("jobs", text("a"))
	r.send("jobs", text("b"))
	for range 3 { // never counted, so never dead
		m := r.wantBodies("jobs", 10, "a", "b")
		r.fatalIf(m[0].Receives != 1 || len(m[0].Attempts) > 0, "received as the %d. time after %v", m[0].Receives, m[0].Attempts)
		results, err := r.Unreceive(r.ctx(), "jobs", []queue.Receipt{m[0].Receipt, m[1].Receipt})
		r.must(err)
		for _, err := range results {
			r.must(err)
		}
		r.sweep()
	}
	r.wantCounts("dead", 0, 0, 0)
	looked, err := r.Peek(r.ctx(), "jobs", 0, 1)
	r.must(err)
	if m := looked[0]; m.Receives != 0 || !m.FirstReceived.IsZero() {
		r.Errorf("it shows %d receives, the first at %v", m.Receives, m.FirstReceived)
	}
}

func testForeignReceipts(r *rig) {
	r.create("jobs", nil)
	r.create("other", nil)
	r.send("jobs", text("a"))
	m := r.one("jobs")
	unknown := m.Receipt
	unknown.Sequence += 1000
	never := m.Receipt
	never.Generation = 0
	r.wantErr(r.Delete(r.ctx(), "other", m.Receipt), queue.ErrReceiptInvalid)
	r.wantErr(r.Delete(r.ctx(), "jobs", never), queue.ErrReceiptInvalid)
	r.must(r.Delete(r.ctx(), "jobs", unknown)) // for all we know it was there once
	r.wantCounts("jobs", 0, 1, 0)
}

func testLeaseLost(r *rig) {
	r.create("jobs", nil)
	r.send("jobs", text("a"))
	for i := range queue.MaxAttempts + 2 {
		m := r.one("jobs")
		if want := min(i, queue.MaxAttempts); len(m.Attempts) != want {
			r.Fatalf("receive %d shows %d attempts, want %d", i+1, len(m.Attempts), want)
		}
		if i > 0 {
			last := m.Attempts[len(m.Attempts)-1]
			r.fatalIf(last.Class != bezoar.Timeout || last.Worker != "w1" || last.Reason == "", "the lost lease shows as %+v", last)
		}
		r.age(time.Minute)
	}
}
