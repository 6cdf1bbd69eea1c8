package nats

import (
	"errors"
	"net"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/nats-io/nats-server/v2/server"
	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"

	"github.com/bezoar-dev/bezoar/internal/brokers"
	"github.com/bezoar-dev/bezoar/internal/brokers/brokertest"
	"github.com/bezoar-dev/bezoar/internal/outbox/outgoing"
	"github.com/bezoar-dev/bezoar/internal/outbox/sinks/sinktest"
	"github.com/bezoar-dev/bezoar/outbox"
	"github.com/bezoar-dev/bezoar/worker"
)

// What runs for longer than the consumer's AckWait stays ours.
func TestWhatRunsIsKept(t *testing.T) {
	t.Parallel()
	r := newRig(t, start(t, nil), "orders")
	if _, err := r.stream.CreateConsumer(t.Context(), jetstream.ConsumerConfig{Durable: "c", AckPolicy: jetstream.AckExplicitPolicy, AckWait: time.Second}); err != nil {
		t.Fatal(err)
	}
	r.Send(t, brokertest.Sent{Body: []byte("long")})
	s := r.opened()
	m := receive(t, s)
	got, err := r.opened().Receive(t.Context(), worker.Receive{Max: 1, Wait: 1500 * time.Millisecond})
	if err != nil || len(got) > 0 {
		t.Errorf("another worker received %v (%v) meanwhile", got, err)
	}
	if err := s.Done(t.Context(), m); err != nil {
		t.Error(err)
	}
}

// When the server has not heard of us for too long, what runs is stopped.
func TestWhatIsLostIsStopped(t *testing.T) {
	t.Parallel()
	r := newRig(t, start(t, nil), "orders")
	r.cfg.AckWait = time.Second
	r.Send(t, brokertest.Sent{Body: []byte("m")})
	s := r.opened()
	m := receive(t, s)
	s.mu.Lock()
	s.heard = time.Now().Add(-time.Second) // as after a stop of the process
	s.mu.Unlock()
	<-m.Lost
	for doing, err := range map[string]error{
		"done": s.Done(t.Context(), m), "extend": s.Extend(t.Context(), m, time.Minute), "release": s.Release(t.Context(), m, worker.Release{}),
		"set aside": s.SetAside(t.Context(), m, worker.Letter{}),
	} {
		if !isLost(err) {
			t.Errorf("%s what was lost: %v", doing, err)
		}
	}
	if again := receive(t, s); again.ID != m.ID || again.Receives != 2 {
		t.Errorf("%+v came", again)
	}
}

func TestAConsumerThatIsDeleted(t *testing.T) {
	t.Parallel()
	r := newRig(t, start(t, nil), "orders")
	s := r.opened()
	if err := r.stream.DeleteConsumer(t.Context(), "c"); err != nil {
		t.Fatal(err)
	}
	_, err := s.Receive(t.Context(), worker.Receive{Max: 1, Wait: time.Minute})
	if _, forever := err.(*worker.PermanentError); !forever { //nolint:errorlint // it is the outermost one
		t.Errorf("it says %v, want that this is for good", err)
	}
}

func TestWhatCannotBeOpened(t *testing.T) {
	t.Parallel()
	s := start(t, func(o *server.Options) { o.Username, o.Password = "u", "hushhush" })
	cfg := Config{Client: Client{Servers: []string{s.Addr().String()}, User: "u", Password: "hushhush"}, Stream: "nowhere", Consumer: "c"}
	fails(t, cfg, brokers.Missing, "nowhere")
	cfg.Password = "hushwrong"
	fails(t, cfg, brokers.Denied, "")
	cfg.Servers = []string{"127.0.0.1:1"}
	fails(t, cfg, brokers.Unreachable, "")
	plain := start(t, func(o *server.Options) { o.JetStream = false })
	cfg.Servers, cfg.User, cfg.Password = []string{plain.Addr().String()}, "", ""
	fails(t, cfg, brokers.Missing, "")
	r := newRig(t, start(t, nil), "orders")
	if _, err := r.stream.CreateConsumer(t.Context(), jetstream.ConsumerConfig{Durable: "c", AckPolicy: jetstream.AckNonePolicy}); err != nil {
		t.Fatal(err)
	}
	fails(t, r.cfg, brokers.Denied, "acknowledge")
}

// fails wants a source not to open.
func fails(t *testing.T, cfg Config, kind brokers.Kind, says string) {
	t.Helper()
	s, err := New(cfg)
	if err != nil {
		t.Fatal(err)
	}
	_, err = s.Open(t.Context())
	_ = s.Close()
	b, ok := errors.AsType[*brokers.Error](err)
	if !ok || b.Kind != kind || !strings.Contains(err.Error(), says) || b.Fix == "" || strings.Contains(err.Error(), "hush") {
		t.Errorf("it says %v, want %q and what to do", err, says)
	}
}

func TestURLs(t *testing.T) {
	t.Parallel()
	c, err := FromURL("nats://u:p@a,b:1/ORDERS?consumer=billing&start=latest&ack_wait=5s&tls=true", nil)
	if err != nil || c.TLS == nil || c.Stream != "ORDERS" || c.Consumer != "billing" || !c.Latest || c.AckWait != 5*time.Second || strings.Join(c.Servers, " ") != "a:4222 b:1" {
		t.Errorf("%+v: %v", c, err)
	}
	for text, says := range map[string]string{
		"nats://u:hush@a/ORDERS":                         "add ?consumer=NAME",
		"nats://u:hush@a/?consumer=c":                    "Stream:",
		"nats://u:hush@a/orders.new?consumer=c":          "Stream:",
		"nats://u:hush@a/O?consumer=c&start=now":         "not earliest or latest",
		"nats://u:hush@a/O?consumer=c&ack_wait=soon":     "not a duration",
		"nats://u:hush@a/O?consumer=c&ack_wait=1ms":      "AckWait:",
		"nats://u:hush@a/O?consumer=a%20b":               "Consumer:",
		"nats://u:hush@a/O?consumer=c&durable=x":         "no parameter durable",
		"nats://u:hush@a:port/O?consumer=c":              "HOST:PORT",
		"nats://u:hush@a/O?consumer=c&cert=/no/such.pem": "cert, key",
	} {
		if _, err := FromURL(text, nil); err == nil || !strings.Contains(err.Error(), says) || strings.Contains(err.Error(), "hush") {
			t.Errorf("%s: %v, want %q", text, err, says)
		}
	}
	for text, says := range map[string]string{
		"nats://u:hush@a/":                  "Subject:",
		"nats://u:hush@a/orders.*":          "Subject:",
		"nats://u:hush@a/orders.{colour}":   "placeholder",
		"nats://u:hush@a/orders?stream=a.b": "stream:",
		"nats://u:hush@a/orders?consumer=c": "no parameter consumer",
	} {
		if _, err := SinkFromURL(text, "/x", nil); err == nil || !strings.Contains(err.Error(), says) || strings.Contains(err.Error(), "hush") {
			t.Errorf("%s: %v, want %q", text, err, says)
		}
	}
}

func TestSubjects(t *testing.T) {
	t.Parallel()
	p := place{newRig(t, start(t, nil), "orders")}
	s := p.sink(t, "{topic}.{key}", "")
	defer s.Close()
	bad := sinktest.Record(2, "a key")
	forged := sinktest.Record(3, "k3")
	forged.Headers = map[string]string{"Nats-Rollup": "all"}
	results := s.Send(t.Context(), []outbox.Record{sinktest.Record(1, "k1"), bad, forged})
	if results[0] != nil || !outgoing.IsRefused(results[1]) || results[2] != nil {
		t.Errorf("it says %v", results)
	}
	all := p.all(t, "orders")
	if len(all) != 2 || all[0].Subject() != "orders.in.orders.paid.k1" {
		t.Errorf("%d came", len(all))
	}
}

func TestWhereASinkCannotSend(t *testing.T) {
	t.Parallel()
	p := place{newRig(t, start(t, nil), "orders")}
	for more, says := range map[string]string{"": "no stream has subject", "?stream=other": "expected stream"} {
		tail := "x"
		if more == "" {
			p.cfg.Stream = "nowhere"
		} else {
			p.cfg.Stream = "orders"
		}
		s := p.sink(t, tail, more)
		err := s.Send(t.Context(), []outbox.Record{sinktest.Record(1, "k")})[0]
		_ = s.Close()
		if err == nil || outgoing.IsRefused(err) || !strings.Contains(err.Error(), says) {
			t.Errorf("it says %v, want %q", err, says)
		}
	}
}

// What a server that starts again has said is still true.
func TestAServerThatStartsAgain(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	first := start(t, func(o *server.Options) { o.StoreDir = dir })
	p := place{newRig(t, first, "orders")}
	s := p.sink(t, "x", "")
	defer s.Close()
	if err := s.Send(t.Context(), []outbox.Record{sinktest.Record(1, "k")})[0]; err != nil {
		t.Fatal(err)
	}
	at := first.Addr().String()
	first.Shutdown()
	first.WaitForShutdown()
	if err := s.Send(t.Context(), []outbox.Record{sinktest.Record(2, "k")})[0]; err == nil || outgoing.IsRefused(err) {
		t.Errorf("without a server it says %v", err)
	}
	back := s.conn.StatusChanged(nats.CONNECTED)
	start(t, func(o *server.Options) { o.StoreDir, o.Port = dir, portOf(t, at) })
	<-back
	err := errors.New("nothing was sent")
	for over := time.Now().Add(time.Minute); err != nil && time.Now().Before(over); { // the library says it a little early
		err = s.Send(t.Context(), []outbox.Record{sinktest.Record(2, "k")})[0]
	}
	if err != nil {
		t.Error(err)
	}
	conn, err := p.cfg.dial(t.Context()) // the old one may not be back
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	if p.js, err = jetstream.New(conn); err != nil {
		t.Fatal(err)
	}
	if all := p.Delivered(t); len(all) != 2 {
		t.Errorf("%d are there, want 2", len(all))
	}
}

func portOf(t *testing.T, address string) int {
	t.Helper()
	_, port, err := net.SplitHostPort(address)
	if err != nil {
		t.Fatal(err)
	}
	n, err := strconv.Atoi(port)
	if err != nil {
		t.Fatal(err)
	}
	return n
}
