//go:build linux

package worktest

import (
	"context"
	"fmt"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kfake"
	"github.com/twmb/franz-go/pkg/kgo"
)

const (
	topicParts  = 8
	topicKeys   = 40
	topicPoison = 10
)

// topicRun is a topic with poison among its records, and what is known of them by id.
type topicRun struct {
	*victim
	brokers []string
	before  map[string][]string // the records of its key before a record
	deaths  map[string]int      // that a poison may have beyond two: its worker was killed while it ran
}

// A topic of eight partitions, poison among its records, and workers that are killed
// again and again: every good record is done, in the order of its key; each poison kills
// two handlers at most, and is in the dead-letter topic with its evidence.
func TestPoisonInATopic(t *testing.T) {
	t.Parallel()
	fake, err := kfake.NewCluster(kfake.NumBrokers(1), kfake.SeedTopics(topicParts, jobs))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(fake.Close)
	r := &topicRun{victim: &victim{rig: newRig(t)}, brokers: fake.ListenAddrs(), before: map[string][]string{}, deaths: map[string]int{}}
	r.url = "kafka://" + strings.Join(r.brokers, ",") + "/" + jobs + "?group=g&instance=one"
	records, kills := 1000, soak(50, 5)
	r.produce(records)
	for i := range kills {
		c := r.hire()
		r.until(2*time.Minute, "the worker gets on", nil, func() bool { return len(r.ended()) >= (i+1)*records/(kills+2) })
		c.kill()
		for id := range r.starts() {
			r.deaths[id]++
		}
	}
	c := r.hire("--until-idle", "5s")
	c.idle()
	r.judge(records)
	r.parked()
}

func (r *topicRun) hire(more ...string) *crew {
	r.Helper()
	handler, err := filepath.Abs("testdata/handler.sh")
	if err != nil {
		r.Fatal(err)
	}
	return r.work(append([]string{"--concurrency", "4", "--mode", "pool", "--pids", "32"}, more...), []string{"bash", handler, "pool"})
}

// produce fills the topic: every hundredth record is poison, in a key with others.
func (r *topicRun) produce(n int) {
	r.Helper()
	client, err := kgo.NewClient(kgo.SeedBrokers(r.brokers...), kgo.DefaultProduceTopic(jobs))
	if err != nil {
		r.Fatal(err)
	}
	defer client.Close()
	r.sent = map[string]string{}
	var all []*kgo.Record
	for i := range n {
		kind := "good"
		if i%(n/topicPoison) == n/topicPoison/2 {
			kind = "segv"
		}
		all = append(all, &kgo.Record{Key: fmt.Append(nil, "key ", i%topicKeys), Value: []byte(filler(kind, i))})
	}
	if err := client.ProduceSync(context.Background(), all...).FirstErr(); err != nil {
		r.Fatal(err)
	}
	byKey := map[string][]string{}
	for _, rec := range all {
		id := fmt.Sprintf("%s-%d@%d", jobs, rec.Partition, rec.Offset)
		r.sent[id] = string(rec.Value)
		r.before[id] = byKey[string(rec.Key)]
		byKey[string(rec.Key)] = append(byKey[string(rec.Key)][:len(r.before[id]):len(r.before[id])], id)
	}
}

// ended are the records that were done.
func (r *topicRun) ended() map[string]bool {
	r.Helper()
	all := map[string]bool{}
	for _, e := range r.entries() {
		if e.what == "end" {
			all[e.id] = true
		}
	}
	return all
}

// judge reads the diary.
func (r *topicRun) judge(n int) {
	r.Helper()
	ended, begun := map[string]bool{}, map[string]int{}
	for _, e := range r.entries() {
		if e.what == "end" {
			ended[e.id] = true
			continue
		}
		begun[e.id]++
		for _, id := range r.before[e.id] {
			if !ended[id] && kindOf(r.sent[id]) == "good" {
				r.Errorf("%s began before %s of its key had ended", e.id, id)
			}
		}
	}
	again := 0
	for id, body := range r.sent {
		switch kind := kindOf(body); {
		case kind == "good" && !ended[id]:
			r.Errorf("%s was not done", id)
		case kind == "segv" && (begun[id] < 1 || begun[id] > 2+r.deaths[id]):
			r.Errorf("%s killed %d handlers, and %d workers were killed while it ran", id, begun[id], r.deaths[id])
		}
		again += begun[id] - 1
	}
	r.Logf("%d records, done in %d attempts", n, n+again)
}

// parked wants exactly the poison in the dead-letter topic.
func (r *topicRun) parked() {
	r.Helper()
	client, err := kgo.NewClient(kgo.SeedBrokers(r.brokers...), kgo.ConsumeTopics(jobs+"-dlq"), kgo.ConsumeStartOffset(kgo.NewOffset().AtStart()))
	if err != nil {
		r.Fatal(err)
	}
	defer client.Close()
	ctx, cancel := context.WithTimeout(r.Context(), time.Minute)
	defer cancel()
	found := map[string]bool{}
	for len(found) < topicPoison && ctx.Err() == nil {
		for _, rec := range client.PollFetches(ctx).Records() {
			why := map[string]string{}
			for _, h := range rec.Headers {
				why[h.Key] = string(h.Value)
			}
			id := fmt.Sprintf("%s-%s@%s", why["bezoar-topic"], why["bezoar-partition"], why["bezoar-offset"])
			found[id] = true
			if r.sent[id] != string(rec.Value) || kindOf(r.sent[id]) != "segv" || !strings.HasPrefix(string(rec.Key), "key ") {
				r.Errorf("%s is in the dead-letter topic: %s", id, rec.Value)
			}
			if why["bezoar-class"] != "crash" || why["bezoar-reason"] == "" || why["bezoar-attempts"] == "" || why["bezoar-timestamp"] == "" {
				r.Errorf("the evidence of %s: %v", id, why)
			}
		}
	}
	if len(found) != topicPoison {
		r.Errorf("%d records are in the dead-letter topic, want %d", len(found), topicPoison)
	}
}
