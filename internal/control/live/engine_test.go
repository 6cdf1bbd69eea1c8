package live_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/bezoar-dev/bezoar/internal/control/live"
)

// inBubble runs a test in virtual time, over one memory store.
func inBubble(t *testing.T, test func(t *testing.T, s live.Store)) {
	synctest.Test(t, func(t *testing.T) { test(t, newStore(t)) })
}

// pass lets time pass.
func pass(d time.Duration) {
	time.Sleep(d)
	synctest.Wait()
}

// soon is longer than a poll and applying.
const soon = 100*time.Millisecond + 10*time.Millisecond

func (r *rig) wantLast(want string) {
	r.t.Helper()
	if got := r.last(); got != want {
		r.t.Errorf("%s runs %q, want %q", r.live.Status().Node, got, want)
	}
}

func (r *rig) override(o live.Override, d time.Duration) live.Override {
	r.t.Helper()
	o.Until, o.By = time.Now().Add(d), "ann"
	o, err := r.live.Override(r.t.Context(), o)
	if err != nil {
		r.t.Fatal(err)
	}
	return o
}

func TestEveryNodeFollowsWithinThePoll(t *testing.T) {
	inBubble(t, func(t *testing.T, s live.Store) {
		var nodes []*rig
		for i := range 3 {
			nodes = append(nodes, node(t, s, live.Config{Node: fmt.Sprint("n", i)}).start())
		}
		pass(time.Second)
		for i := range 9 {
			from := nodes[i%3]
			v := from.put(fmt.Sprint("n: ", i))
			want := fmt.Sprintf("%d: n: %d []", i+1, i)
			from.wantLast(want) // at once
			pass(soon)
			for _, n := range nodes {
				n.wantLast(want)
			}
			if v.Number != int64(i+1) || v.By != "ann" || v.Source != live.FromAPI || v.Text != nil {
				t.Errorf("Put returned %+v", v)
			}
		}
		pass(3 * time.Second) // a beat and more
		for _, n := range nodes {
			status := n.live.Status()
			if len(status.Nodes) != 3 {
				t.Fatalf("%s lists %+v", status.Node, status.Nodes)
			}
			for i, there := range status.Nodes {
				if there.Name != fmt.Sprint("n", i) || there.Running != 9 || there.Wanted != 9 || there.Error != "" {
					t.Errorf("%s says of another: %+v", status.Node, there)
				}
			}
		}
		nodes[2].stop()
		pass(13 * time.Second)
		if found := nodes[0].live.Status().Nodes; len(found) != 2 {
			t.Errorf("a node that is gone is listed: %+v", found)
		}
	})
}

func TestOneThatIsCutOffGoesOnAndCatchesUp(t *testing.T) {
	inBubble(t, func(t *testing.T, s live.Store) {
		a, b := node(t, s, live.Config{Node: "a"}).start(), node(t, s, live.Config{Node: "b"}).start()
		a.put("n: 1")
		o := a.override(live.Override{Caller: "x", What: live.Deny}, time.Minute)
		pass(soon)
		b.wantLast(fmt.Sprintf("1: n: 1 [%s]", o.ID))

		b.store.cut(true)
		pass(time.Second)
		if status := b.live.Status(); status.Store.Error == "" || !b.saw(live.StoreLost) {
			t.Errorf("the loss is not seen: %+v", status.Store)
		}
		if a.live.Status().Store.Error != "" {
			t.Error("a lost the store too")
		}
		a.put("n: 2")
		a.put("n: 3")
		if _, err := b.live.Put(t.Context(), []byte("n: 4"), "bob", ""); !errors.Is(err, errDown) {
			t.Errorf("Put without a store = %v", err)
		}
		if _, err := b.live.Reload(t.Context()); err != nil {
			t.Errorf("Reload without a store = %v", err)
		}
		pass(time.Minute)
		b.wantLast("1: n: 1 []") // the override has ended there too

		b.store.cut(false)
		pass(soon)
		b.wantLast("3: n: 3 []")
		if status := b.live.Status(); status.Store.Error != "" || !b.saw(live.StoreBack) {
			t.Errorf("the return is not seen: %+v", status.Store)
		}
		b.mu.Lock()
		defer b.mu.Unlock()
		lost := 0
		for _, e := range b.events {
			if e.Kind == live.StoreLost {
				lost++
			}
		}
		if lost != 1 {
			t.Errorf("one loss is told %d times", lost)
		}
	})
}

// early is a store whose clock is ahead of everybody's.
type early struct{ live.Store }

const ahead = 50 * time.Hour

func (e early) Overrides(ctx context.Context) ([]live.Override, time.Time, error) {
	found, now, err := e.Store.Overrides(ctx)
	for i := range found {
		found[i].Since, found[i].Until = found[i].Since.Add(ahead), found[i].Until.Add(ahead)
	}
	return found, now.Add(ahead), err
}

func TestOverridesEndByTheStoresClock(t *testing.T) {
	inBubble(t, func(t *testing.T, s live.Store) {
		a, b := node(t, early{s}, live.Config{Node: "a"}).start(), node(t, early{s}, live.Config{Node: "b"}).start()
		a.put("n: 1")
		one := a.override(live.Override{Route: "/a", What: live.Rate, Factor: 0.5}, time.Minute)
		pass(10 * time.Second)
		two := b.override(live.Override{Route: "/b", What: live.Rate, Factor: 2}, time.Hour)
		pass(soon)
		both := fmt.Sprintf("1: n: 1 [%s %s]", one.ID, two.ID)
		a.wantLast(both)
		b.wantLast(both)
		if o := b.live.Status().Overrides; len(o) != 2 || o[0].Factor != 0.5 || o[0].By != "ann" {
			t.Errorf("the status lists %+v", o)
		}
		pass(50*time.Second - 2*soon)
		a.wantLast(both)
		pass(2 * soon)
		a.wantLast(fmt.Sprintf("1: n: 1 [%s]", two.ID))
		b.wantLast(fmt.Sprintf("1: n: 1 [%s]", two.ID))
		if err := a.live.Lift(t.Context(), two.ID); err != nil {
			t.Fatal(err)
		}
		a.wantLast("1: n: 1 []")
		pass(soon)
		b.wantLast("1: n: 1 []")
		if err := a.live.Lift(t.Context(), two.ID); !errors.Is(err, live.ErrNotFound) {
			t.Errorf("Lift again = %v", err)
		}
		calls := a.calls()
		pass(time.Hour)
		if a.calls() != calls {
			t.Errorf("Apply was called %d times for nothing", a.calls()-calls)
		}
	})
}

// A store that hangs holds up neither the ends of overrides nor a stop.
func TestHangingStore(t *testing.T) {
	inBubble(t, func(t *testing.T, s live.Store) {
		a := node(t, s, live.Config{Timeout: time.Minute}).start()
		a.put("n: 1")
		a.override(live.Override{Route: "/a", What: live.Deny}, time.Second)
		a.store.mu.Lock()
		a.store.hang = true
		a.store.mu.Unlock()
		pass(time.Second + 10*time.Millisecond)
		a.wantLast("1: n: 1 []")
		began := time.Now()
		a.stop()
		if took := time.Since(began); took > 0 {
			t.Errorf("stopping took %v", took)
		}
	})
}

func TestWhatCannotBeAppliedKeepsTheOld(t *testing.T) {
	inBubble(t, func(t *testing.T, s live.Store) {
		a, b := node(t, s, live.Config{Node: "a"}).start(), node(t, s, live.Config{Node: "b"}).start()
		a.put("n: 1")
		pass(soon)
		boom := errors.New("line 3: port 80 is taken")
		b.fail("n: 2", boom)
		a.put("n: 2")
		pass(soon)
		a.wantLast("2: n: 2 []")
		b.wantLast("1: n: 1 []")
		status := b.live.Status()
		if status.Running.Number != 1 || status.Wanted.Number != 2 || !strings.Contains(status.Error, "line 3: port 80 is taken") || !b.saw(live.Failed) {
			t.Errorf("b says %+v", status)
		}
		pass(3 * time.Second)
		if there := a.live.Status().Nodes; len(there) != 2 || there[1].Running != 1 || there[1].Wanted != 2 || !strings.Contains(there[1].Error, "port 80") {
			t.Errorf("a says of b: %+v", there)
		}
		// Overrides follow all the same.
		o := a.override(live.Override{Plan: "free", What: live.Deny}, time.Hour)
		pass(soon)
		b.wantLast(fmt.Sprintf("1: n: 1 [%s]", o.ID))
		// What was in the way goes away.
		b.fail("n: 2", nil)
		pass(10 * time.Second)
		b.wantLast(fmt.Sprintf("2: n: 2 [%s]", o.ID))
		if status := b.live.Status(); status.Error != "" || status.Running.Number != 2 || !status.ErrorAt.IsZero() {
			t.Errorf("b says %+v", status)
		}
		// A newer version replaces one that cannot be applied.
		b.fail("n: 3", boom)
		v, err := b.live.Put(t.Context(), []byte("n: 3"), "bob", "")
		var failed *live.ApplyError
		if !errors.As(err, &failed) || !errors.Is(err, boom) || v.Number != 3 {
			t.Errorf("Put = %+v, %v", v, err)
		}
		b.put("n: 4")
		b.wantLast(fmt.Sprintf("4: n: 4 [%s]", o.ID))
	})
}

func TestOverridesThatCannotBeAppliedAreTriedAgain(t *testing.T) {
	inBubble(t, func(t *testing.T, s live.Store) {
		a := node(t, s, live.Config{}).start()
		a.put("n: 1")
		a.fail("n: 1", errors.New("no such route"))
		o := a.override(live.Override{Route: "/x", What: live.Deny}, time.Hour)
		a.wantLast("1: n: 1 []")
		if status := a.live.Status(); !strings.Contains(status.Error, "no such route") || len(status.Overrides) != 0 {
			t.Errorf("the status is %+v", status)
		}
		a.fail("n: 1", nil)
		pass(10 * time.Second)
		a.wantLast(fmt.Sprintf("1: n: 1 [%s]", o.ID))
		if status := a.live.Status(); status.Error != "" {
			t.Errorf("the status is %+v", status)
		}
	})
}

func TestPutRefuses(t *testing.T) {
	inBubble(t, func(t *testing.T, s live.Store) {
		a := node(t, s, live.Config{}).start()
		a.put("n: 1")
		for name, put := range map[string]struct {
			text, by string
			say      string
		}{
			"invalid":   {"n: 2\nbroken\n", "ann", "line 2: no colon"},
			"empty":     {"", "ann", "empty"},
			"blank":     {" \n", "ann", "empty"},
			"by nobody": {"n: 2", "", "By"},
			"too long":  {strings.Repeat("#", live.MaxText+1), "ann", "Text"},
		} {
			v, err := a.live.Put(t.Context(), []byte(put.text), put.by, "")
			if err == nil || !strings.Contains(err.Error(), put.say) || v.Number != 0 {
				t.Errorf("%s: Put = %+v, %v", name, v, err)
			}
		}
		var invalid *live.InvalidError
		if _, err := a.live.Put(t.Context(), []byte("broken"), "ann", ""); !errors.As(err, &invalid) {
			t.Errorf("Put = %v, want an InvalidError", err)
		}
		for _, o := range []live.Override{
			{ID: "mine", Route: "/x", What: live.Deny, By: "ann", Until: time.Now().Add(time.Hour)},
			{Route: "/x", What: live.Deny, By: "ann", Until: time.Now().Add(-time.Hour)},
			{Route: "/x", What: live.Deny, By: "ann", Until: time.Now().Add(31 * 24 * time.Hour)},
			{Route: "/x", What: "weather", By: "ann", Until: time.Now().Add(time.Hour)},
		} {
			if got, err := a.live.Override(t.Context(), o); err == nil {
				t.Errorf("Override(%+v) = %+v", o, got)
			}
		}
		if history, err := a.live.History(t.Context(), 0); err != nil || len(history) != 1 {
			t.Errorf("the history is %+v, %v", history, err)
		}
		a.wantLast("1: n: 1 []")
	})
}

func TestCheckOverride(t *testing.T) {
	inBubble(t, func(t *testing.T, s live.Store) {
		noRoute := errors.New("there is no route /y")
		a := node(t, s, live.Config{CheckOverride: func(o live.Override) error {
			if o.Route == "/y" {
				return noRoute
			}
			return nil
		}}).start()
		a.put("n: 1")
		o := live.Override{Route: "/y", What: live.Deny, By: "ann", Until: time.Now().Add(time.Hour)}
		if _, err := a.live.Override(t.Context(), o); !errors.Is(err, noRoute) {
			t.Errorf("Override = %v", err)
		}
		a.override(live.Override{Route: "/z", What: live.Deny}, time.Hour)
	})
}

func TestPutIfComparesAndSwaps(t *testing.T) {
	inBubble(t, func(t *testing.T, s live.Store) {
		a, b := node(t, s, live.Config{Node: "a"}).start(), node(t, s, live.Config{Node: "b"}).start()
		if _, err := a.live.PutIf(t.Context(), 0, []byte("n: 1"), "ann", "first"); err != nil {
			t.Fatal(err)
		}
		if _, err := b.live.PutIf(t.Context(), 0, []byte("n: 2"), "bob", ""); !errors.Is(err, live.ErrConflict) || !strings.Contains(err.Error(), "ann") {
			t.Errorf("PutIf = %v", err)
		}
		v, err := b.live.PutIf(t.Context(), 1, []byte("n: 2"), "bob", "second")
		if err != nil || v.Number != 2 || v.Note != "second" {
			t.Errorf("PutIf = %+v, %v", v, err)
		}
		// Put goes on top without asking; the same text makes no version.
		if v := a.put("n: 3"); v.Number != 3 {
			t.Errorf("Put made version %d", v.Number)
		}
		if v := b.put("n: 3"); v.Number != 3 {
			t.Errorf("Put of the newest text made version %d", v.Number)
		}
	})
}

func TestRollback(t *testing.T) {
	inBubble(t, func(t *testing.T, s live.Store) {
		a, b := node(t, s, live.Config{Node: "a"}).start(), node(t, s, live.Config{Node: "b"}).start()
		a.put("n: 1\nm: 1\n")
		a.put("n: 1\nm: 2\n")
		v, err := b.live.Rollback(t.Context(), 1, "bob")
		if err != nil || v.Number != 3 || v.Source != live.FromRollback || v.By != "bob" || v.Note != "back to version 1" {
			t.Fatalf("Rollback = %+v, %v", v, err)
		}
		pass(soon)
		a.wantLast("3: n: 1\nm: 1 []")
		if _, err := a.live.Rollback(t.Context(), 9, "bob"); !errors.Is(err, live.ErrNotFound) {
			t.Errorf("Rollback to none = %v", err)
		}
		diff := a.diff(2, 3)
		want := "--- version 2\n+++ version 3\n@@ -1,2 +1,2 @@\n n: 1\n-m: 2\n+m: 1\n"
		if diff != want {
			t.Errorf("the diff is\n%s", diff)
		}
		history, err := a.live.History(t.Context(), 2)
		if err != nil || len(history) != 2 || history[0].Number != 3 || history[1].Number != 2 || history[0].Text != nil {
			t.Errorf("History = %+v, %v", history, err)
		}
	})
}

// What a put would come to is known before it is made.
func TestTry(t *testing.T) {
	inBubble(t, func(t *testing.T, s live.Store) {
		a, b := node(t, s, live.Config{Node: "a"}).start(), node(t, s, live.Config{Node: "b"}).start()
		a.put("n: 1\n")
		invalid := errors.New("an InvalidError")
		for _, c := range []struct {
			base   int64
			text   string
			number int64
			err    error
		}{
			{-1, "n: 2\n", 2, nil},
			{1, "n: 2\n", 2, nil},
			{1, "n: 1\n", 1, nil},
			{0, "n: 2\n", 0, live.ErrConflict},
			{3, "n: 2\n", 0, live.ErrConflict},
			{-1, "broken\n", 0, invalid},
			{-1, " \n", 0, invalid},
		} {
			would, newest, err := b.live.Try(t.Context(), c.base, []byte(c.text))
			if _, ok := errors.AsType[*live.InvalidError](err); ok {
				err = invalid
			}
			if !errors.Is(err, c.err) || would.Number != c.number || newest.Number != 1 || err == nil && string(would.Text) != c.text {
				t.Errorf("%q on %d: %+v on %+v, %v", c.text, c.base, would, newest, err)
			}
		}
		if _, _, err := b.live.Try(t.Context(), -1, make([]byte, live.MaxText+1)); err == nil {
			t.Error("too long a text would be put")
		}
		if history, err := b.live.History(t.Context(), 0); err != nil || len(history) != 1 {
			t.Errorf("%+v, %v", history, err)
		}
	})
}

func TestStart(t *testing.T) {
	inBubble(t, func(t *testing.T, s live.Store) {
		empty := node(t, s, live.Config{})
		if err := empty.live.Start(t.Context()); !errors.Is(err, live.ErrNotFound) {
			t.Errorf("Start with nothing = %v", err)
		}
		empty.start() // waits for something
		for i := 1; i <= 3; i++ {
			empty.put(fmt.Sprint("n: ", i))
		}
		// The newest that can be applied runs, and it is said which should.
		late := node(t, s, live.Config{Node: "late"})
		late.fail("n: 3", errors.New("not here"))
		late.fail("n: 2", errors.New("nor that"))
		if err := late.live.Start(t.Context()); err != nil {
			t.Fatal(err)
		}
		late.wantLast("1: n: 1 []")
		if status := late.live.Status(); status.Running.Number != 1 || status.Wanted.Number != 3 || !strings.Contains(status.Error, "not here") {
			t.Errorf("it says %+v", status)
		}
		late.fail("n: 3", nil)
		late.start()
		pass(11 * time.Second)
		late.wantLast("3: n: 3 []")
		// Nothing can be applied.
		none := node(t, s, live.Config{Node: "none"})
		for i := 1; i <= 3; i++ {
			none.fail(fmt.Sprint("n: ", i), errors.New("broken"))
		}
		var failed *live.ApplyError
		if err := none.live.Start(t.Context()); !errors.As(err, &failed) || failed.Version != 3 {
			t.Errorf("Start = %v", err)
		}
		if none.last() != "" {
			t.Errorf("it runs %s", none.last())
		}
	})
}

// damaged is a store that returns another text than it was given.
type damaged struct{ live.Store }

func (d damaged) Version(ctx context.Context, n int64) (live.Version, error) {
	v, err := d.Store.Version(ctx, n)
	if v.Number == 2 {
		v.Text = slices.Concat(v.Text, []byte("x"))
	}
	return v, err
}

func TestDamagedTextDoesNotRun(t *testing.T) {
	inBubble(t, func(t *testing.T, s live.Store) {
		a, b := node(t, s, live.Config{Node: "a"}).start(), node(t, damaged{s}, live.Config{Node: "b"}).start()
		a.put("n: 1")
		a.put("n: 2")
		pass(time.Second)
		if status := b.live.Status(); !strings.Contains(status.Store.Error, "damaged") || b.last() == "2: n: 2 []" {
			t.Errorf("b runs %q and says %+v", b.last(), status.Store)
		}
		a.put("n: 3")
		pass(soon)
		b.wantLast("3: n: 3 []")
	})
}

// A caller that hangs up does not undo what it has put.
func TestPutOutlivesItsCaller(t *testing.T) {
	inBubble(t, func(t *testing.T, s live.Store) {
		a := node(t, s, live.Config{}).start()
		ctx, cancel := context.WithCancel(t.Context())
		a.live.Status()
		time.AfterFunc(time.Millisecond/2, cancel) // while it is applied
		if v, err := a.live.Put(ctx, []byte("n: 1"), "ann", ""); err != nil || v.Number != 1 {
			t.Errorf("Put = %+v, %v", v, err)
		}
		a.wantLast("1: n: 1 []")
		if _, err := a.live.Put(ctx, []byte("n: 2"), "ann", ""); !errors.Is(err, context.Canceled) {
			t.Errorf("Put of one who is gone = %v", err)
		}
	})
}

func TestConfigNamesItsFaults(t *testing.T) {
	err := live.Config{Poll: -1, SlowPoll: 2 * time.Hour, Settle: time.Minute, Beat: -1, Timeout: -1}.Validate()
	for _, field := range []string{"Store", "Apply", "Node", "Poll", "SlowPoll", "Settle", "Beat", "Timeout"} {
		if err == nil || !strings.Contains(err.Error(), field+": ") {
			t.Errorf("%v does not name %s", err, field)
		}
	}
	if _, err := live.New(live.Config{}); err == nil {
		t.Error("New accepted nothing")
	}
	if s := (live.Config{Path: "/etc/b.yaml", Node: "n"}).String(); !strings.Contains(s, "/etc/b.yaml") {
		t.Errorf("it prints as %s", s)
	}
}
