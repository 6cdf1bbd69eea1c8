package nats

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/nats-io/nats-server/v2/server"
	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"
	"go.uber.org/goleak"

	"github.com/bezoar-dev/bezoar/internal/brokers/brokertest"
	"github.com/bezoar-dev/bezoar/internal/outbox/sinks/sinktest"
	"github.com/bezoar-dev/bezoar/outbox"
	"github.com/bezoar-dev/bezoar/worker"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// start starts a server in this process.
func start(t *testing.T, change func(*server.Options)) *server.Server {
	t.Helper()
	o := &server.Options{Host: "127.0.0.1", Port: server.RANDOM_PORT, JetStream: true, StoreDir: t.TempDir(), NoSigs: true, NoLog: true}
	if change != nil {
		change(o)
	}
	s, err := server.NewServer(o)
	if err != nil {
		t.Fatal(err)
	}
	s.Start()
	t.Cleanup(func() {
		s.Shutdown()
		s.WaitForShutdown()
	})
	if !s.ReadyForConnections(time.Minute) {
		t.Fatal("the server does not start")
	}
	return s
}

// rig is a stream of a server.
type rig struct {
	t       *testing.T
	server  *server.Server
	cfg     Config
	js      jetstream.JetStream
	stream  jetstream.Stream
	subject string
}

// newRig makes a stream with a name of its own in a server.
func newRig(t *testing.T, s *server.Server, name string) *rig {
	t.Helper()
	r := &rig{t: t, server: s, subject: name + ".in.>"}
	r.cfg = Config{Client: Client{Servers: []string{s.Addr().String()}}, Stream: name, Consumer: "c", AckWait: 30 * time.Second}
	conn, err := r.cfg.dial(t.Context())
	if err == nil {
		t.Cleanup(conn.Close)
		r.js, err = jetstream.New(conn)
	}
	if err == nil {
		r.stream, err = r.js.CreateStream(t.Context(), jetstream.StreamConfig{Name: name, Subjects: []string{r.subject}, MaxMsgSize: maxMessage})
	}
	if err != nil {
		t.Fatal(err)
	}
	return r
}

const maxMessage = 900_000 // bytes

func (r *rig) Send(t *testing.T, all ...brokertest.Sent) {
	t.Helper()
	for _, m := range all {
		msg := nats.NewMsg(r.cfg.Stream + ".in.x")
		msg.Data = m.Body
		for name, value := range m.Headers {
			msg.Header[name] = []string{value}
		}
		if _, err := r.js.PublishMsg(t.Context(), msg); err != nil {
			t.Fatal(err)
		}
	}
}

func (r *rig) Source(*testing.T) worker.Source { return r.source() }

func (r *rig) source() *Source {
	r.t.Helper()
	s, err := New(r.cfg)
	if err != nil {
		r.t.Fatal(err)
	}
	return s
}

// opened is a source that was opened; it is closed at the end.
func (r *rig) opened() *Source {
	r.t.Helper()
	s := r.source()
	if _, err := s.Open(r.t.Context()); err != nil {
		r.t.Fatal(err)
	}
	r.t.Cleanup(func() { _ = s.Close() })
	return s
}

// all are the messages of a stream.
func (r *rig) all(t *testing.T, stream string) (all []jetstream.Msg) {
	t.Helper()
	s, err := r.js.Stream(t.Context(), stream)
	if err != nil {
		t.Fatal(err)
	}
	info, err := s.Info(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	c, err := s.OrderedConsumer(t.Context(), jetstream.OrderedConsumerConfig{})
	if err != nil {
		t.Fatal(err)
	}
	if info.State.Msgs == 0 {
		return nil
	}
	got, err := c.Fetch(int(info.State.Msgs), jetstream.FetchMaxWait(time.Minute))
	if err != nil {
		t.Fatal(err)
	}
	for m := range got.Messages() {
		all = append(all, m)
	}
	if err := got.Error(); err != nil || len(all) != int(info.State.Msgs) {
		t.Fatalf("%d of %d messages came: %v", len(all), info.State.Msgs, err)
	}
	return all
}

func (r *rig) Letters(t *testing.T) (all []brokertest.Letter) {
	t.Helper()
	for _, m := range r.all(t, r.cfg.Stream+"-dlq") {
		l := brokertest.Letter{Body: m.Data(), Headers: map[string]string{}, Evidence: map[string]string{}}
		for name, values := range m.Headers() {
			if short, ours := strings.CutPrefix(name, evidence); ours {
				l.Evidence[short] = values[0]
			} else {
				l.Headers[name] = values[0]
			}
		}
		all = append(all, l)
	}
	return all
}

// named makes a name for each place of a test.
func named(t *testing.T) string {
	return strings.NewReplacer("/", "-", "#", "-", ".", "-").Replace(t.Name()) + fmt.Sprint(time.Now().UnixNano())
}

func TestConformance(t *testing.T) {
	t.Parallel()
	s := start(t, nil)
	brokertest.Run(t, func(t *testing.T) brokertest.Queue { t.Helper(); return newRig(t, s, named(t)) })
}

// place is a stream that a sink sends to.
type place struct{ *rig }

func (p place) Sink(t *testing.T) outbox.Sink {
	t.Helper()
	return p.sink(t, "x", "?stream="+p.cfg.Stream)
}

func (p place) sink(t *testing.T, tail, more string) *Sink {
	t.Helper()
	s, err := SinkFromURL("nats://"+p.server.Addr().String()+"/"+p.cfg.Stream+".in."+tail+more, sinktest.Source, nil)
	if err != nil {
		t.Fatal(err)
	}
	return s
}

func (p place) Delivered(t *testing.T) (all []sinktest.Delivery) {
	t.Helper()
	for _, m := range p.all(t, p.cfg.Stream) {
		d := sinktest.Delivery{Headers: map[string]string{}, Payload: m.Data()}
		for name, values := range m.Headers() {
			switch name {
			case "ce-id":
				d.ID = values[0]
			case "ce-topic":
				d.Topic = values[0]
			case "ce-subject":
				d.Key = values[0]
			case "ce-type":
				d.Type = values[0]
			case "ce-source":
				d.Source = values[0]
			case "ce-specversion", "ce-time", "ce-sequence", "content-type", "Nats-Msg-Id", "Nats-Expected-Stream":
			default:
				d.Headers[name] = values[0]
			}
		}
		all = append(all, d)
	}
	return all
}

func TestSinkConformance(t *testing.T) {
	t.Parallel()
	s := start(t, nil)
	sinktest.Run(t, sinktest.Traits{
		At: func(t *testing.T, address string) outbox.Sink {
			t.Helper()
			s, err := SinkFromURL("nats://"+address+"/x", sinktest.Source, nil)
			if err != nil {
				t.Fatal(err)
			}
			return s
		},
		TooLarge: maxMessage + 1, Dedups: true,
		Invalid: func(r *outbox.Record) { r.Headers = map[string]string{"X-Split": "a\r\nb: c"} },
	}, func(t *testing.T) sinktest.Place { t.Helper(); return place{newRig(t, s, named(t))} })
}

// receive receives one message.
func receive(t *testing.T, s *Source) worker.Message {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	got, err := s.Receive(ctx, worker.Receive{Max: 1, Wait: time.Minute})
	if err != nil || len(got) != 1 {
		t.Fatalf("%v came (%v), want one message", got, err)
	}
	return got[0]
}

func isLost(err error) bool { return errors.Is(err, worker.ErrLost) }
