//go:build linux

package worktest

import (
	"fmt"
	"maps"
	"math/rand/v2"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/bezoar-dev/bezoar"
	"github.com/bezoar-dev/bezoar/internal/state/startlog"
	"github.com/bezoar-dev/bezoar/worker"
)

// kill -9 at any moment: nothing is lost, the start log names exactly the messages
// that were running, and what their handlers left running ends at the next start.
func TestKilled(t *testing.T) {
	t.Parallel()
	for _, overSQS := range []bool{false, true} {
		name := "direct"
		if overSQS {
			name = "sqs"
		}
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			killed(t, overSQS, soak(100, 6))
		})
	}
}

// victim is a series of workers, each of which is killed.
type victim struct {
	*rig
	sent map[string]string // bodies by id
	last blamed            // by the one that was killed last

	accused, brink, strays, suspected int // over all
}

// blamed are the messages that a start log says were running, by id.
type blamed map[string]startlog.Record

func killed(t *testing.T, overSQS bool, rounds int) {
	v := &victim{rig: newRig(t)}
	var bodies []string
	for i := range 10 * rounds {
		kind := "nap"
		if i%4 == 0 {
			kind = "stray"
		}
		bodies = append(bodies, filler(kind, i))
	}
	v.sent = v.fill(bodies, 0)
	stop := func() {}
	if overSQS {
		stop = v.serve()
	}
	random := rand.New(rand.NewPCG(uint64(rounds), 7))
	for i := range rounds {
		v.round(time.Duration(random.IntN(400))*time.Millisecond, i%2 == 0)
	}
	c := v.hire()
	v.successor(c)
	for n := len(v.done()); n < len(v.sent); {
		v.until(time.Minute, fmt.Sprintf("more than %d messages are done", n), nil, func() bool { return len(v.done()) > n })
		n = len(v.done())
	}
	c.term()
	v.hire("--until-idle", "7s").idle() // what was done, and not yet deleted at a death, comes once more
	stop()
	v.nothingLeft(v.sent)
	for body, letter := range v.letters() {
		t.Errorf("%q was set aside, though nothing is wrong with it: %+v", body, letter)
	}
	begun := 0
	for _, e := range v.entries() {
		if e.what == "begin" {
			begun++
		}
	}
	t.Logf("%d kills; %d messages, all done, in %d attempts; %d were blamed, %d of them with no process yet or no more; %d suspicions were told; %d processes had to be swept",
		rounds, len(v.sent), begun, v.accused, v.brink, v.suspected, v.strays)
}

func (v *victim) hire(more ...string) *crew {
	v.Helper()
	handler, err := filepath.Abs("testdata/handler.sh")
	if err != nil {
		v.Fatal(err)
	}
	return v.work(append([]string{"--concurrency", "4", "--timeout", "1m", "--grace", "200ms", "--pids", "32"}, more...), []string{"bash", handler})
}

// round lets a worker work, kills it, and compares. Every other one is stopped
// first, so that what runs can be seen at the moment of death.
func (v *victim) round(after time.Duration, stopped bool) {
	v.Helper()
	before := len(v.entries())
	c := v.hire()
	v.successor(c)
	select {
	case <-time.After(after):
	case <-c.ended:
		v.Fatalf("the worker ended by itself:\n%s", c.log)
	}
	var running map[string]bool
	if stopped {
		running = v.stopped(c)
	}
	c.kill()
	if !stopped {
		running = v.interrupted(before)
	}
	v.last = v.starts()
	v.compare(running, stopped)
}

// stopped stops a worker and says which messages it is running.
func (v *victim) stopped(c *crew) map[string]bool {
	v.Helper()
	if err := syscall.Kill(c.pid(), syscall.SIGSTOP); err != nil {
		v.Fatal(err)
	}
	v.until(time.Minute, "the worker is stopped", nil, func() bool {
		p, _ := look(c.pid())
		return p.state == 'T'
	})
	running := map[string]bool{}
	for _, p := range processes(v) {
		if id, _, _ := strings.Cut(p.job, "/"); p.parent == c.pid() && v.sent[id] != "" {
			running[id] = true
		}
	}
	return running
}

// interrupted says which messages were begun since a place in the diary and have
// not come to their end, once the death of their worker has reached all handlers.
func (v *victim) interrupted(before int) map[string]bool {
	v.Helper()
	v.until(time.Minute, "the handlers are dead", nil, func() bool {
		return !slices.ContainsFunc(processes(v), func(p process) bool {
			id, _, _ := strings.Cut(p.job, "/")
			return v.sent[id] != "" && strings.HasPrefix(p.command, "bash ")
		})
	})
	running := map[string]bool{}
	for _, e := range v.entries()[before:] {
		running[e.id] = e.what == "begin"
	}
	maps.DeleteFunc(running, func(_ string, is bool) bool { return !is })
	return running
}

// starts reads what the dead worker has left.
func (v *victim) starts() blamed {
	v.Helper()
	j, left, err := startlog.Open(filepath.Join(v.dir, "state"), 1)
	if err != nil {
		v.Fatal(err)
	}
	if note := j.Note(); note != "" {
		v.Error(note)
	}
	if err := j.Close(); err != nil {
		v.Error(err)
	}
	all := blamed{}
	for _, l := range left {
		if l.Ended == nil {
			all[l.ID] = l.Record
		}
	}
	return all
}

// compare wants everything that ran to be blamed, and nothing else but what was
// on the brink: about to be started, or dead and not yet judged. That is known if
// the worker had been stopped: else it may be a handler that had not got as far as
// its diary.
func (v *victim) compare(running map[string]bool, stopped bool) {
	v.Helper()
	for id := range running {
		if _, ok := v.last[id]; !ok {
			v.Errorf("%q was running, and the start log does not say so: it names %v", v.sent[id], slices.Collect(maps.Keys(v.last)))
		}
	}
	done := v.done()
	for id, record := range v.last {
		if running[id] {
			continue
		}
		v.brink++
		if stopped && record.PID != 0 && !done[id] {
			v.Errorf("the start log blames %q of %+v, which was not running and has not been done", v.sent[id], record)
		}
	}
	v.accused += len(v.last)
	if len(v.last) > 4 {
		v.Errorf("%d messages are blamed, and 4 were running at most", len(v.last))
	}
}

// done are the messages that a handler has come to the end of.
func (v *victim) done() map[string]bool {
	v.Helper()
	all := map[string]bool{}
	for _, e := range v.entries() {
		if e.what == "end" {
			all[e.id] = true
		}
	}
	return all
}

// successor looks at what a new worker does first: it ends what the dead one's
// handlers have left, and tells the queue about exactly the messages that it was
// running.
func (v *victim) successor(c *crew) {
	v.Helper()
	left := map[int]bool{}
	for _, p := range processes(v) {
		if id, _, _ := strings.Cut(p.job, "/"); v.sent[id] != "" && strings.Contains(p.command, "sleep 600") {
			left[p.pid] = true
		}
	}
	v.strays += len(left)
	begun := len(v.entries())
	var suspects []string
	over := time.After(2 * time.Minute)
	for working := false; !working || len(suspects) < len(v.last); {
		var e worker.Event
		select {
		case e = <-c.events:
		case <-time.After(20 * time.Millisecond):
		case <-c.ended:
			v.Fatalf("the worker ended by itself:\n%s", c.log)
		case <-over:
			v.Fatalf("it suspects %v, and the start log named %v", suspects, v.last)
		}
		if e.ID != "" && e.Receives == 0 && e.Class == bezoar.Crash {
			suspects = append(suspects, e.ID)
		}
		if e.Receives > 0 { // all suspicions were told before
			break
		}
		working = len(v.entries()) > begun || len(v.done()) == len(v.sent)
	}
	for _, p := range processes(v) {
		if left[p.pid] && strings.Contains(p.command, "sleep 600") {
			v.Errorf("%v is left of the dead worker, and the next one works already", p)
		}
	}
	v.suspected += len(suspects)
	want := slices.Sorted(maps.Keys(v.last))
	if got := slices.Sorted(slices.Values(suspects)); !slices.Equal(got, want) {
		v.Errorf("suspected are %v, and the start log named %v", got, want)
	}
	v.last = nil
}
