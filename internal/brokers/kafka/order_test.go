package kafka

import (
	"context"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kgo"
	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/bezoar-dev/bezoar/worker"
)

// committed is the offset that the group has committed in a partition; -1 for none.
func (c *cluster) committed(partition int32) int64 {
	c.t.Helper()
	req := kmsg.NewPtrOffsetFetchRequest()
	req.Group = c.cfg.Group
	req.Groups = append(req.Groups, kmsg.OffsetFetchRequestGroup{Group: c.cfg.Group, MemberEpoch: -1, Topics: []kmsg.OffsetFetchRequestGroupTopic{{
		Topic: c.topic, Partitions: []int32{partition},
	}}})
	resp, err := c.admin.Request(context.Background(), req)
	if err != nil {
		c.t.Fatal(err)
	}
	for _, g := range resp.(*kmsg.OffsetFetchResponse).Groups {
		for _, t := range g.Topics {
			for _, p := range t.Partitions {
				return p.Offset
			}
		}
	}
	return -1
}

// until waits for what is true sooner or later.
func until(t *testing.T, what string, ok func() bool) {
	t.Helper()
	over := time.After(time.Minute)
	tick := time.NewTicker(5 * time.Millisecond)
	defer tick.Stop()
	for !ok() {
		select {
		case <-tick.C:
		case <-over:
			t.Fatalf("gave up waiting until %s", what)
		}
	}
}

func keyed(partition int32, keys ...string) (all []*kgo.Record) {
	for i, key := range keys {
		r := &kgo.Record{Partition: partition, Value: fmt.Appendf(nil, "%s%d", key, i)}
		if key != "-" {
			r.Key = []byte(strings.TrimPrefix(key, "empty"))
		}
		all = append(all, r)
	}
	return all
}

func values(all []worker.Message) (out []string) {
	for _, m := range all {
		out = append(out, string(m.Body))
	}
	return out
}

// Records of one key wait for one another, whatever becomes of the first one; others
// do not. An empty key is a key, and none is none.
func TestKeysKeepTheirOrder(t *testing.T) {
	t.Parallel()
	c := newCluster(t, 1)
	c.produce(keyed(0, "a", "b", "a", "-", "-", "empty", "empty", "a")...)
	s := c.opened()
	first := take(t, s, 5)
	if got := fmt.Sprint(values(first)); got != "[a0 b1 -3 -4 empty5]" {
		t.Fatalf("first came %s", got)
	}
	none(t, s)
	must := func(err error) {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
	}
	must(s.Done(t.Context(), first[4]))
	if got := values(take(t, s, 1)); got[0] != "empty6" {
		t.Errorf("after empty5 came %v", got)
	}
	must(s.Release(t.Context(), first[0], worker.Release{Delay: time.Hour})) // holds its key
	must(s.Done(t.Context(), first[1]))
	must(s.Done(t.Context(), first[2]))
	none(t, s)
	must(s.Release(t.Context(), first[3], worker.Release{Refund: true}))
	again := take(t, s, 1)[0]
	if string(again.Body) != "-4" || again.Receives != 1 {
		t.Errorf("%s came, received %d times, want -4, once: the receive did not count", again.Body, again.Receives)
	}
}

// A key goes on behind a record that was parked.
func TestAKeyGoesOnAfterItsPoison(t *testing.T) {
	t.Parallel()
	c := newCluster(t, 1)
	c.produce(keyed(0, "a", "a", "a")...)
	s := c.opened()
	for i := range 3 {
		m := take(t, s, 1)[0]
		if want := fmt.Sprintf("a%d", i); string(m.Body) != want {
			t.Fatalf("%s came, want %s", m.Body, want)
		}
		none(t, s)
		if i == 1 {
			if err := s.SetAside(t.Context(), m, worker.Letter{Body: m.Body}); err != nil {
				t.Fatal(err)
			}
		}
		if err := s.Done(t.Context(), m); err != nil {
			t.Fatal(err)
		}
	}
	if r := c.read("orders-dlq", 1)[0]; string(r.Key) != "a" || string(r.Value) != "a1" {
		t.Errorf("parked: %s=%s", r.Key, r.Value)
	}
}

// Offsets are committed up to the oldest record that has not ended, however many have
// ended behind it, and pass what was never a record.
func TestCommitsUpToWhatHasEnded(t *testing.T) {
	t.Parallel()
	c := newCluster(t, 1)
	c.produce(keyed(0, "a", "b", "c", "d")...)
	tx := c.client(kgo.TransactionalID("tx"), kgo.DefaultProduceTopic(c.topic))
	defer tx.Close()
	for _, end := range []kgo.TransactionEndTry{kgo.TryAbort, kgo.TryCommit} { // 4, 5; 6, 7
		if err := tx.BeginTransaction(); err != nil {
			t.Fatal(err)
		}
		if err := tx.ProduceSync(t.Context(), &kgo.Record{Key: []byte("t"), Value: fmt.Append(nil, "committed: ", end)}).FirstErr(); err != nil {
			t.Fatal(err)
		}
		if err := tx.EndTransaction(t.Context(), end); err != nil {
			t.Fatal(err)
		}
	}
	c.produce(keyed(0, "e")...) // 8
	s := c.opened()
	all := take(t, s, 6)
	if got := fmt.Sprint(values(all)); got != "[a0 b1 c2 d3 committed: true e0]" {
		t.Fatalf("%s came", got)
	}
	for _, step := range []struct{ done, committed int }{{0, 1}, {2, 1}, {3, 1}, {1, 6}, {5, 6}, {4, 9}} {
		if err := s.Done(t.Context(), all[step.done]); err != nil {
			t.Fatal(err)
		}
		if err := s.commit(t.Context()); err != nil {
			t.Fatal(err)
		}
		if n := c.committed(0); n != int64(step.committed) {
			t.Errorf("when %s was done %d was committed, want %d", all[step.done].Body, n, step.committed)
		}
	}
}

// The client commits by itself, too.
func TestCommitsSoon(t *testing.T) {
	t.Parallel()
	c := newCluster(t, 1)
	c.produce(keyed(0, "a")...)
	s := c.opened()
	if err := s.Done(t.Context(), take(t, s, 1)[0]); err != nil {
		t.Fatal(err)
	}
	until(t, "it is committed", func() bool { return c.committed(0) == 1 })
}

// What a dead predecessor had done, and could not commit, is not done again.
func TestAPredecessorsRecords(t *testing.T) {
	t.Parallel()
	c := newCluster(t, 1)
	c.produce(keyed(0, "a", "a", "b", "c")...)
	before := c.opened()
	first := take(t, before, 3)
	if err := before.Close(); err != nil {
		t.Fatal(err)
	}
	s := c.opened()
	must := func(err error) {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
	}
	must(s.Done(t.Context(), first[0]))
	must(s.Release(t.Context(), first[1], worker.Release{Delay: time.Hour}))
	other := first[2]
	other.Receipt = strings.TrimSuffix(other.Receipt, "/g") + "/another-group"
	if err := s.Done(t.Context(), other); !isLost(err) {
		t.Errorf("done, what another group had: %v", err)
	}
	other.Receipt = "garbage"
	if err := s.Extend(t.Context(), other, time.Minute); !isLost(err) {
		t.Errorf("extend garbage: %v", err)
	}
	if got := fmt.Sprint(values(take(t, s, 2))); got != "[c3 a1]" && got != "[a1 c3]" {
		t.Errorf("%s came, want c3, and a1 without a0", got)
	}
	none(t, s)
}
