package ledger_test

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"go.uber.org/goleak"

	"github.com/bezoar-dev/bezoar"
	"github.com/bezoar-dev/bezoar/internal/dispatch/ledger"
	"github.com/bezoar-dev/bezoar/internal/store/memory"
	"github.com/bezoar-dev/bezoar/policy/blame"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// work is sent at once even when most of the fleet has just died.
func work(n byte) blame.Work {
	return blame.Work{Fingerprint: bezoar.Fingerprint{0: n, 1: 1}, Shape: bezoar.Fingerprint{0: n, 1: 2}, Waited: true}
}

// kept stands for a request.
type kept byte

func (k kept) Sample() string { return fmt.Sprintf("GET /%d", k) }
func (k kept) Keep() bezoar.Request {
	return bezoar.Request{Method: "GET", Target: fmt.Sprintf("/%d", k)}
}

// store is a memory store that can be made to fail or hang.
type store struct {
	ledger.Store
	fail atomic.Bool
	hang atomic.Bool
	puts atomic.Int64
}

func newStore(t *testing.T) *store {
	t.Helper()
	db, err := memory.Open(memory.Config{})
	if err != nil {
		t.Fatal(err)
	}
	return &store{Store: db.Ledger()}
}

func (s *store) fault(ctx context.Context) error {
	if s.hang.Load() {
		<-ctx.Done()
		return ctx.Err()
	}
	if s.fail.Load() {
		return errors.New("disk full")
	}
	return nil
}

func (s *store) PutVerdict(ctx context.Context, v bezoar.Verdict) error {
	s.puts.Add(1)
	if err := s.fault(ctx); err != nil {
		return err
	}
	return s.Store.PutVerdict(ctx, v)
}

func (s *store) PutLetter(ctx context.Context, l bezoar.Letter) (bezoar.Letter, error) {
	if err := s.fault(ctx); err != nil {
		return bezoar.Letter{}, err
	}
	return s.Store.PutLetter(ctx, l)
}

// rig is a ledger that runs, with lives to spend.
type rig struct {
	*ledger.Ledger
	t     *testing.T
	lives uint64
}

func open(t *testing.T, st ledger.Store, observe func(ledger.Event)) *rig {
	t.Helper()
	l, err := ledger.New(ledger.Config{Fleet: "test", Store: st, Observe: observe})
	if err != nil {
		t.Fatal(err)
	}
	return opened(t, l)
}

func opened(t *testing.T, l *ledger.Ledger) *rig {
	t.Helper()
	if err := l.Load(t.Context(), nil); err != nil {
		t.Fatal(err)
	}
	l.SetFleet(8)
	ctx, cancel := context.WithCancel(t.Context())
	var wg sync.WaitGroup
	wg.Go(func() { _ = l.Run(ctx) })
	t.Cleanup(func() { cancel(); wg.Wait() })
	return &rig{Ledger: l, t: t}
}

// kill lets w kill a worker, and returns whether it stands convicted.
func (b *rig) kill(w blame.Work) bool {
	b.t.Helper()
	t, d, _ := b.Admit(w)
	if d.Action >= blame.Duplicate { // no ticket
		b.t.Fatalf("admitted as %v", d.Action)
	}
	b.lives++
	b.Opened(b.lives)
	b.Begin(time.Now(), t, &w, b.lives, time.Time{}, d.Action == blame.ToLane)
	b.Ended(b.lives, false, bezoar.Evidence{Worker: "w", At: time.Now(), Class: bezoar.Crash, ExitCode: -1, Signal: "SIGSEGV"})
	f, ok := b.Finding(t)
	if !ok {
		b.t.Fatal("no finding")
	}
	b.Conclude(b.t.Context(), w, "/*", kept(w.Fingerprint[0]), f.Convicted)
	b.Close(t, w.Fingerprint)
	return f.Convicted
}

func (b *rig) refused(w blame.Work) bool {
	b.t.Helper()
	t, d, _ := b.Admit(w)
	switch d.Action {
	case blame.Refuse:
		b.Refused(w, "/*", kept(w.Fingerprint[0]))
		return true
	case blame.Duplicate:
		return false
	}
	b.Close(t, w.Fingerprint)
	return false
}

func TestAConvictionIsStoredBeforeAnybodyLearnsOfIt(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		st := newStore(t)
		var told []bezoar.Verdict
		b := open(t, st, func(e ledger.Event) {
			if e.Kind != blame.Convicted {
				return
			}
			told = append(told, e.Verdict)
			if vs, err := st.Verdicts(t.Context(), "test"); err != nil || len(vs) != 1 {
				t.Errorf("told before it was stored: %v, %v", vs, err)
			}
		})
		b.kill(work(1))
		if !b.kill(work(1)) {
			t.Fatal("not convicted")
		}
		ls, err := st.Letters(t.Context(), ledger.LetterQuery{})
		if err != nil || len(ls) != 1 || len(told) != 1 || ls[0].Verdict != told[0].ID || ls[0].Copies != 1 || ls[0].Route != "/*" {
			t.Errorf("letters %+v, told %+v, %v", ls, told, err)
		}
	})
}

func TestRefusedCopiesAreCountedOnOneLetter(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		st := newStore(t)
		b := open(t, st, nil)
		b.kill(work(1))
		b.kill(work(1))
		for range 500 {
			if !b.refused(work(1)) {
				t.Fatal("a copy was let through")
			}
		}
		time.Sleep(1500 * time.Millisecond) // of the bubble's time: one flush
		ls, err := st.Letters(t.Context(), ledger.LetterQuery{})
		if err != nil || len(ls) != 1 || ls[0].Copies != 501 || ls[0].First.Equal(ls[0].Last) {
			t.Errorf("letters %+v, %v", ls, err)
		}
	})
}

// Law 11: a store that fails costs persistence, not service, and is caught up
// with when it is back.
func TestLaw11AStoreThatFailsCostsNoService(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		st := newStore(t)
		b := open(t, st, nil)
		st.fail.Store(true)
		b.kill(work(1))
		if !b.kill(work(1)) || !b.refused(work(1)) {
			t.Error("no quarantine without a store")
		}
		st.fail.Store(false)
		time.Sleep(31 * time.Second) // of the bubble's time
		vs, err := st.Verdicts(t.Context(), "test")
		if err != nil || len(vs) != 1 || vs[0].State != bezoar.Quarantined {
			t.Errorf("after it came back it holds %+v, %v", vs, err)
		}
	})
}

// Law 11: a store that hangs is given up on. In real time: a lock that is held
// while the store hangs does not let a bubble's time pass.
func TestLaw11AStoreThatHangsCostsNoService(t *testing.T) {
	st := newStore(t)
	b := open(t, st, nil)
	st.hang.Store(true)
	defer st.hang.Store(false)
	b.kill(work(1))
	if !b.kill(work(1)) || !b.refused(work(1)) {
		t.Error("no quarantine while the store hangs")
	}
}

// Law 7: what was concluded is there after a restart.
func TestLaw7ARestartForgetsNoVerdict(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		st := newStore(t)
		b := open(t, st, nil)
		b.kill(work(1))
		b.kill(work(1))
		if _, err := b.Quarantine(t.Context(), ledger.Order{Work: blame.Work{Shape: work(2).Shape}, For: time.Hour, Reason: "no"}); err != nil {
			t.Fatal(err)
		}
		again := open(t, st, nil)
		for _, n := range []byte{1, 2} {
			if !again.refused(work(n)) {
				t.Errorf("work %d is let through after a restart", n)
			}
		}
		if again.refused(work(3)) {
			t.Error("other work is refused")
		}
		before, after := b.Verdicts(), again.Verdicts()
		if len(after) != 2 || len(before) != 2 || before[0].ID != after[0].ID && before[0].ID != after[1].ID {
			t.Errorf("before %+v, after %+v", before, after)
		}
	})
}

// Bezoar dies three times; each ledger begins with what the one before stored.
func TestBezoarsOwnDeath(t *testing.T) {
	pill := ledger.Record{Fingerprint: work(1).Fingerprint, Shape: work(1).Shape}
	busy := ledger.Record{Fingerprint: work(2).Fingerprint, Shape: work(2).Shape, Successes: 40}
	exempt := ledger.Record{Fingerprint: work(3).Fingerprint, Exempt: true}
	for _, tc := range []struct {
		name   string
		death  blame.SelfDeath
		flight []ledger.Record
		want   int // the death that convicts the pill; 0: none
	}{
		{"without proof", blame.SelfDeath{}, []ledger.Record{pill}, 0},
		{"a panic with it alone", blame.SelfDeath{Proof: blame.Panicked}, []ledger.Record{pill, pill}, 1},
		{"a panic with others", blame.SelfDeath{Proof: blame.Panicked}, []ledger.Record{pill, busy, exempt}, 0},
		{"a panic with another fleet's", blame.SelfDeath{Proof: blame.Panicked, Elsewhere: 1}, []ledger.Record{pill}, 0},
		{"no memory", blame.SelfDeath{Proof: blame.OutOfMemory}, []ledger.Record{pill, busy, exempt}, 2},
	} {
		t.Run(tc.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				st := newStore(t)
				for death := 1; death <= 3; death++ {
					var log strings.Builder
					l, err := ledger.New(ledger.Config{Fleet: "test", Store: st, Log: slog.New(slog.NewTextHandler(&log, nil))})
					if err != nil {
						t.Fatal(err)
					}
					if err := l.Load(t.Context(), &ledger.LastRun{Flight: tc.flight, Death: tc.death}); err != nil {
						t.Fatal(err)
					}
					if got := l.Convicted(blame.Work{Fingerprint: pill.Fingerprint}); got != (tc.want > 0 && death >= tc.want) {
						t.Errorf("after %d deaths convicted is %v", death, got)
					}
					for _, v := range l.Verdicts() {
						if v.Fingerprint != pill.Fingerprint {
							t.Errorf("after %d deaths against an innocent is held %+v", death, v)
						}
					}
					want := fmt.Sprintf("fleet=test in_flight=%d quarantined=%d ", len(tc.flight), map[bool]int{true: 1}[death == tc.want])
					if !strings.Contains(log.String(), want) {
						t.Errorf("the log lacks %q: %s", want, log.String())
					}
				}
			})
		})
	}
}

func TestDuplicatesAreWoken(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := open(t, nil, nil)
		first, _, _ := b.Admit(work(1))
		woken := 0
		var wg sync.WaitGroup
		for range 50 {
			_, d, wait := b.Admit(work(1))
			if d.Action != blame.Duplicate || wait == nil {
				t.Fatalf("a copy got %+v", d)
			}
			wg.Go(func() { <-wait })
			woken++
		}
		b.Opened(1)
		w := work(1)
		b.Begin(time.Now(), first, &w, 1, time.Time{}, false)
		b.Finish(time.Now(), first, w.Fingerprint, blame.Survived)
		wg.Wait() // a bubble in which somebody waits for ever panics
	})
}

func TestReleaseAndUnknownIDs(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		st := newStore(t)
		b := open(t, st, nil)
		b.kill(work(1))
		b.kill(work(1))
		v := b.Verdicts()[0]
		if got, err := b.Verdict(v.ID); err != nil || got.ID != v.ID {
			t.Errorf("%+v, %v", got, err)
		}
		if _, err := b.Release(t.Context(), v.ID); err != nil {
			t.Fatal(err)
		}
		if b.refused(work(1)) {
			t.Error("refused after the release")
		}
		if vs, _ := st.Verdicts(t.Context(), "test"); len(vs) != 0 {
			t.Errorf("the store still holds %+v", vs)
		}
		if _, err := b.Release(t.Context(), v.ID); !errors.Is(err, ledger.ErrNotFound) {
			t.Errorf("a second release: %v", err)
		}
		if _, err := b.Verdict("q-nonsense"); !errors.Is(err, ledger.ErrNotFound) {
			t.Errorf("nonsense: %v", err)
		}
		if _, err := b.Quarantine(t.Context(), ledger.Order{For: time.Hour}); err == nil {
			t.Error("an order for nothing was taken")
		}
	})
}

func TestConcurrentUse(t *testing.T) {
	st := newStore(t)
	b := open(t, st, func(ledger.Event) {})
	var wg sync.WaitGroup
	var lives atomic.Uint64
	for g := range 8 {
		wg.Go(func() {
			for i := range 300 {
				w := work(byte(i % 40))
				tk, d, wait := b.Admit(w)
				switch d.Action {
				case blame.Refuse:
					b.Refused(w, "/*", kept(1))
					continue
				case blame.Duplicate:
					select {
					case <-wait:
					case <-time.After(time.Millisecond):
					}
					continue
				}
				e := lives.Add(1)
				b.Opened(e)
				b.Begin(time.Now(), tk, &w, e, time.Time{}, d.Action == blame.ToLane)
				b.Begun(time.Now(), tk)
				if (i+g)%17 == 0 {
					b.Ended(e, false, bezoar.Evidence{Worker: fmt.Sprint(g), At: time.Now(), Class: bezoar.Crash})
					f, _ := b.Finding(tk)
					b.Conclude(t.Context(), w, "/*", kept(1), f.Convicted)
					b.Close(tk, w.Fingerprint)
					continue
				}
				b.Finish(time.Now(), tk, w.Fingerprint, blame.Survived)
				b.Ended(e, true, bezoar.Evidence{})
			}
		})
	}
	wg.Go(func() {
		for range 50 {
			for _, v := range b.Verdicts() {
				_, _ = b.Release(t.Context(), v.ID)
			}
		}
	})
	wg.Wait()
}

func ExampleLedger() {
	l, err := ledger.New(ledger.Config{Fleet: "search"})
	if err != nil {
		panic(err)
	}
	l.Opened(1)
	w := blame.Work{Fingerprint: bezoar.Fingerprint{1}}
	t, decision, _ := l.Admit(w)
	fmt.Println(decision.Action == blame.ToFleet)
	l.Begin(time.Now(), t, &w, 1, time.Time{}, false)
	l.Ended(1, false, bezoar.Evidence{Worker: "search-1", Class: bezoar.Crash})
	f, _ := l.Finding(t)
	fmt.Println(f.Share, f.Convicted)
	l.Close(t, w.Fingerprint)
	_, decision, _ = l.Admit(w)
	fmt.Println(decision.Action == blame.ToLane)
	// Output:
	// true
	// 1 false
	// true
}

func BenchmarkAttempt(b *testing.B) {
	l, err := ledger.New(ledger.Config{Fleet: "bench"})
	if err != nil {
		b.Fatal(err)
	}
	l.Opened(1)
	w := work(1)
	b.ReportAllocs()
	for b.Loop() {
		t, _, _ := l.Admit(w)
		l.Begin(time.Now(), t, &w, 1, time.Time{}, false)
		l.Finish(time.Now(), t, w.Fingerprint, blame.Survived)
	}
}
