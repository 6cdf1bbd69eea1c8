package worker_test

import (
	"strings"
	"testing"

	"github.com/bezoar-dev/bezoar"
	"github.com/bezoar-dev/bezoar/queue"
	"github.com/bezoar-dev/bezoar/worker"
)

// A pool's children take one message after another; one that kills its child
// costs no other message.
func TestPool(t *testing.T) {
	const handler = `
import json, os, sys
for line in sys.stdin:
    m = json.loads(line)
    answer = {"bezoar": 1}
    if "id" in m:
        answer["id"] = m["id"]
        if "kill" in m["body"]:
            os.abort()
        if "bad" in m["body"]:
            answer |= {"class": "invalid", "reason": "bad"}
    print(json.dumps(answer), flush=True)
`
	eachSource(t, func(t *testing.T, r *rig, kind string) {
		r.create("jobs", func(s *queue.Settings) { s.Quarantine.Off = kind == "foreign" })
		r.create("dead", nil)
		source := r.source(kind, "jobs")
		if s, ok := source.(*worker.SQSQueue); ok && kind == "foreign" {
			s.DeadLetter = r.foreign + "dead"
		}
		for range 10 {
			r.send("jobs", "a good message")
		}
		r.send("jobs", "a message to kill it", "a bad message")
		stop := r.start(worker.Config{
			Source: source, Concurrency: 2, State: t.TempDir(), Timeout: patience,
			Command: worker.Command{Args: []string{"python3", "-c", handler}, Mode: worker.ModePool},
		})
		var classes map[bezoar.Class]int
		r.wait(func(all []worker.Event) bool {
			classes = map[bezoar.Class]int{}
			for _, e := range all {
				classes[e.Class]++
			}
			return classes[bezoar.Done] == 10 && classes[bezoar.Crash] > 0 && classes[bezoar.Invalid] > 0
		})
		if err := stop(); err != nil {
			t.Error(err)
		}
		if classes[bezoar.Done] != 10 || classes[bezoar.Crash] == 0 || classes[bezoar.Invalid] != 1 {
			t.Errorf("they ended as %v", classes)
		}
	})
}

// A pool whose command does not speak the protocol stops the worker.
func TestAPoolThatCannotStart(t *testing.T) {
	r := newRig(t)
	r.create("jobs", nil)
	r.send("jobs", "an innocent message")
	w, err := worker.New(worker.Config{
		Source: r.source("direct", "jobs"), Command: worker.Command{Args: []string{"/nowhere/at/all"}, Mode: worker.ModePool},
	})
	if err != nil {
		t.Fatal(err)
	}
	if err := w.Run(t.Context()); err == nil || !strings.Contains(err.Error(), "/nowhere/at/all") {
		t.Errorf("it ended with %v", err)
	}
	r.counts("jobs", 1, 0, 0)
}
