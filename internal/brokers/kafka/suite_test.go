package kafka

import (
	"context"
	"errors"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kfake"
	"github.com/twmb/franz-go/pkg/kgo"
	"go.uber.org/goleak"

	"github.com/bezoar-dev/bezoar/internal/brokers/brokertest"
	"github.com/bezoar-dev/bezoar/worker"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// cluster is a cluster of one broker with a topic.
type cluster struct {
	t     *testing.T
	fake  *kfake.Cluster
	admin *kgo.Client
	topic string
	cfg   Config
}

func newCluster(t *testing.T, partitions int32, more ...kfake.Opt) *cluster {
	t.Helper()
	fake, err := kfake.NewCluster(append([]kfake.Opt{
		kfake.NumBrokers(1), kfake.SeedTopics(partitions, "orders"), kfake.BrokerConfigs(map[string]string{"group.initial.rebalance.delay.ms": "0"}),
	}, more...)...)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(fake.Close)
	c := &cluster{t: t, fake: fake, topic: "orders"}
	c.cfg = Config{Client: Client{Brokers: fake.ListenAddrs()}, Topic: c.topic, Group: "g", Drain: time.Second}
	return c
}

// client is one of somebody else.
func (c *cluster) client(more ...kgo.Opt) *kgo.Client {
	c.t.Helper()
	client, err := kgo.NewClient(append(c.cfg.Options(), more...)...)
	if err != nil {
		c.t.Fatal(err)
	}
	return client
}

func (c *cluster) produce(records ...*kgo.Record) {
	c.t.Helper()
	if c.admin == nil {
		c.admin = c.client(kgo.RecordPartitioner(partitioner{}), kgo.DefaultProduceTopic(c.topic), kgo.ProducerBatchMaxBytes(8<<20))
		c.t.Cleanup(c.admin.Close)
	}
	if err := c.admin.ProduceSync(context.Background(), records...).FirstErr(); err != nil {
		c.t.Fatal(err)
	}
}

// partitioner puts records into the partition that they name.
type partitioner struct{}

func (partitioner) ForTopic(string) kgo.TopicPartitioner { return partitioner{} }
func (partitioner) RequiresConsistency(*kgo.Record) bool { return true }
func (partitioner) Partition(r *kgo.Record, n int) int   { return int(r.Partition) % n }

// read reads n records of a topic.
func (c *cluster) read(topic string, n int) (all []*kgo.Record) {
	c.t.Helper()
	client := c.client(kgo.ConsumeTopics(topic), kgo.ConsumeStartOffset(kgo.NewOffset().AtStart()))
	defer client.Close()
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	defer cancel()
	for len(all) < n {
		got := client.PollFetches(ctx)
		if ctx.Err() != nil {
			c.t.Fatalf("%d records are in %s, want %d", len(all), topic, n)
		}
		all = append(all, got.Records()...)
	}
	return all
}

func (c *cluster) source() *Source {
	c.t.Helper()
	s, err := New(c.cfg)
	if err != nil {
		c.t.Fatal(err)
	}
	return s
}

// opened is a source that was opened; it is closed at the end.
func (c *cluster) opened() *Source {
	c.t.Helper()
	s := c.source()
	if _, err := s.Open(c.t.Context()); err != nil {
		c.t.Fatal(err)
	}
	c.t.Cleanup(func() { _ = s.Close() })
	return s
}

// Send puts records into one partition after another.
func (c *cluster) Send(t *testing.T, all ...brokertest.Sent) {
	t.Helper()
	for _, m := range all {
		r := &kgo.Record{Value: m.Body, Partition: sent.Add(1) % 3}
		for name, value := range m.Headers {
			r.Headers = append(r.Headers, kgo.RecordHeader{Key: name, Value: []byte(value)})
		}
		c.produce(r)
	}
}

var sent atomic.Int32

func (c *cluster) Source(*testing.T) worker.Source { return c.source() }

func (c *cluster) Letters(t *testing.T) (all []brokertest.Letter) {
	t.Helper()
	for _, r := range c.read("orders-dlq", 2) {
		l := brokertest.Letter{Body: r.Value, Headers: map[string]string{}, Evidence: map[string]string{}}
		for _, h := range r.Headers {
			if name, ours := strings.CutPrefix(h.Key, evidence); ours {
				l.Evidence[name] = string(h.Value)
			} else {
				l.Headers[h.Key] = string(h.Value)
			}
		}
		all = append(all, l)
	}
	return all
}

func TestConformance(t *testing.T) {
	t.Parallel()
	brokertest.Run(t, func(t *testing.T) brokertest.Queue { t.Helper(); return newCluster(t, 3) })
}

// take receives n records, in the order in which they come.
func take(t *testing.T, s *Source, n int) (all []worker.Message) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	for len(all) < n {
		got, err := s.Receive(ctx, worker.Receive{Max: n - len(all), Wait: time.Minute})
		if err != nil {
			t.Fatalf("%d of %d records came: %v", len(all), n, err)
		}
		all = append(all, got...)
	}
	return all
}

// none wants nothing to come.
func none(t *testing.T, s *Source) {
	t.Helper()
	got, err := s.Receive(t.Context(), worker.Receive{Max: 10, Wait: 50 * time.Millisecond})
	if err != nil || len(got) > 0 {
		t.Errorf("%v came (%v), want nothing", ids(got), err)
	}
}

func ids(all []worker.Message) (out []string) {
	for _, m := range all {
		out = append(out, m.ID)
	}
	return out
}

func isLost(err error) bool { return errors.Is(err, worker.ErrLost) }
