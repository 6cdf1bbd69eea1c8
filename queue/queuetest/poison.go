package queuetest

import (
	"fmt"
	"strings"
	"time"

	"github.com/bezoar-dev/bezoar"
	"github.com/bezoar-dev/bezoar/internal/each"
	"github.com/bezoar-dev/bezoar/policy/poison"
	"github.com/bezoar-dev/bezoar/queue"
)

func poisonTests() map[string]func(*rig) {
	return map[string]func(*rig){
		"Law3": testLaw3, "QuarantineRefuses": testQuarantine, "ProbeWorks": testProbeWorks, "ProbeFails": testProbeFails,
		"SuspectsAlone": testSuspectsAlone, "SuspectNotWithOthers": testSuspectNotWithOthers, "VanishedAndDone": testVanishedAndDone,
		"VanishedAndBack": testVanishedAndBack, "VanishedLate": testVanishedLate, "VanishedLone": testVanishedLone, "VanishedPatient": testVanishedPatient, "SameFailure": testSameFailure, "Timeouts": testTimeouts,
		"Blameless": testBlameless, "NoCaseForOrdinary": testNoCase, "LettersAreNotJudged": testLettersNotJudged, "PoisonOff": testPoisonOff,
		"SuspectInFIFO": testSuspectFIFO, "BriefProbesSooner": testBriefProbesSooner, "SweptSuspect": testSweptSuspect,
	}
}

// A pill costs two workers, however many copies there are, and the innocent
// nothing.
func testLaw3(r *rig) {
	d := r.at("jobs", nil)
	for i := range 30 {
		d.put(1, fmt.Sprint("pill", i))
		d.put(byte(i+2), fmt.Sprint("good", i))
	}
	deaths, worked := 0, 0
	for range 200 {
		m := d.claim(4).Messages
		var poisoned bool
		for _, m := range m {
			poisoned = poisoned || m.Payload == work(1)
		}
		if poisoned {
			deaths++
			d.vanish(m...)
			continue
		}
		d.done(m...)
		worked += len(m)
	}
	r.errorIf(deaths != 2 || worked != 30, "%d workers died, %d messages worked; want 2, 30", deaths, worked)
	groups, err := r.store.Groups(r.ctx(), queue.Selection{Queue: d.p.DeadLetter}, 10)
	r.must(err)
	r.errorIf(len(groups) != 1 || groups[0].Count != 30 || groups[0].Class != bezoar.Crash, "the dead are %+v, want 30 in one group", groups)
}

// convict makes the nth payload cost two workers.
func (d *storeClient) convict(n byte) {
	d.Helper()
	d.put(n, "pill1")
	d.vanish(d.take("pill1")...)
	d.vanish(d.alone("pill1"))
	d.take()
	d.wantDead("pill1")
}

func testQuarantine(r *rig) {
	d := r.at("jobs", nil)
	d.convict(1)
	k := d.wantState(1, poison.Quarantined)
	r.errorIf(k.Level != 1 || k.Left(k.Touched) != 15*time.Minute || k.Class != bezoar.Crash || k.Reason == "", "the case is %+v", k)
	d.put(1, "copy1", "copy2")
	d.put(2, "good")
	c := d.claim(10)
	if got := bodies(c.Messages); len(got) != 1 || got[0] != "good" || len(c.Queues) != 1 || c.Queues[0] != d.p.DeadLetter {
		r.Errorf("received %v; %v gained messages", got, c.Queues)
	}
	dead := d.wantDead("pill1", "copy1", "copy2")
	for _, m := range dead {
		l := m.Letter
		r.errorIf(l.Origin != "jobs" || l.Class != bezoar.Crash || l.Group != dead[0].Letter.Group || l.Payload != work(1) || m.Payload != work(1), "the letter of %s is %+v", m.Body, l)
	}
	if l := dead[1].Letter; l.Receives != 0 || len(l.Attempts) != 0 || l.Reason == "" {
		r.Errorf("what was refused has the letter %+v", l)
	}
}

func testProbeWorks(r *rig) {
	d := r.at("jobs", nil)
	d.convict(1)
	r.age(15 * time.Minute)
	d.put(1, "copy1", "copy2")
	probe := d.alone("copy1")
	d.take() // one is enough
	d.done(probe)
	if k := d.wantState(1, poison.Watched); !k.Proven || k.Strikes != 0 {
		r.Errorf("after the probe: %+v", k)
	}
	r.errorIf(d.take("copy2")[0].Alone, "after the probe had worked a copy is a suspect")
}

func testProbeFails(r *rig) {
	d := r.at("jobs", nil)
	d.convict(1)
	r.age(15 * time.Minute)
	d.put(1, "copy1", "copy2")
	d.fail(d.alone("copy1"), bezoar.Crash, "")
	if k := d.wantState(1, poison.Quarantined); k.Level != 2 || k.Left(k.Touched) != 30*time.Minute {
		r.Errorf("after the probe: %+v", k)
	}
	d.take()
	d.wantDead("pill1", "copy1", "copy2")
	r.age(16 * time.Minute)
	d.put(1, "a copy with a longer body")
	d.take()
	r.age(15 * time.Minute)
	d.put(1, "another one with a longer body")
	d.alone("another one with a longer body")
}

// Those that were together when a worker vanished run one by one.
func testSuspectsAlone(r *rig) {
	d := r.at("jobs", nil)
	all := []string{"a", "b", "c"}
	for i, body := range all {
		d.put(byte(i+1), body)
	}
	m := d.take(all...)
	d.vanish(m...)
	d.put(9, "new")
	suspects := each.Of(all, d.alone)
	d.take("new")
	for i := range all {
		if k := d.wantState(byte(i+1), poison.Suspect); k.Strikes != 2 || k.Class != bezoar.Crash {
			r.Errorf("the case of %s is %+v", all[i], k)
		}
	}
	if a := suspects[0].Attempts; len(a) != 1 || a[0].Class != bezoar.Crash || a[0].Reason == "" {
		r.Errorf("its attempts are %+v", a)
	}
	d.done(suspects...)
	d.put(1, "a2", "a3")
	for _, m := range d.take("a2", "a3") {
		r.errorIf(m.Alone, "%s is a suspect although a copy has worked alone", m.Body)
	}
}

func testSuspectNotWithOthers(r *rig) {
	d := r.at("jobs", nil)
	d.put(1, "suspect")
	d.fail(d.take("suspect")[0], bezoar.Crash, "")
	d.send(queue.Entry{SendInput: queue.SendInput{Body: []byte("first"), Priority: 1}, Payload: work(2)})
	d.put(3, "later")
	d.take("first", "later")
	d.alone("suspect")
}

func testVanishedAndDone(r *rig) {
	d := r.at("jobs", nil)
	d.put(1, "a")
	m := d.take("a")[0]
	r.must(r.store.Vanish(r.ctx(), d.q.ID, []queue.Receipt{m.Receipt}, 1))
	d.done(m)
	d.wantUnknown(1)
}

// Who asks for more time is alive: only a connection was lost.
func testVanishedAndBack(r *rig) {
	d := r.at("jobs", nil)
	d.put(1, "a")
	m := d.take("a")[0]
	r.must(r.store.Vanish(r.ctx(), d.q.ID, []queue.Receipt{m.Receipt}, 1))
	d.change(queue.Change{Receipt: m.Receipt, For: time.Minute})
	r.age(time.Minute + time.Second)
	r.errorIf(d.take("a")[0].Alone, "it is a suspect")
	d.wantUnknown(1)
}

// Of one or two workers that vanish the first time makes a suspect and is no strike.
func testVanishedLone(r *rig) {
	d := r.at("jobs", nil)
	d.put(1, "a", "a copy")
	lone := func(m queue.Message) {
		r.must(r.store.Vanish(r.ctx(), d.q.ID, []queue.Receipt{m.Receipt}, queue.LoneHolding+1))
		d.age(lease + time.Second)
	}
	lone(d.claim(1).Messages[0])
	for range 2 {
		lone(d.claim(10).Messages[0])
		d.wantState(1, poison.Suspect)
	}
	d.take()
	d.wantState(1, poison.Quarantined)
	dead := d.wantDead("a", "a copy")
	if reason := dead[0].Letter.Reason; !strings.Contains(reason, queue.ReasonVanished) || strings.Contains(reason, "held") {
		r.Errorf("it died because %s", reason)
	}
}

// The lease of a worker that may be alive lasts twice as long: it may yet delete.
func testVanishedPatient(r *rig) {
	d := r.at("jobs", nil)
	d.put(1, "a")
	vanish := func() queue.Message {
		m := d.take("a")[0]
		r.must(r.store.Vanish(r.ctx(), d.q.ID, []queue.Receipt{m.Receipt}, queue.PatientHolding+1))
		r.age(lease + time.Second)
		d.take()
		return m
	}
	vanish()
	r.age(lease)
	if m := vanish(); !m.Alone || len(m.Attempts) != 1 || m.Attempts[0].Class != bezoar.Crash {
		r.Errorf("received %+v, want a suspect", m)
	}
	r.age(lease)
	d.take()
	d.wantState(1, poison.Quarantined)
	d.wantDead("a")

	d.put(2, "a")
	d.done(vanish())
	d.wantUnknown(2)
}

// What was over before, or belongs to another delivery, is nobody's death.
func testVanishedLate(r *rig) {
	d := r.at("jobs", nil)
	d.put(1, "a")
	m := d.take("a")[0]
	r.age(lease + time.Second)
	unknown := m.Receipt
	unknown.Sequence += 1000
	vanish := func() {
		r.must(r.store.Vanish(r.ctx(), d.q.ID, []queue.Receipt{m.Receipt, unknown}, 1))
	}
	vanish()
	d.take("a")
	vanish()
	r.age(lease + time.Second)
	if m := d.take("a")[0]; m.Alone || len(m.Attempts) != 2 || m.Attempts[1].Class != bezoar.Timeout {
		r.Errorf("received %+v", m)
	}
	d.wantUnknown(1)
}

// The same failure of the same payload ends the retries early, in whichever
// message it comes.
func testSameFailure(r *rig) {
	d := r.at("jobs", nil)
	for n, c := range map[byte]struct {
		class  bezoar.Class
		enough int
	}{1: {bezoar.Bug, poison.SameBug}, 2: {bezoar.Invalid, poison.SameInvalid}} {
		body := c.class.String()
		d.put(n, body)
		for i := range c.enough - 1 {
			d.fail(d.take(body)[0], c.class, fmt.Sprint("f", i)) // another one each time
		}
		for range c.enough - 1 {
			d.fail(d.take(body)[0], c.class, "g")
		}
		d.take(body)
		d.done(d.claim(10).Messages...)
		r.age(lease + time.Second)
		d.fail(d.take(body)[0], c.class, "g")
		d.take()
	}
	for _, m := range d.wantDead("bug", "invalid") {
		if want := strings.TrimSuffix(string(m.Body), tail) + ":g"; m.Letter.Group != want {
			r.Errorf("the letter's group is %q, want %q", m.Letter.Group, want)
		}
	}
	d.put(1, "bug2") // no convict, but the next such failure is the last one
	d.fail(d.take("bug2")[0], bezoar.Bug, "g")
	d.wantDead("bug", "bug2", "invalid")
}

// A timeout is half a strike.
func testTimeouts(r *rig) {
	d := r.at("jobs", nil)
	d.put(1, "slow")
	for i := range 4 {
		m := d.take("slow")[0]
		r.errorIf(m.Alone != (i > 0), "delivery %d: alone is %v", i+1, m.Alone)
		d.fail(m, bezoar.Timeout, "")
	}
	d.wantDead("slow")
	d.wantState(1, poison.Quarantined)
}

func testBlameless(r *rig) {
	d := r.at("jobs", nil)
	d.put(1, "a")
	for _, c := range []bezoar.Class{bezoar.Transient, bezoar.Throttled, bezoar.Outage, bezoar.Interrupted, bezoar.SpawnFailed} {
		d.fail(d.take("a")[0], c, "f")
	}
	d.change(queue.Change{Receipt: d.take("a")[0].Receipt, Release: true, Refund: true, Outcome: &queue.Outcome{Class: bezoar.Crash}})
	d.wantUnknown(1)
	if m := d.take("a")[0]; m.Alone || m.Receives != 6 {
		r.Errorf("received %+v", m)
	}
}

func testNoCase(r *rig) {
	d := r.at("jobs", nil)
	for i := range byte(20) {
		d.put(i+1, fmt.Sprint("m", i))
	}
	d.done(d.claim(10).Messages...)
	d.claim(10)
	r.age(lease + time.Second)
	d.done(d.claim(10).Messages...)
	if all, err := r.store.Cases(r.ctx(), d.q.ID, -1, 10); err != nil || len(all) > 0 {
		r.Errorf("of ordinary messages is known %+v, %v", all, err)
	}
	_, err := r.store.Cases(r.ctx(), 4711, -1, 10)
	r.wantErr(err, queue.ErrQueueNotFound)
}

func testLettersNotJudged(r *rig) {
	d := r.at("jobs", nil)
	d.convict(1)
	d.put(1, "copy")
	d.take()
	m := r.receive(d.p.DeadLetter, 10)
	r.errorIf(len(m) != 2 || m[0].Alone || m[1].Alone, "received %v from the dead-letter queue, want both copies", bodies(m))
}

func testPoisonOff(r *rig) {
	d := r.at("jobs", func(s *queue.Settings) { s.Quarantine.Off = true })
	d.put(1, "a", "b")
	d.vanish(d.take("a", "b")...)
	for _, m := range d.take("a", "b") {
		r.errorIf(m.Alone || m.Attempts[0].Class != bezoar.Crash, "received %+v", m)
	}
	d.wantUnknown(1)
}

func testSuspectFIFO(r *rig) {
	d := r.at("jobs.fifo", fifo)
	put := func(group, body string, n byte) {
		d.send(queue.Entry{SendInput: queue.SendInput{Body: []byte(body), Group: group}, Payload: work(n)})
	}
	put("a", "a0", 1)
	d.vanish(d.take("a0")...)
	put("a", "a1", 2)
	put("b", "b0", 3)
	var suspect queue.Message
	var other []queue.Message
	for range 3 {
		for _, m := range d.claim(10).Messages {
			if string(m.Body) == "a0" {
				suspect = m
			} else {
				other = append(other, m)
			}
		}
	}
	r.fatalIf(!suspect.Alone || len(other) != 1 || string(other[0].Body) != "b0", "received %v beside the suspect %+v", bodies(other), suspect)
	d.done(suspect)
	d.take("a1")
}

// Where receives are used up, the sweep judges what nobody receives again.
func testSweptSuspect(r *rig) {
	d := r.at("jobs", nil)
	r.create("dead", nil)
	_, err := r.SetSettings(r.ctx(), "jobs", func(s *queue.Settings) error { deadLetter("dead", 1)(s); return nil })
	r.must(err)
	d.p.DeadLetter, d.p.Implicit, d.p.MaxReceives = "dead", false, 1
	d.put(1, "a", "b")
	d.vanish(d.one("a")...)
	r.sweep()
	if l := d.wantDead("a")[0].Letter; l.Class != bezoar.Crash || len(l.Attempts) != 1 {
		r.Errorf("its letter is %+v", l)
	}
	d.wantState(1, poison.Suspect)
	d.alone("b")
}
