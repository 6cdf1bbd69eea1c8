package queuetest

import (
	"fmt"
	"time"

	"github.com/bezoar-dev/bezoar/internal/test/pace"
	"github.com/bezoar-dev/bezoar/queue"
)

func fifoTests() map[string]func(*rig) {
	return map[string]func(*rig){
		"FIFOOrder": testFIFOOrder, "FIFOAgain": testFIFOAgain, "FIFOLock": testFIFOLock, "FIFODelay": testFIFODelay, "FIFOExpiry": testFIFOExpiry,
		"FIFODead": testFIFODead, "FIFORelease": testFIFORelease, "FIFOManyGroups": testFIFOGroups, "FIFOUnreceive": testFIFOUnreceive,
		"Dedup": testDedup, "DedupByGroup": testDedupByGroup, "DedupContent": testDedupContent, "DedupInBatch": testDedupInBatch,
		"StandardGroup": testStandardGroup,
	}
}

func testFIFOOrder(r *rig) {
	r.createFIFO("jobs.fifo", nil)
	for i := range 5 {
		for _, g := range []string{"a", "b"} {
			r.send("jobs.fifo", in(g, fmt.Sprint(g, i)))
		}
	}
	seen := map[string]int{}
	for range 10 {
		m := r.receive("jobs.fifo", 3)
		for _, m := range m {
			if want := fmt.Sprint(m.Group, seen[m.Group]); string(m.Body) != want {
				r.Fatalf("received %s, want %s", m.Body, want)
			}
			seen[m.Group]++
			r.must(r.Delete(r.ctx(), "jobs.fifo", m.Receipt))
		}
	}
	r.errorIf(seen["a"] != 5 || seen["b"] != 5, "received %v, want 5 of each group", seen)
}

func testFIFOLock(r *rig) {
	r.createFIFO("jobs.fifo", nil)
	for _, body := range []string{"a0", "a1", "b0", "a2"} {
		r.send("jobs.fifo", in(body[:1], body))
	}
	a0 := r.wantBodies("jobs.fifo", 1, "a0")[0]
	r.wantBodies("jobs.fifo", 10, "b0")
	r.none("jobs.fifo")
	r.must(r.ChangeVisibility(r.ctx(), "jobs.fifo", a0.Receipt, 0)) // a0 is first again
	m := r.wantBodies("jobs.fifo", 2, "a0", "a1")
	r.must(r.Delete(r.ctx(), "jobs.fifo", m[1].Receipt))
	r.none("jobs.fifo") // a0 still locks
	r.must(r.Delete(r.ctx(), "jobs.fifo", m[0].Receipt))
	r.wantBodies("jobs.fifo", 10, "a2")
	r.age(time.Minute)
	if m := r.receive("jobs.fifo", 10); len(m) != 2 {
		r.Errorf("after their leases received %v, want both", bodies(m))
	}
}

// A message that is made visible, or whose lease is over, comes again although
// later ones of its group are in flight. What is behind one in flight does not.
func testFIFOAgain(r *rig) {
	r.createFIFO("jobs.fifo", nil)
	for _, body := range []string{"a0", "a1", "a2", "a3"} {
		r.send("jobs.fifo", in("a", body))
	}
	m := r.wantBodies("jobs.fifo", 3, "a0", "a1", "a2")
	r.must(r.ChangeVisibility(r.ctx(), "jobs.fifo", m[1].Receipt, 0))
	r.none("jobs.fifo") // a0 is in flight
	r.must(r.ChangeVisibility(r.ctx(), "jobs.fifo", m[0].Receipt, 0))
	again := r.wantBodies("jobs.fifo", 10, "a0", "a1") // a2 is in flight
	r.must(r.Delete(r.ctx(), "jobs.fifo", again[1].Receipt))
	r.must(r.Delete(r.ctx(), "jobs.fifo", m[2].Receipt))
	r.none("jobs.fifo")
	r.must(r.ChangeVisibility(r.ctx(), "jobs.fifo", again[0].Receipt, 5*time.Second))
	r.age(6 * time.Second)
	again = r.wantBodies("jobs.fifo", 1, "a0") // its lease was over
	r.must(r.Delete(r.ctx(), "jobs.fifo", again[0].Receipt))
	r.wantBodies("jobs.fifo", 10, "a3")
}

// Delayed messages lock nobody.
func testFIFODelay(r *rig) {
	r.createFIFO("jobs.fifo", func(s *queue.Settings) { s.Delay = time.Minute })
	r.send("jobs.fifo", in("a", "a0"))
	_, err := r.SetSettings(r.ctx(), "jobs.fifo", func(s *queue.Settings) error { s.Delay = 0; return nil })
	r.must(err)
	r.send("jobs.fifo", in("a", "a1"))
	m := r.wantBodies("jobs.fifo", 10, "a1")[0]
	r.must(r.Delete(r.ctx(), "jobs.fifo", m.Receipt))
	r.none("jobs.fifo")
	r.age(time.Minute)
	r.wantBodies("jobs.fifo", 10, "a0")
}

func testFIFOExpiry(r *rig) {
	r.createFIFO("jobs.fifo", nil)
	r.send("jobs.fifo", in("a", "a0"))
	m := r.one("jobs.fifo")
	r.age(time.Minute)
	r.wantErr(r.Delete(r.ctx(), "jobs.fifo", m.Receipt), queue.ErrReceiptExpired)
	r.wantErr(r.ChangeVisibility(r.ctx(), "jobs.fifo", m.Receipt, time.Minute), queue.ErrReceiptExpired)
	again := r.one("jobs.fifo")
	r.wantErr(r.Delete(r.ctx(), "jobs.fifo", m.Receipt), queue.ErrReceiptStale)
	r.must(r.Delete(r.ctx(), "jobs.fifo", again.Receipt))
	r.must(r.Delete(r.ctx(), "jobs.fifo", again.Receipt))
}

func testFIFODead(r *rig) {
	r.createFIFO("dead.fifo", nil)
	r.createFIFO("jobs.fifo", deadLetter("dead.fifo", 1))
	sent := r.send("jobs.fifo", in("a", "a0"))
	r.send("jobs.fifo", in("a", "a1"))
	r.wantBodies("jobs.fifo", 1, "a0")
	r.age(time.Minute)
	r.sweep()
	r.wantBodies("jobs.fifo", 1, "a1") // its death unlocks the group
	dead := r.one("dead.fifo")
	r.errorIf(dead.ID != sent.ID || dead.Dedup != dead.ID || dead.Group != "a", "in the dead-letter queue: id %s, dedup %s, group %s", dead.ID, dead.Dedup, dead.Group)
	r.errorIf(!r.send("jobs.fifo", in("a", "a0")).Duplicate, "its deduplication id died with it")
}

func testFIFORelease(r *rig) {
	r.createFIFO("jobs.fifo", nil)
	r.send("jobs.fifo", in("a", "a0"))
	r.send("jobs.fifo", in("a", "a1"))
	m := r.wantBodies("jobs.fifo", 1, "a0")[0]
	r.must(r.Release(r.ctx(), "jobs.fifo", queue.ReleaseInput{Receipt: m.Receipt, Delay: time.Minute}))
	r.none("jobs.fifo") // a1 must not overtake
	r.age(time.Minute)
	if m := r.wantBodies("jobs.fifo", 10, "a0", "a1"); len(m[0].Attempts) > 0 {
		r.Errorf("a release without an outcome left the attempts %+v", m[0].Attempts)
	}
}

func testFIFOGroups(r *rig) {
	pace.Alone(r)
	const groups = 50
	r.createFIFO("jobs.fifo", nil)
	for i := range 2 {
		for g := range groups {
			r.send("jobs.fifo", in(fmt.Sprint("g", g), fmt.Sprint(g, "/", i)))
		}
	}
	got := 0
	for {
		m := r.receive("jobs.fifo", 7)
		if len(m) == 0 {
			break
		}
		for _, m := range m {
			got++
			r.must(r.Delete(r.ctx(), "jobs.fifo", m.Receipt))
		}
	}
	r.errorIf(got != 2*groups, "received %d messages, want %d", got, 2*groups)
}

func testFIFOUnreceive(r *rig) {
	r.createFIFO("jobs.fifo", nil)
	for _, body := range []string{"a0", "a1", "a2"} {
		r.send("jobs.fifo", in("a", body))
	}
	m := r.wantBodies("jobs.fifo", 2, "a0", "a1")
	r.must(one(r.Unreceive(r.ctx(), "jobs.fifo", []queue.Receipt{m[0].Receipt, m[1].Receipt})))
	r.wantBodies("jobs.fifo", 10, "a0", "a1", "a2")
}

func testDedup(r *rig) {
	r.createFIFO("jobs.fifo", nil)
	first := r.send("jobs.fifo", in("a", "x"))
	copied := r.send("jobs.fifo", in("b", "x"))
	r.errorIf(!copied.Duplicate || copied.ID != first.ID || copied.Sequence != first.Sequence, "the copy was acknowledged as %+v, want %+v", copied, first)
	r.must(r.Delete(r.ctx(), "jobs.fifo", r.one("jobs.fifo").Receipt))
	r.age(4 * time.Minute)
	r.errorIf(!r.send("jobs.fifo", in("a", "x")).Duplicate, "the deduplication id died with its message")
	r.clean() // not too early
	r.errorIf(!r.send("jobs.fifo", in("a", "x")).Duplicate, "the deduplication id was cleaned away before its time")
	r.age(time.Minute)
	if again := r.send("jobs.fifo", in("a", "x")); again.Duplicate || again.ID == first.ID {
		r.Errorf("after the window: %+v", again)
	}
	r.age(6 * time.Minute)
	r.clean()
	if again := r.send("jobs.fifo", in("a", "x")); again.Duplicate {
		r.Errorf("after a clean: %+v", again)
	}
}

func testDedupByGroup(r *rig) {
	r.createFIFO("jobs.fifo", func(s *queue.Settings) { s.DedupByGroup = true })
	r.send("jobs.fifo", in("a", "x"))
	r.errorIf(r.send("jobs.fifo", in("b", "x")).Duplicate, "a message of another group is no copy")
	r.errorIf(!r.send("jobs.fifo", in("a", "x")).Duplicate, "a copy within the group was stored")
}

func testDedupContent(r *rig) {
	r.createFIFO("jobs.fifo", func(s *queue.Settings) { s.ContentDedup = true })
	r.send("jobs.fifo", queue.SendInput{Body: []byte("x"), Group: "a"})
	r.errorIf(!r.send("jobs.fifo", queue.SendInput{Body: []byte("x"), Group: "a", Attributes: full().Attributes}).Duplicate, "the same body was stored twice")
	r.errorIf(r.send("jobs.fifo", queue.SendInput{Body: []byte("x"), Group: "a", Dedup: "own"}).Duplicate, "an id of one's own comes before the body")
	if m := r.receive("jobs.fifo", 1); len(m[0].Dedup) != 64 {
		r.Errorf("the deduplication id is %q, want the hash", m[0].Dedup)
	}
}

func testDedupInBatch(r *rig) {
	r.createFIFO("jobs.fifo", nil)
	results, err := r.SendBatch(r.ctx(), "jobs.fifo", []queue.SendInput{in("a", "x"), in("a", "y"), in("a", "x")})
	r.must(err)
	r.errorIf(!results[2].Duplicate || results[2].ID != results[0].ID || results[1].Duplicate, "results %+v", results)
	r.wantBodies("jobs.fifo", 10, "x", "y")
}

// In a standard queue a group is a label.
func testStandardGroup(r *rig) {
	r.create("jobs", nil)
	for _, body := range []string{"a", "b"} {
		r.send("jobs", queue.SendInput{Body: []byte(body), Group: "g"})
	}
	r.wantBodies("jobs", 1, "a")
	if m := r.one("jobs"); m.Group != "g" || string(m.Body) != "b" {
		r.Errorf("received %s of group %q", m.Body, m.Group)
	}
}
