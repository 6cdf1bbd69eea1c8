package redis

import (
	"context"
	"errors"
	"fmt"
	"net/url"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/gomodule/redigo/redis"
	"go.uber.org/goleak"

	"github.com/bezoar-dev/bezoar/internal/brokers/brokertest"
	"github.com/bezoar-dev/bezoar/internal/outbox/sinks/sinktest"
	"github.com/bezoar-dev/bezoar/outbox"
	"github.com/bezoar-dev/bezoar/worker"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// rig is a stream of a server, of one test alone.
type rig struct {
	t      *testing.T
	at     string // URL of the server
	cfg    Config
	client pool
}

func newRig(t *testing.T) *rig {
	t.Helper()
	at := os.Getenv("BEZOAR_TEST_REDIS")
	if at == "" {
		t.Skip("BEZOAR_TEST_REDIS names no server: scripts/redis starts one")
	}
	name := "test:" + t.Name() + ":" + fmt.Sprint(time.Now().UnixNano())
	cfg, err := FromURL(at+"/"+url.PathEscape(name)+"?group=g", nil)
	if err != nil {
		t.Fatal(err)
	}
	r := &rig{t: t, at: at, cfg: cfg, client: cfg.open()}
	t.Cleanup(func() {
		if _, err := r.client.do(context.Background(), "DEL", cfg.Stream, cfg.Stream+"-dlq"); err != nil {
			t.Error(err)
		}
		_ = r.client.Close()
	})
	return r
}

func (r *rig) Send(t *testing.T, all ...brokertest.Sent) {
	t.Helper()
	for _, m := range all {
		values := []any{dataField, m.Body}
		for name, value := range m.Headers {
			values = append(values, name, value)
		}
		r.do("XADD", append([]any{r.cfg.Stream, "*"}, values...)...)
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

// do is what somebody else does.
func (r *rig) do(command string, args ...any) any {
	r.t.Helper()
	answer, err := r.client.do(r.t.Context(), command, args...)
	if err != nil {
		r.t.Fatal(err)
	}
	return answer
}

func (r *rig) entries(t *testing.T, stream string) []entry {
	t.Helper()
	all, err := redis.Values(r.do("XRANGE", stream, "-", "+"), nil)
	if err != nil {
		t.Fatal(err)
	}
	return entriesOf(all)
}

func (r *rig) Letters(t *testing.T) (all []brokertest.Letter) {
	t.Helper()
	for _, entry := range r.entries(t, r.cfg.Stream+"-dlq") {
		l := brokertest.Letter{Headers: map[string]string{}, Evidence: map[string]string{}}
		for name, value := range entry.values {
			if short, ours := strings.CutPrefix(name, evidence); ours {
				l.Evidence[short] = fmt.Sprint(value)
			} else if name == dataField {
				l.Body = []byte(fmt.Sprint(value))
			} else {
				l.Headers[name] = fmt.Sprint(value)
			}
		}
		all = append(all, l)
	}
	return all
}

func TestConformance(t *testing.T) {
	t.Parallel()
	brokertest.Run(t, func(t *testing.T) brokertest.Queue { t.Helper(); return newRig(t) })
}

// place is a stream that a sink sends to.
type place struct{ *rig }

func (p place) Sink(t *testing.T) outbox.Sink { t.Helper(); return p.sink(t, "?max_bytes=150000") }

func (p place) sink(t *testing.T, more string) *Sink {
	t.Helper()
	s, err := SinkFromURL(p.at+"/"+url.PathEscape(p.cfg.Stream)+more, sinktest.Source, nil)
	if err != nil {
		t.Fatal(err)
	}
	return s
}

func (p place) Delivered(t *testing.T) (all []sinktest.Delivery) {
	t.Helper()
	for _, entry := range p.entries(t, p.cfg.Stream) {
		d := sinktest.Delivery{Headers: map[string]string{}}
		for name, value := range entry.values {
			text := fmt.Sprint(value)
			switch name {
			case "ce_id":
				d.ID = text
			case "ce_topic":
				d.Topic = text
			case "ce_subject":
				d.Key = text
			case "ce_type":
				d.Type = text
			case "ce_source":
				d.Source = text
			case dataField:
				d.Payload = []byte(text)
			case "ce_specversion", "ce_time", "ce_sequence", "content-type":
			default:
				d.Headers[name] = text
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
			s, err := SinkFromURL("redis://"+address+"/x", sinktest.Source, nil)
			if err != nil {
				t.Fatal(err)
			}
			return s
		},
		TooLarge: 150_001,
	}, func(t *testing.T) sinktest.Place { t.Helper(); return place{newRig(t)} })
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
