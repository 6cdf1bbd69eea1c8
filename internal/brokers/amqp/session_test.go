package amqp

import (
	"fmt"
	"net/url"
	"slices"
	"strings"
	"testing"
	"time"

	amqp091 "github.com/rabbitmq/amqp091-go"

	"github.com/bezoar-dev/bezoar/internal/brokers"
	"github.com/bezoar-dev/bezoar/worker"
)

// Messages that wait for a retry take nobody's place: others still come, and the
// consumers that were opened for that end.
func TestMessagesThatWaitTakeNoPlaces(t *testing.T) {
	t.Parallel()
	r := newRig(t, nil)
	r.cfg.Prefetch = 2
	const n = 10
	for i := range n {
		r.publish(amqp091.Publishing{Body: fmt.Append(nil, i)})
	}
	s := r.opened()
	var all []worker.Message
	for range n {
		m := take(t, s, 1)[0]
		if err := s.Release(t.Context(), m, worker.Release{Delay: time.Second}); err != nil {
			t.Fatal(err)
		}
		all = append(all, m)
	}
	for range all {
		m := take(t, s, 1)[0]
		if m.Receives != 2 {
			t.Errorf("%s was received %d times, want 2", m.Body, m.Receives)
		}
		if err := s.Done(t.Context(), m); err != nil {
			t.Fatal(err)
		}
	}
	r.publish(amqp091.Publishing{Body: []byte("last")})
	if m := take(t, s, 1)[0]; string(m.Body) != "last" {
		t.Errorf("%s came again", m.Body)
	}
}

// No more is held than Prefetch says, so that other workers get their part.
func TestPrefetch(t *testing.T) {
	t.Parallel()
	r := newRig(t, nil)
	r.cfg.Prefetch = 2
	for i := range 4 {
		r.publish(amqp091.Publishing{Body: fmt.Append(nil, i)})
	}
	one, two := r.opened(), r.opened()
	if len(take(t, one, 2)) != 2 || len(take(t, two, 2)) != 2 {
		t.Error("they were not shared")
	}
}

// When the broker ends the connection what runs is lost, and a new one is made.
func TestAConnectionThatEnds(t *testing.T) {
	t.Parallel()
	r := newRig(t, nil)
	r.publish(amqp091.Publishing{Body: []byte("m")})
	s := r.opened()
	m := take(t, s, 1)[0]
	s.mu.Lock()
	conn := s.session.conn
	s.mu.Unlock()
	if err := conn.Close(); err != nil {
		t.Fatal(err)
	}
	<-m.Lost
	again := take(t, s, 1)[0]
	if string(again.Body) != "m" || again.Receives < 2 {
		t.Errorf("%s came, received %d times", again.Body, again.Receives)
	}
	for doing, err := range map[string]error{
		"done": s.Done(t.Context(), m), "extend": s.Extend(t.Context(), m, time.Minute), "release": s.Release(t.Context(), m, worker.Release{}),
		"set aside": s.SetAside(t.Context(), m, worker.Letter{}),
	} {
		if err == nil {
			t.Errorf("%s worked, on a connection that has ended", doing)
		}
	}
}

// A queue that is deleted stops the worker.
func TestAQueueThatIsDeleted(t *testing.T) {
	t.Parallel()
	r := newRig(t, nil)
	s := r.opened()
	if _, err := r.channel.QueueDelete(r.cfg.Queue, false, false, false); err != nil {
		t.Fatal(err)
	}
	_, err := s.Receive(t.Context(), worker.Receive{Max: 1, Wait: time.Minute})
	if _, forever := err.(*worker.PermanentError); !forever { //nolint:errorlint // it is the outermost one
		t.Errorf("it says %v, want that this is for good", err)
	}
}

func TestWhatCannotBeOpened(t *testing.T) {
	t.Parallel()
	r := newRig(t, nil)
	cfg := r.cfg
	cfg.Queue = "nothing-" + cfg.Queue
	fails(t, cfg, brokers.Missing, "look up queue nothing-")
	cfg = r.cfg
	cfg.User, cfg.Password = "nobody", "hushhush"
	fails(t, cfg, brokers.Denied, "connect to")
	cfg = r.cfg
	cfg.VHost = "nowhere"
	fails(t, cfg, brokers.Denied, "connect to")
	cfg = r.cfg
	cfg.Brokers = []string{"127.0.0.1:1"}
	fails(t, cfg, brokers.Unreachable, "127.0.0.1:1")
	cfg.Brokers = append(cfg.Brokers, r.cfg.Brokers...) // the second one answers
	s, err := New(cfg)
	if err == nil {
		_, err = s.Open(t.Context())
	}
	if err != nil {
		t.Fatal(err)
	}
	_ = s.Close()
}

// What a message has beside its body is in the message, and in its letter.
func TestHeadersAndProperties(t *testing.T) {
	t.Parallel()
	r := newRig(t, nil)
	r.publish(amqp091.Publishing{
		Body: []byte("m"), MessageId: "id 1", ContentType: "text/plain", CorrelationId: "c", Type: "order", Timestamp: time.Unix(1_700_000_000, 0),
		Headers: amqp091.Table{"s": "text", "b": []byte{0xff}, "n": int32(7), "t": true, "deep": amqp091.Table{"x": int64(1)}, "bezoar-class": "old"},
	})
	s := r.opened()
	m := take(t, s, 1)[0]
	var got []string
	for name, a := range m.Attributes {
		got = append(got, fmt.Sprintf("%s %s %q", name, a.DataType, a.String+string(a.Binary)))
	}
	slices.Sort(got)
	want := `amqp-content-type String "text/plain", amqp-correlation-id String "c", amqp-type String "order", b Binary "\xff", bezoar-class String "old", ` +
		`deep String "{\"x\":1}", n Number "7", s String "text", t String "true"`
	if strings.Join(got, ", ") != want || m.ID != "id 1" || m.Sent.Unix() != 1_700_000_000 {
		t.Errorf("%s %v: %s", m.ID, m.Sent, strings.Join(got, ", "))
	}
	if err := s.SetAside(t.Context(), m, worker.Letter{Body: m.Body}); err != nil {
		t.Fatal(err)
	}
	d, ok, err := r.channel.Get(r.cfg.Queue+"-dlq", true)
	if err != nil || !ok || d.MessageId != "id 1" || d.ContentType != "text/plain" || d.DeliveryMode != amqp091.Persistent ||
		d.Headers["bezoar-class"] == "old" || d.Headers["bezoar-queue"] != r.cfg.Queue || d.Headers["n"] != int32(7) {
		t.Errorf("the letter: %+v (%v)", d, err)
	}
}

func TestURLs(t *testing.T) {
	t.Parallel()
	c, err := FromURL("amqps://u:p@a,b:1/orders?vhost=/prod&prefetch=3", nil)
	if err != nil || c.TLS == nil || c.VHost != "/prod" || c.Prefetch != 3 || c.Queue != "orders" || strings.Join(c.Brokers, " ") != "a:5671 b:1" {
		t.Errorf("%+v: %v", c, err)
	}
	for text, says := range map[string]string{
		"amqp://a/":                 "Queue:",
		"amqp://a/q?prefetch=many":  "is not a number",
		"amqp://a/q?prefetch=99999": "Prefetch:",
		"amqp://a/q?group=g":        "no parameter group",
		"amqp://a/" + url.PathEscape(strings.Repeat("q", 300)): "Queue:",
	} {
		if _, err := FromURL(text, nil); err == nil || !strings.Contains(err.Error(), says) {
			t.Errorf("%s: %v, want %q", text, err, says)
		}
	}
}
