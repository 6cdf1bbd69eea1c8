package kafka

import (
	"bytes"
	"context"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kgo"
	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/bezoar-dev/bezoar"
	"github.com/bezoar-dev/bezoar/queue"
	"github.com/bezoar-dev/bezoar/worker"
)

func letterOf(m worker.Message) worker.Letter {
	return worker.Letter{Body: m.Body, Once: m.ID, Outcome: queue.Outcome{
		Class: bezoar.OOM, Reason: "no memory", Failure: "oom:parse", Detail: "killed", Stderr: strings.Repeat("noise\n", 1000) + "the end",
	}}
}

// A letter is its origin, and where that was, and why.
func TestALetterHasItsEvidence(t *testing.T) {
	t.Parallel()
	c := newCluster(t, 3)
	at := time.UnixMilli(1_700_000_000_123)
	c.produce(&kgo.Record{
		Partition: 2, Key: []byte{0xff, 0}, Value: []byte("v"), Timestamp: at,
		Headers: []kgo.RecordHeader{{Key: "trace", Value: []byte{0, 0xfe}}, {Key: "trace", Value: []byte("2")}, {Key: "bezoar-class", Value: []byte("of an earlier time")}},
	})
	s := c.opened()
	m := take(t, s, 1)[0]
	if err := s.SetAside(t.Context(), m, letterOf(m)); err != nil {
		t.Fatal(err)
	}
	r := c.read("orders-dlq", 1)[0]
	var got []string
	for _, h := range r.Headers {
		got = append(got, fmt.Sprintf("%s=%q", h.Key, cut(string(h.Value), 60)))
	}
	want := []string{
		`trace="\x00\xfe"`, `trace="2"`, `bezoar-topic="orders"`, `bezoar-partition="2"`, `bezoar-offset="0"`, `bezoar-timestamp="2023-11-14T22:13:20.123Z"`,
		`bezoar-consumer-group="g"`, `bezoar-class="oom"`, `bezoar-attempts="1"`, `bezoar-failure="oom:parse"`, `bezoar-reason="no memory"`, `bezoar-detail="killed"`,
	}
	if len(got) != len(want)+1 || !slices.Equal(got[:len(want)], want) || !strings.HasSuffix(string(r.Headers[len(want)].Value), "the end") {
		t.Errorf("headers:\n%s\nwant\n%s", strings.Join(got, "\n"), strings.Join(want, "\n"))
	}
	if !bytes.Equal(r.Key, []byte{0xff, 0}) || string(r.Value) != "v" {
		t.Errorf("%q=%q", r.Key, r.Value)
	}
}

// What a record has beside its value is in the message.
func TestAttributes(t *testing.T) {
	t.Parallel()
	c := newCluster(t, 1)
	c.produce(
		&kgo.Record{Key: []byte("user 1"), Value: []byte("v"), Headers: []kgo.RecordHeader{
			{Key: "x-trace.id", Value: []byte("1")}, {Key: "x-trace.id", Value: []byte("2")}, {Key: "bin", Value: []byte{0}}, {Key: "", Value: nil},
		}},
		&kgo.Record{Key: []byte("user 2")}, // a tombstone
		&kgo.Record{Key: []byte{0xff}, Value: []byte{}},
	)
	all := take(t, c.opened(), 3)
	for i, want := range []string{
		`group "user 1", body "v" nil=false: ="" bin=binary x-trace.id#2="2" x-trace.id="1"`,
		`group "user 2", body "" nil=true: kafka-key=binary kafka-tombstone="true"`,
		`group "", body "" nil=false: kafka-key=binary`,
	} {
		m := all[i]
		var as []string
		for name, a := range m.Attributes {
			if a.DataType == "Binary" {
				as = append(as, name+"=binary")
			} else {
				as = append(as, fmt.Sprintf("%s=%q", name, a.String))
			}
		}
		slices.Sort(as)
		if got := fmt.Sprintf("group %q, body %q nil=%v: %s", m.Group, m.Body, m.Body == nil, strings.Join(as, " ")); got != want {
			t.Errorf("%s, want %s", got, want)
		}
	}
}

// A record that is as large as its topic allows fits into the dead-letter topic with its
// evidence, which has room for that; and without what the handler wrote into one that
// has less. One with no room at all is told, and the record stays.
func TestLargeLetters(t *testing.T) {
	t.Parallel()
	for _, size := range []struct {
		name      string
		room      int // of the dead-letter topic; 0: it is made
		fits, all bool
	}{
		{"made", 0, true, true},
		{"some", 1<<20 + 2000, true, false},
		{"none", 1 << 19, false, false},
	} {
		t.Run(size.name, func(t *testing.T) {
			t.Parallel()
			c := newCluster(t, 1)
			c.createTopic("orders-large", 1<<20+1000)
			c.cfg.Topic, c.topic = "orders-large", "orders-large"
			if size.room > 0 {
				c.createTopic("orders-large-dlq", size.room)
			}
			value := noise(1 << 20)
			c.produce(&kgo.Record{Value: value})
			s := c.opened()
			m := take(t, s, 1)[0]
			err := s.SetAside(t.Context(), m, letterOf(m))
			if !size.fits {
				if err == nil || !strings.Contains(err.Error(), "max.message.bytes") || isLost(err) {
					t.Errorf("it says %v", err)
				}
				return
			}
			if err != nil {
				t.Fatal(err)
			}
			r := c.read("orders-large-dlq", 1)[0]
			if last := r.Headers[len(r.Headers)-1].Key; len(r.Value) != len(value) || (last == "bezoar-stderr") != size.all {
				t.Errorf("a letter of %d bytes, whose last header is %s", len(r.Value), last)
			}
		})
	}
}

func (c *cluster) createTopic(name string, most int) {
	c.t.Helper()
	client := c.client()
	defer client.Close()
	req := kmsg.NewPtrCreateTopicsRequest()
	topic := kmsg.NewCreateTopicsRequestTopic()
	topic.Topic, topic.NumPartitions, topic.ReplicationFactor = name, 1, 1
	topic.Configs = []kmsg.CreateTopicsRequestTopicConfig{
		{Name: "max.message.bytes", Value: new(fmt.Sprint(most))},
		{Name: "compression.type", Value: new("uncompressed")},
	}
	req.Topics = append(req.Topics, topic)
	resp, err := req.RequestWith(context.Background(), client)
	if err != nil || resp.Topics[0].ErrorCode != 0 {
		c.t.Fatalf("create topic %s: %v %+v", name, err, resp)
	}
}
