package queuetest

import (
	"slices"
	"sync"
	"time"

	"github.com/bezoar-dev/bezoar"
	"github.com/bezoar-dev/bezoar/internal/each"
	"github.com/bezoar-dev/bezoar/internal/test/pace"
	"github.com/bezoar-dev/bezoar/policy/poison"
	"github.com/bezoar-dev/bezoar/queue"
)

func caseTests() map[string]func(*rig) {
	return map[string]func(*rig){
		"ChangeCase": testChangeCase, "Pardon": testPardon, "ListCases": testListCases, "CasesMakeRoom": testCasesMakeRoom,
		"CasesAreForgotten": testCasesForgotten, "CasesOfADeletedQueue": testCasesDeleted,
	}
}

func (d *storeClient) set(p bezoar.Fingerprint, to *poison.Case) {
	d.Helper()
	d.must(d.store.ChangeCase(d.ctx(), d.q.ID, p, func(*poison.Case, int64) *poison.Case { return to }))
}

func testChangeCase(r *rig) {
	d := r.at("jobs", nil)
	var now int64
	full := poison.Case{State: poison.Suspect, Strikes: 3, Level: 2, Since: 1, Until: 3, Same: 4, Class: bezoar.OOM, Failure: "f", Reason: "ü"}
	change := func(want, to *poison.Case) {
		r.Helper()
		r.must(r.store.ChangeCase(r.ctx(), d.q.ID, work(1), func(c *poison.Case, at int64) *poison.Case {
			if now = at; (c == nil) != (want == nil) || c != nil && *c != *want {
				r.Errorf("the change was shown %+v, want %+v", c, want)
			}
			return to
		}))
	}
	change(nil, nil)
	d.wantUnknown(1)
	full.Touched = now
	proven := poison.Case{Proven: true, Touched: now}
	change(nil, &full)
	if got := d.known(1); got == nil || *got != full {
		r.Errorf("stored %+v, want %+v", got, full)
	}
	change(&full, &proven)
	d.wantState(1, poison.Watched)
	if off := time.Since(time.UnixMicro(now)); off < -time.Hour || off > time.Hour {
		r.Errorf("the store's clock is %v off", off)
	}
	change(&proven, nil)
	d.wantUnknown(1)
	err := r.store.ChangeCase(r.ctx(), 4711, work(1), func(*poison.Case, int64) *poison.Case { return nil })
	r.wantErr(err, queue.ErrQueueNotFound)
}

// What is said of a payload is said of those that are there already.
func testPardon(r *rig) {
	d := r.at("jobs", nil)
	d.convict(1)
	d.set(work(1), nil)
	d.put(1, "a", "b")
	d.one("a")
	d.take()
	d.set(work(1), &poison.Case{Proven: true, Touched: time.Now().UnixMicro()})
	d.take("b") // it need not wait any more
	d.put(2, "c")
	d.set(work(2), &poison.Case{State: poison.Suspect, Touched: time.Now().UnixMicro(), Class: bezoar.Crash, Reason: "convicted elsewhere"})
	d.alone("c")
}

func testListCases(r *rig) {
	d := r.at("jobs", nil)
	for i, s := range []poison.State{poison.Watched, poison.Suspect, poison.Quarantined, poison.Suspect} {
		d.set(work(byte(i+1)), &poison.Case{State: s, Touched: int64(1000 + i%3)})
	}
	list := func(state, limit int, want ...byte) {
		r.Helper()
		found, err := r.store.Cases(r.ctx(), d.q.ID, state, limit)
		r.must(err)
		got := each.Of(found, func(c queue.PayloadCase) byte { return c.Payload[0] })
		r.errorIf(!slices.Equal(got, want), "Cases(%d, %d) = %v, want %v", state, limit, got, want)
	}
	list(-1, 10, 3, 2, 1, 4)
	list(-1, 2, 3, 2)
	list(int(poison.Suspect), 10, 2, 4)
	list(int(poison.Quarantined), 10, 3)
}

// together runs f for 0 to n-1, some at a time.
func (r *rig) together(n int, f func(i int) error) {
	r.Helper()
	const at = 32
	var wg sync.WaitGroup
	for w := range at {
		wg.Go(func() {
			for i := w; i < n; i += at {
				if err := f(i); err != nil {
					r.Error(err)
					return
				}
			}
		})
	}
	wg.Wait()
}

// MaxCases is a bound whatever comes, and newcomers never evict convicts.
func testCasesMakeRoom(r *rig) {
	pace.Alone(r)
	d := r.at("jobs", nil)
	name := func(i int) bezoar.Fingerprint { return bezoar.Fingerprint{1, byte(i), byte(i >> 8)} }
	began := time.Now().UnixMicro()
	put := func(i int, s poison.State, touched int64) {
		d.set(name(i), &poison.Case{State: s, Touched: began + touched})
	}
	convict := func(i int) *poison.Case { return &poison.Case{State: poison.Quarantined, Touched: int64(i) + 1} }
	if r.harness.Convict != nil {
		all := make([]bezoar.Fingerprint, queue.MaxCases-3)
		for i := range all {
			all[i] = name(i)
		}
		r.harness.Convict(r.T, r.store, d.q.ID, all)
		for _, i := range []int{0, 1, len(all) - 1} { // they are as the store itself would have written them
			r.must(r.store.ChangeCase(r.ctx(), d.q.ID, name(i), func(c *poison.Case, _ int64) *poison.Case {
				r.errorIf(c == nil || *c != *convict(i), "case %d is %+v, want %+v", i, c, convict(i))
				return c
			}))
		}
	} else {
		r.together(queue.MaxCases-3, func(i int) error {
			return r.store.ChangeCase(r.ctx(), d.q.ID, name(i), func(*poison.Case, int64) *poison.Case { return convict(i) })
		})
	}
	put(20_001, poison.Suspect, -1000)
	put(20_002, poison.Watched, -10)
	put(20_003, poison.Watched, -20)
	there := func(i int, want bool) {
		r.Helper()
		r.must(r.store.ChangeCase(r.ctx(), d.q.ID, name(i), func(c *poison.Case, _ int64) *poison.Case {
			r.errorIf((c != nil) != want, "case %d is there: %v", i, c != nil)
			return c
		}))
	}
	put(20_004, poison.Watched, 0) // 20003 goes: the longest untouched, and no suspect
	there(20_003, false)
	there(20_002, true)
	put(20_002, poison.Watched, 0) // no newcomer
	there(20_004, true)
	put(20_005, poison.Quarantined, 0)
	put(20_006, poison.Quarantined, 0)
	there(20_002, false)
	there(20_004, false)
	there(20_001, true)
	put(20_007, poison.Quarantined, 0)
	there(20_001, false)
	put(20_008, poison.Suspect, 0) // nobody makes room
	there(20_008, false)
	there(0, true)
	d.put(9, "a", "b") // without a case the rules are the same
	d.one("a")
	d.take()
	d.wantUnknown(9)
}

func testCasesForgotten(r *rig) {
	d := r.at("jobs", func(s *queue.Settings) { s.Retention = queue.MaxRetention })
	d.convict(1)
	d.put(2, "a", "b")
	d.one("a")
	d.take()
	r.age(23*time.Hour + 50*time.Minute)
	r.clean()
	d.wantState(1, poison.Quarantined)
	d.wantState(2, poison.Watched)
	r.age(12 * time.Minute) // a day after the last copy, not yet one after the quarantine
	r.clean()
	d.wantUnknown(2)
	d.wantState(1, poison.Quarantined)
	d.only() // what waited is not forgotten
	r.age(15 * time.Minute)
	r.clean()
	d.wantUnknown(1)
}

func testCasesDeleted(r *rig) {
	d := r.at("jobs", nil)
	d.convict(1)
	r.must(r.DeleteQueue(r.ctx(), "jobs"))
	d = r.at("jobs", nil)
	d.wantUnknown(1)
	d.put(1, "a")
	d.take("a")
}

func testChangeCaseTogether(r *rig) {
	d := r.at("jobs", nil)
	r.together(100, func(int) error {
		return r.store.ChangeCase(r.ctx(), d.q.ID, work(1), func(c *poison.Case, now int64) *poison.Case {
			next := poison.Case{Touched: now}
			if c != nil {
				next = *c
			}
			next.Level++
			return &next
		})
	})
	if k := d.wantState(1, poison.Watched); k.Level != 100 {
		r.Errorf("of 100 changes %d are left", k.Level)
	}
}
