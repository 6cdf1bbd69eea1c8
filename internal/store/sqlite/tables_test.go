package sqlite

import (
	"context"
	"errors"
	"runtime"
	"testing"
	"time"

	"github.com/bezoar-dev/bezoar/flow"
	"github.com/bezoar-dev/bezoar/quota"
)

// beside calls f while the writer is busy, and lets a write that fails follow in the same transaction: what f writes runs
// twice.
func beside(t *testing.T, db *DB, f func()) {
	t.Helper()
	release := stall(t, db)
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		f()
	}()
	for waiting := 0; waiting == 0; runtime.Gosched() {
		db.writer.mu.Lock()
		waiting = len(db.writer.pending)
		db.writer.mu.Unlock()
	}
	failed := enqueue(t.Context(), db, func(tx) error { return errors.New("on purpose") })
	release()
	<-ended
	if err := <-failed; err == nil {
		t.Error("the other write did not fail")
	}
}

// A transaction that runs again returns only what its last run read.
func TestATransactionThatRunsAgainForgetsWhatItRead(t *testing.T) {
	db := openTest(t)
	beside(t, db, func() {
		totals, err := db.Quota().AddCounts(t.Context(), quota.Batch{Node: "n", Seq: 1, Counts: []quota.Count{
			{Row: quota.Row{Quota: 1, Bucket: 1}, N: 2, Keep: time.Hour}, {Row: quota.Row{Quota: 1, Bucket: 2}, N: 3, Keep: time.Hour},
		}})
		if err != nil || len(totals.N) != 2 || totals.N[0] != 2 || totals.N[1] != 3 {
			t.Errorf("it returned %+v, %v", totals, err)
		}
	})
}

// A caller whose context ends while its transaction runs shares nothing with it: the race detector would see it.
func TestACallerThatLeavesSharesNothingWithItsTransaction(t *testing.T) {
	db := openTest(t)
	for range 20 {
		ctx, cancel := context.WithCancel(t.Context())
		left := make(chan struct{})
		go func() {
			defer close(left)
			for ctx.Err() == nil {
				n, err := db.Flow().Renew(ctx, flow.Node{Name: "n", Slots: 1}, time.Minute)
				if err != nil && n.Until != (time.Time{}) {
					t.Errorf("with %v it returned %+v", err, n)
				}
			}
		}()
		for range 3 { // it is somewhere in a transaction then
			if _, err := db.Flow().Renew(t.Context(), flow.Node{Name: "other", Slots: 1}, time.Nanosecond); err != nil && !errors.Is(err, flow.ErrFenced) {
				t.Error(err)
			}
		}
		cancel()
		<-left
	}
}
