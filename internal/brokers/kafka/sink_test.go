package kafka

import (
	"context"
	"errors"
	"strings"
	"testing"

	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/bezoar-dev/bezoar/internal/brokers"
	"github.com/bezoar-dev/bezoar/internal/outbox/sinks/sinktest"
	"github.com/bezoar-dev/bezoar/outbox"
)

// target is a topic that a sink sends to.
type target struct {
	*cluster
	partitions int32
}

func (p target) Sink(t *testing.T) outbox.Sink { t.Helper(); return p.sink(t) }

func (p target) sink(t *testing.T) *Sink {
	t.Helper()
	s, err := NewSink(SinkConfig{Client: p.cfg.Client, Topic: p.topic, Source: sinktest.Source})
	if err != nil {
		t.Fatal(err)
	}
	return s
}

func (p target) Delivered(t *testing.T) (all []sinktest.Delivery) {
	t.Helper()
	client := p.client()
	defer client.Close()
	n := int64(0)
	req := kmsg.NewPtrListOffsetsRequest()
	topic := kmsg.NewListOffsetsRequestTopic()
	topic.Topic = p.topic
	for i := range p.partitions {
		part := kmsg.NewListOffsetsRequestTopicPartition()
		part.Partition, part.Timestamp = i, -1
		topic.Partitions = append(topic.Partitions, part)
	}
	req.Topics = append(req.Topics, topic)
	for _, shard := range client.RequestSharded(t.Context(), req) {
		if shard.Err != nil {
			t.Fatal(shard.Err)
		}
		for _, topic := range shard.Resp.(*kmsg.ListOffsetsResponse).Topics {
			for _, part := range topic.Partitions {
				n += part.Offset
			}
		}
	}
	partitionOf := map[string]int32{}
	for _, r := range p.read(p.topic, int(n)) {
		d := sinktest.Delivery{Key: string(r.Key), Headers: map[string]string{}, Payload: r.Value}
		if at, there := partitionOf[d.Key]; there && at != r.Partition && d.Key != "" {
			t.Errorf("key %q is in two partitions", d.Key)
		}
		partitionOf[d.Key] = r.Partition
		for _, h := range r.Headers {
			switch h.Key {
			case "ce_id":
				d.ID = string(h.Value)
			case "ce_topic":
				d.Topic = string(h.Value)
			case "ce_type":
				d.Type = string(h.Value)
			case "ce_source":
				d.Source = string(h.Value)
			case "ce_specversion", "ce_time", "ce_sequence", "ce_subject", "content-type":
			default:
				d.Headers[h.Key] = string(h.Value)
			}
		}
		all = append(all, d)
	}
	return all
}

func TestSinkConformance(t *testing.T) {
	t.Parallel()
	sinktest.Run(t, sinktest.Traits{
		At: func(t *testing.T, address string) outbox.Sink {
			t.Helper()
			s, err := SinkFromURL("kafka://"+address+"/orders", sinktest.Source, nil)
			if err != nil {
				t.Fatal(err)
			}
			return s
		},
		TooLarge: 1_100_000,
	}, func(t *testing.T) sinktest.Place {
		t.Helper()
		return target{newCluster(t, 3), 3}
	})
}

// A broker that refuses a batch does not say which record of it is at fault.
func TestARecordThatABrokerRefuses(t *testing.T) {
	t.Parallel()
	c := newCluster(t, 1)
	c.fake.ControlKey(int16(kmsg.Produce), func(req kmsg.Request) (kmsg.Response, error, bool) {
		c.fake.KeepControl()
		in := req.(*kmsg.ProduceRequest)
		if !strings.Contains(string(in.Topics[0].Partitions[0].Records), "poison") {
			return nil, nil, false
		}
		out := in.ResponseKind().(*kmsg.ProduceResponse)
		topic := kmsg.NewProduceResponseTopic()
		topic.Topic, topic.TopicID = in.Topics[0].Topic, in.Topics[0].TopicID
		part := kmsg.NewProduceResponseTopicPartition()
		part.ErrorCode = kerr.InvalidRecord.Code
		topic.Partitions = append(topic.Partitions, part)
		out.Topics = append(out.Topics, topic)
		return out, nil, true
	})
	s := target{c, 1}.sink(t)
	defer s.Close()
	records := []outbox.Record{sinktest.Record(1, "a"), sinktest.Record(2, "b"), sinktest.Record(3, "a"), sinktest.Record(4, "a"), sinktest.Record(5, "b")}
	records[2].Payload = []byte("poison")
	results := s.Send(t.Context(), records)
	for i, err := range results {
		f, refused := errors.AsType[*outbox.Failure](err)
		switch {
		case i == 2 && (!refused || f.Reason == ""), i == 3 && !errors.Is(err, outbox.ErrBehind), (i < 2 || i == 4) && err != nil:
			t.Errorf("record %d: %v", i, err)
		}
	}
	if all := (target{c, 1}).Delivered(t); len(all) != 3 {
		t.Errorf("%d records are there, want 3", len(all))
	}
}

func TestASinkWithoutATopic(t *testing.T) {
	t.Parallel()
	c := newCluster(t, 1)
	c.topic = "nowhere"
	s := target{c, 1}.sink(t)
	defer s.Close()
	err := s.Send(t.Context(), []outbox.Record{sinktest.Record(1, "a")})[0]
	if b, ok := errors.AsType[*brokers.Error](err); !ok || b.Kind != brokers.Missing || !strings.Contains(err.Error(), "nowhere") {
		t.Errorf("it says %v, want that there is no topic", err)
	}
}

// What was not acknowledged when the context ended may be there, and sent again it is in
// order.
func TestASinkThatIsInterrupted(t *testing.T) {
	t.Parallel()
	c := newCluster(t, 1)
	ctx, cancel := context.WithCancel(t.Context())
	c.fake.ControlKey(int16(kmsg.Produce), func(kmsg.Request) (kmsg.Response, error, bool) {
		cancel()
		<-t.Context().Done()
		return nil, nil, false
	})
	s := target{c, 1}.sink(t)
	defer s.Close()
	records := []outbox.Record{sinktest.Record(1, "a"), sinktest.Record(2, "a")}
	results := s.Send(ctx, records)
	if !errors.Is(results[0], context.Canceled) || !errors.Is(results[1], outbox.ErrBehind) {
		t.Errorf("it says %v", results)
	}
}

func TestSinkURLs(t *testing.T) {
	t.Parallel()
	for text, says := range map[string]string{
		"kafka://u:hush@a/":               "Topic:",
		"kafka://u:hush@a/t?group=g":      "no parameter group",
		"kafka://u:hush@a/t?sasl=basic":   "SASL:",
		"kafka://u:hush@a:port/t":         "HOST:PORT",
		"kafka://u:hush@a/t?tls=perhaps":  "tls=perhaps",
		"kafka://u:hush@a/not/a/topic":    "Topic:",
		"kafka://u:hush@a/t?ca=/no/such":  "ca:",
		"kafka://u:hush@a/t?cert=/a.cert": "cert, key",
	} {
		if _, err := SinkFromURL(text, "/x", nil); err == nil || !strings.Contains(err.Error(), says) || strings.Contains(err.Error(), "hush") {
			t.Errorf("%s: %v, want %q", text, err, says)
		}
	}
}
