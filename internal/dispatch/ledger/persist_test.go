package ledger_test

import (
	"bytes"
	"fmt"
	"log/slog"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/bezoar-dev/bezoar"
	"github.com/bezoar-dev/bezoar/internal/dispatch/ledger"
	"github.com/bezoar-dev/bezoar/policy/blame"
)

func ids(vs []bezoar.Verdict) (ids []string) {
	for _, v := range vs {
		ids = append(ids, v.ID)
	}
	slices.Sort(ids)
	return ids
}

// well shows that the fleet answers: what dies in between is the work's doing.
func (b *rig) well() {
	b.lives++
	b.Opened(b.lives)
	for n := range byte(30) {
		w := work(200 + n)
		t, _, _ := b.Admit(w)
		b.Begin(time.Now(), t, &w, b.lives, time.Time{}, false)
		b.Finish(time.Now(), t, w.Fingerprint, blame.Survived)
	}
}

// convict has w convicted.
func (b *rig) convict(w blame.Work) {
	b.t.Helper()
	b.well()
	b.kill(w)
	b.well()
	for i := 0; !b.kill(w); i++ {
		if i == 2 {
			b.t.Fatalf("%v is not convicted", w.Fingerprint)
		}
		b.well()
	}
}

// A store that was away holds what the ledger holds when it is back: also
// without what was let go meanwhile.
func TestTheStoreCatchesUpWithReleasesToo(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		st := newStore(t)
		b := open(t, st, nil)
		b.convict(work(1))
		b.convict(work(2))
		st.fail.Store(true)
		b.convict(work(3))
		for _, v := range b.Verdicts() {
			if v.Fingerprint == work(1).Fingerprint {
				if _, err := b.Release(t.Context(), v.ID); err != nil {
					t.Fatal(err)
				}
			}
		}
		st.fail.Store(false)
		time.Sleep(3 * time.Second) // of the bubble's time
		synctest.Wait()
		stored, err := st.Verdicts(t.Context(), "test")
		if err != nil || len(stored) != 2 || !slices.Equal(ids(stored), ids(b.Verdicts())) {
			t.Errorf("the store holds %v, the ledger %v (%v)", ids(stored), ids(b.Verdicts()), err)
		}
	})
}

// An outage is told when it begins, once a minute, and when it ends, however
// often the store is tried and whatever waits for it.
func TestAnOutageIsNoFlood(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var buf bytes.Buffer // read when nobody writes
		st := newStore(t)
		l, err := ledger.New(ledger.Config{Fleet: "test", Store: st, Log: slog.New(slog.NewTextHandler(&buf, &slog.HandlerOptions{Level: slog.LevelError}))})
		if err != nil {
			t.Fatal(err)
		}
		b := opened(t, l)
		st.fail.Store(true)
		for n := range byte(3) {
			b.convict(work(n))
		}
		time.Sleep(150 * time.Second) // of the bubble's time
		st.fail.Store(false)
		time.Sleep(10 * time.Second)
		synctest.Wait()
		stored, err := st.Verdicts(t.Context(), "test")
		if err != nil || len(stored) != 3 {
			t.Errorf("%d verdicts are stored, %v", len(stored), err)
		}
		if n := strings.Count(buf.String(), "\n"); n != 4 { // the verdict that was first, and three minutes begun
			t.Errorf("logged %d lines:\n%s", n, &buf)
		}
	})
}

// The counts of refused copies reach the store now and then, without evidence
// getting lost.
func TestRefusedCopiesReachTheStore(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		st := newStore(t)
		b := open(t, st, nil)
		b.kill(work(1))
		b.kill(work(1))
		for range 7 {
			b.refused(work(1))
		}
		before := st.puts.Load()
		time.Sleep(35 * time.Second) // of the bubble's time
		synctest.Wait()
		vs, err := st.Verdicts(t.Context(), "test")
		if err != nil || len(vs) != 1 || vs[0].Refused != 7 || len(vs[0].Evidence) != 2 || vs[0].Sample != "GET /1" {
			t.Errorf("stored %+v, %v", vs, err)
		}
		if n := st.puts.Load() - before; n != 1 {
			t.Errorf("%d writes for one verdict that has changed once", n)
		}
	})
}

// After the first write that hangs nobody waits for the store. In real time,
// as locks are held meanwhile.
func TestAStoreThatHangsIsWaitedForOnce(t *testing.T) {
	st := newStore(t)
	b := open(t, st, nil)
	st.hang.Store(true)
	defer st.hang.Store(false)
	b.convict(work(1)) // this one waits
	start := time.Now()
	for n := byte(2); n < 12; n++ {
		b.convict(work(n))
		if !b.refused(work(n)) {
			t.Errorf("work %d is let through", n)
		}
	}
	if took := time.Since(start); took > 10*time.Second { // to wait each time would take twice as long
		t.Errorf("ten convictions took %v over a store that hangs", took)
	}
}

// Decisions are told one at a time, in the order in which they were made.
func TestDecisionsAreToldInOrder(t *testing.T) {
	var (
		telling atomic.Int32
		states  = map[string]blame.EventKind{}
		clashes atomic.Int32
		wrong   atomic.Int32
	)
	st := newStore(t)
	b := open(t, st, func(e ledger.Event) {
		if telling.Add(1) != 1 {
			clashes.Add(1)
		}
		defer telling.Add(-1)
		if e.Verdict.ID == "" {
			return
		}
		last, known := states[e.Verdict.ID]
		switch {
		case e.Kind == blame.Pardoned || e.Kind == blame.Released || e.Kind == blame.Dropped:
			if !known {
				wrong.Add(1)
			}
			delete(states, e.Verdict.ID)
			return
		case e.Kind == blame.Suspect && known && last == blame.Convicted:
			wrong.Add(1)
		}
		states[e.Verdict.ID] = e.Kind
	})
	var lives atomic.Uint64
	var wg sync.WaitGroup
	for g := range 8 {
		wg.Go(func() {
			for i := range 200 {
				w := work(byte((i + g) % 30))
				tk, d, _ := b.Admit(w)
				if d.Action == blame.Refuse || d.Action == blame.Duplicate {
					continue
				}
				e := lives.Add(1)
				b.Opened(e)
				b.Begin(time.Now(), tk, &w, e, time.Time{}, d.Action == blame.ToLane)
				if (i+g)%5 == 0 {
					b.Ended(e, false, bezoar.Evidence{Worker: fmt.Sprint(g), Class: bezoar.Crash})
				} else {
					b.End(tk, blame.Survived)
				}
				b.Close(tk, w.Fingerprint)
			}
		})
	}
	wg.Wait()
	if clashes.Load() != 0 || wrong.Load() != 0 {
		t.Errorf("%d events were told at once, %d out of order", clashes.Load(), wrong.Load())
	}
	stored, err := st.Verdicts(t.Context(), "test")
	if err != nil {
		t.Fatal(err)
	}
	var held []bezoar.Verdict
	for _, v := range b.Verdicts() {
		if v.State != bezoar.Suspected {
			held = append(held, v)
		}
	}
	kept := slices.DeleteFunc(stored, func(v bezoar.Verdict) bool { return v.State == bezoar.Suspected })
	if !slices.Equal(ids(kept), ids(held)) {
		t.Errorf("stored %v, held %v", ids(kept), ids(held))
	}
}

func BenchmarkUnprovenAttemptAmongConvicts(b *testing.B) {
	l, err := ledger.New(ledger.Config{Fleet: "bench"})
	if err != nil {
		b.Fatal(err)
	}
	for n := range uint32(1 << 16) {
		w := unique(1<<31 + n)
		w.Shape = bezoar.Fingerprint{}
		if _, err := l.Quarantine(b.Context(), ledger.Order{Work: w, For: time.Hour}); err != nil {
			b.Fatal(err)
		}
	}
	l.Opened(1)
	n := uint32(0)
	b.ReportAllocs()
	for b.Loop() {
		n++
		w := unique(n)
		t, _, _ := l.Admit(w)
		l.Begin(time.Now(), t, &w, 1, time.Time{}, false)
		l.Finish(time.Now(), t, w.Fingerprint, blame.Survived)
	}
}
