package sinks

import (
	"context"
	"crypto/tls"
	"encoding/json"
	"errors"
	"io"
	"net"
	"strings"
	"sync"
	"testing"
	"time"

	"go.uber.org/goleak"

	"github.com/bezoar-dev/bezoar"
	"github.com/bezoar-dev/bezoar/internal/brokers/brokertest"
	"github.com/bezoar-dev/bezoar/internal/outbox/outgoing"
	"github.com/bezoar-dev/bezoar/internal/outbox/sinks/sinktest"
	"github.com/bezoar-dev/bezoar/internal/store/memory"
	"github.com/bezoar-dev/bezoar/outbox"
	"github.com/bezoar-dev/bezoar/queue"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// target is a queue of an engine.
type target struct {
	engine *queue.Engine
	name   string
}

func newTarget(t *testing.T, fifo bool) *target {
	t.Helper()
	db, err := memory.Open(memory.Config{})
	if err != nil {
		t.Fatal(err)
	}
	p := &target{name: "orders"}
	if p.engine, err = queue.New(queue.Config{}, db.Queue()); err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	var running sync.WaitGroup
	running.Go(func() { _ = p.engine.Run(ctx) })
	t.Cleanup(func() { cancel(); running.Wait() })
	settings := queue.DefaultSettings()
	if settings.FIFO, settings.MaxBytes = fifo, 200_000; fifo {
		p.name += ".fifo"
	}
	if _, err := p.engine.CreateQueue(t.Context(), p.name, settings, nil); err != nil {
		t.Fatal(err)
	}
	return p
}

func (p *target) Sink(t *testing.T) outbox.Sink {
	t.Helper()
	s, err := Open(t.Context(), "queue:"+p.name, Options{Source: sinktest.Source, Queue: p.engine})
	if err != nil {
		t.Fatal(err)
	}
	return s
}

func (p *target) Delivered(t *testing.T) (all []sinktest.Delivery) {
	t.Helper()
	for after := int64(0); ; {
		some, err := p.engine.Peek(t.Context(), p.name, after, queue.MaxBatch)
		if err != nil {
			t.Fatal(err)
		}
		if len(some) == 0 {
			return all
		}
		for i := range some {
			m := &some[i]
			after = m.Sequence
			text := func(name string) string { return m.Attributes[name].String }
			d := sinktest.Delivery{
				ID: text("event_id"), Topic: text("event_topic"), Key: text("event_key"), Type: text("event_type"), Source: text("event_source"),
				Headers: map[string]string{}, Payload: m.Body,
			}
			for name, a := range m.Attributes {
				if !strings.HasPrefix(name, "event_") && name != "Content-Type" {
					d.Headers[name] = a.String
				}
			}
			if packed := text(outgoing.HeadersAttribute); packed != "" {
				if err := json.Unmarshal([]byte(packed), &d.Headers); err != nil {
					t.Error(err)
				}
			}
			all = append(all, d)
		}
	}
}

func TestQueueConformance(t *testing.T) {
	t.Parallel()
	for kind, fifo := range map[string]bool{"standard": false, "fifo": true} {
		t.Run(kind, func(t *testing.T) {
			t.Parallel()
			sinktest.Run(t, sinktest.Traits{
				TooLarge: 200_001, Filled: true, Dedups: fifo,
				Invalid: func(r *outbox.Record) { r.Headers = map[string]string{"X": "\xff"} },
			}, func(t *testing.T) sinktest.Place { t.Helper(); return newTarget(t, fifo) })
		})
	}
}

func TestAQueueThatIsNotThere(t *testing.T) {
	t.Parallel()
	p := newTarget(t, false)
	p.name = "nowhere"
	results := p.Sink(t).Send(t.Context(), []outbox.Record{sinktest.Record(1, "k"), sinktest.Record(2, "k")})
	if !errors.Is(results[0], queue.ErrQueueNotFound) || outgoing.IsRefused(results[0]) || !errors.Is(results[1], outbox.ErrBehind) {
		t.Errorf("it says %v", results)
	}
}

// No error has a secret, whatever is wrong with a URL.
func TestOpen(t *testing.T) {
	t.Parallel()
	env := func(string) string { return "" }
	for _, url := range []string{
		"queue:orders", "https://h/p", "http://h:1/p#mode=batched", "kafka://a,b/t", "sqs:https://sqs.eu-central-1.amazonaws.com/1/orders.fifo",
		"amqp://u:p@h/x", "amqps://h/", "nats://h/orders.{key}", "redis://h/s?maxlen=1000", "rediss://h/s",
	} {
		s, err := Open(t.Context(), url, Options{Getenv: env, Queue: newTarget(t, false).engine})
		if err != nil {
			t.Errorf("%s: %v", url, err)
		} else if err := s.Close(); err != nil {
			t.Errorf("%s: close: %v", url, err)
		}
	}
	for url, says := range map[string]string{
		"": "supported are queue:, https:", "pulsar://u:hush@h/t": "supported are queue:, https:, http:, kafka:, sqs:, amqp:, amqps:, nats:, redis:, rediss:",
		"queue:orders": "this process has no queues", "kafka://u:hush@h/": "kafka://h: Topic", "https://u:hush@h/hush?hush=hush#mode=hush": "https://h: mode",
		"http://:hush@/hush": "URL:", "sqs:hush": "not a URL of a queue", "redis://:hu/sh@h/s?db=x": "redis://h/s",
	} {
		s, err := Open(t.Context(), url, Options{Getenv: env})
		if err == nil || s != nil || !strings.Contains(err.Error(), says) {
			t.Errorf("%s: %v, want %q", url, err, says)
		}
		if err != nil && strings.Contains(strings.ReplaceAll(err.Error(), `"hush" is not one`, ""), "hush") && url != "sqs:hush" {
			t.Errorf("%s: the error has a secret: %v", url, err)
		}
	}
}

// What a broker's sink says when its place is away or not as it should be has the way out.
func TestFailuresSayWhatToDo(t *testing.T) {
	t.Parallel()
	certs := brokertest.NewCertificates(t)
	wantsTLS, err := tls.Listen("tcp", "127.0.0.1:0", certs.Server(t))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = wantsTLS.Close() })
	go func() {
		for {
			conn, err := wantsTLS.Accept()
			if err != nil {
				return
			}
			_, _ = io.Copy(io.Discard, conn) // shakes hands
			_ = conn.Close()
		}
	}()
	nobody, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	away := nobody.Addr().String()
	_ = nobody.Close() // it is not there
	at := wantsTLS.Addr().String()
	for url, says := range map[string]string{
		"kafka://" + away + "/t":        "check that a broker runs at " + away,
		"amqp://" + away + "/":          "check that a broker runs at " + away,
		"nats://" + away + "/s":         "runs at " + away,
		"redis://" + away + "/s":        "check that a server runs at " + away,
		"kafka://" + at + "/t?tls=true": "?ca=FILE sets the authority that signed the server's certificate",
		"amqps://" + at + "/":           "?ca=FILE sets the authority that signed the server's certificate",
		"rediss://" + at + "/s":         "?ca=FILE sets the authority that signed the server's certificate",
		"https://" + at + "/hook":       "certificate signed by unknown authority",
	} {
		t.Run(url, func(t *testing.T) {
			t.Parallel()
			s, err := Open(t.Context(), url, Options{Getenv: func(string) string { return "" }})
			if err != nil {
				t.Fatal(err)
			}
			defer s.Close()
			ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
			defer cancel()
			err = s.Send(ctx, []outbox.Record{sinktest.Record(1, "k")})[0]
			if f, blames := errors.AsType[*outbox.Failure](err); err == nil || !strings.Contains(err.Error(), says) || blames && f.Class == bezoar.Invalid {
				t.Errorf("it says %v, want %q", err, says)
			}
		})
	}
}
