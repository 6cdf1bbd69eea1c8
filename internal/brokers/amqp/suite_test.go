package amqp

import (
	"context"
	"fmt"
	"net/url"
	"os"
	"strings"
	"testing"
	"time"

	amqp091 "github.com/rabbitmq/amqp091-go"
	"go.uber.org/goleak"

	"github.com/bezoar-dev/bezoar/internal/brokers"
	"github.com/bezoar-dev/bezoar/internal/brokers/brokertest"
	"github.com/bezoar-dev/bezoar/worker"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// rig is a queue of a server, of one test alone.
type rig struct {
	t       *testing.T
	cfg     Config
	conn    *amqp091.Connection
	channel *amqp091.Channel
}

func newRig(t *testing.T, args amqp091.Table) *rig {
	t.Helper()
	at := os.Getenv("BEZOAR_TEST_RABBITMQ")
	if at == "" {
		t.Skip("BEZOAR_TEST_RABBITMQ names no server: scripts/rabbitmq starts one")
	}
	name := "test-" + strings.NewReplacer("/", "-", "#", "-").Replace(t.Name()) + fmt.Sprint(time.Now().UnixNano())
	cfg, err := FromURL(at+"/"+url.PathEscape(name)+"?prefetch=100", nil)
	if err != nil {
		t.Fatal(err)
	}
	r := &rig{t: t, cfg: cfg}
	if r.conn, err = cfg.Dial(t.Context(), "test"); err == nil {
		r.channel, err = r.conn.Channel()
	}
	if err == nil {
		_, err = r.channel.QueueDeclare(cfg.Queue, true, false, false, false, args)
	}
	if err == nil {
		err = r.channel.Confirm(false)
	}
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		for _, q := range []string{cfg.Queue, cfg.Queue + "-dlq"} {
			if _, err := r.channel.QueueDelete(q, false, false, false); err != nil {
				t.Error(err)
			}
		}
		_ = r.conn.Close()
	})
	return r
}

func (r *rig) Send(t *testing.T, all ...brokertest.Sent) {
	t.Helper()
	for _, m := range all {
		p := amqp091.Publishing{Body: m.Body, Headers: amqp091.Table{}, DeliveryMode: amqp091.Persistent, Timestamp: time.Now()}
		for name, value := range m.Headers {
			p.Headers[name] = value
		}
		r.publish(p)
	}
}

func (r *rig) publish(p amqp091.Publishing) {
	r.t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	defer cancel()
	c, err := r.channel.PublishWithDeferredConfirmWithContext(ctx, "", r.cfg.Queue, true, false, p)
	if err == nil {
		_, err = c.WaitContext(ctx)
	}
	if err != nil {
		r.t.Fatal(err)
	}
}

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

func (r *rig) Source(*testing.T) worker.Source { return r.source() }

func (r *rig) Letters(t *testing.T) (all []brokertest.Letter) {
	t.Helper()
	for {
		d, ok, err := r.channel.Get(r.cfg.Queue+"-dlq", true)
		if err != nil {
			t.Fatal(err)
		}
		if !ok {
			return all
		}
		l := brokertest.Letter{Body: d.Body, Headers: map[string]string{}, Evidence: map[string]string{}}
		for name, value := range d.Headers {
			if short, ours := strings.CutPrefix(name, evidence); ours {
				l.Evidence[short] = fmt.Sprint(value)
			} else {
				l.Headers[name] = fmt.Sprint(value)
			}
		}
		all = append(all, l)
	}
}

func TestConformance(t *testing.T) {
	t.Parallel()
	for kind, args := range map[string]amqp091.Table{"classic": nil, "quorum": {"x-queue-type": "quorum"}} {
		t.Run(kind, func(t *testing.T) {
			t.Parallel()
			brokertest.Run(t, func(t *testing.T) brokertest.Queue { t.Helper(); return newRig(t, args) })
		})
	}
}

// take receives n messages.
func take(t *testing.T, s *Source, n int) (all []worker.Message) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	for len(all) < n {
		got, err := s.Receive(ctx, worker.Receive{Max: n - len(all), Wait: time.Minute})
		if err != nil {
			t.Fatalf("%d of %d messages came: %v", len(all), n, err)
		}
		all = append(all, got...)
	}
	return all
}

// fails wants a source not to open, and returns why not.
func fails(t *testing.T, cfg Config, kind brokers.Kind, says string) {
	t.Helper()
	s, err := New(cfg)
	if err != nil {
		t.Fatal(err)
	}
	_, err = s.Open(t.Context())
	_ = s.Close()
	b, ok := err.(*brokers.Error) //nolint:errorlint // it is the outermost one
	if !ok || b.Kind != kind || !strings.Contains(err.Error(), says) || b.Fix == "" {
		t.Errorf("it says %v, want %q and what to do", err, says)
	}
}
