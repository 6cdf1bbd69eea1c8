package sqs

import (
	"context"
	"encoding/base64"
	"encoding/json"
	"errors"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"

	"go.uber.org/goleak"

	"github.com/bezoar-dev/bezoar"
	"github.com/bezoar-dev/bezoar/internal/brokers"
	"github.com/bezoar-dev/bezoar/internal/outbox/outgoing"
	"github.com/bezoar-dev/bezoar/internal/outbox/sinks/sinktest"
	"github.com/bezoar-dev/bezoar/internal/queue/sqs"
	"github.com/bezoar-dev/bezoar/internal/store/memory"
	"github.com/bezoar-dev/bezoar/outbox"
	"github.com/bezoar-dev/bezoar/queue"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// target is a queue behind Bezoar's own endpoint.
type target struct {
	engine *queue.Engine
	name   string
	url    string
}

func newTarget(t *testing.T, fifo bool) *target {
	t.Helper()
	db, err := memory.Open(memory.Config{})
	if err != nil {
		t.Fatal(err)
	}
	e, err := queue.New(queue.Config{}, db.Queue())
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	var running sync.WaitGroup
	running.Go(func() { _ = e.Run(ctx) })
	server, err := sqs.NewServer(sqs.Config{Engine: e, Vanished: e.Vanished})
	if err != nil {
		t.Fatal(err)
	}
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	running.Go(func() { _ = server.Serve(ctx, l) })
	t.Cleanup(func() {
		cancel()
		server.Handler().Drain()
		running.Wait()
	})
	p := &target{engine: e, name: "orders"}
	if fifo {
		p.name += ".fifo"
	}
	settings := queue.DefaultSettings()
	settings.FIFO, settings.MaxBytes = fifo, 200_000
	if _, err := e.CreateQueue(t.Context(), p.name, settings, nil); err != nil {
		t.Fatal(err)
	}
	p.url = "http://" + l.Addr().String() + "/000000000000/" + p.name
	return p
}

func noenv(string) string { return "" }

func (p *target) Sink(t *testing.T) outbox.Sink { t.Helper(); return open(t, p.url) }

func open(t *testing.T, url string) *Sink {
	t.Helper()
	s, err := OpenSink(t.Context(), url, sinktest.Source, noenv)
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
			after = some[i].Sequence
			all = append(all, read(t, &some[i]))
		}
	}
}

func read(t *testing.T, m *queue.Message) sinktest.Delivery {
	t.Helper()
	d := sinktest.Delivery{Headers: map[string]string{}, Payload: m.Body}
	for name, a := range m.Attributes {
		switch name {
		case "event_id":
			d.ID = a.String
		case "event_topic":
			d.Topic = a.String
		case "event_key":
			d.Key = a.String
		case "event_type":
			d.Type = a.String
		case "event_source":
			d.Source = a.String
		case "event_time", "event_sequence":
		case outgoing.HeadersAttribute:
			if err := json.Unmarshal([]byte(a.String), &d.Headers); err != nil {
				t.Error(err)
			}
		case encodingAttribute:
			raw, err := base64.StdEncoding.DecodeString(string(m.Body))
			if err != nil {
				t.Error(err)
			}
			d.Payload = raw
		default:
			d.Headers[name] = a.String
		}
	}
	delete(d.Headers, "Content-Type")
	return d
}

func TestSinkConformance(t *testing.T) {
	t.Parallel()
	for kind, fifo := range map[string]bool{"standard": false, "fifo": true} {
		t.Run(kind, func(t *testing.T) {
			t.Parallel()
			sinktest.Run(t, sinktest.Traits{
				At:       func(t *testing.T, address string) outbox.Sink { t.Helper(); return open(t, "http://"+address+"/1/q") },
				TooLarge: 200_001, Filled: true, Dedups: fifo,
				Invalid: func(r *outbox.Record) { r.Headers = map[string]string{"X": "\xff"} },
			}, func(t *testing.T) sinktest.Place { t.Helper(); return newTarget(t, fifo) })
		})
	}
}

// What AWS answers says whose fault it is.
func TestAnswers(t *testing.T) {
	t.Parallel()
	for answer, want := range map[string]bezoar.Class{
		`400 {"__type":"com.amazonaws.sqs#QueueDoesNotExist","message":"no"}`:                                bezoar.Done, // none of an event
		`403 {"__type":"com.amazon.coral.service#AccessDeniedException","message":"no"}`:                     bezoar.Done,
		`403 {"__type":"com.amazon.coral.service#InvalidClientTokenId","message":"no"}`:                      bezoar.Done,
		`400 {"__type":"com.amazonaws.sqs#RequestThrottled","message":"slow"}`:                               bezoar.Throttled,
		`500 {"__type":"com.amazonaws.sqs#InternalFailure","message":"oops"}`:                                bezoar.Done,
		`400 {"__type":"com.amazonaws.sqs#InvalidMessageContents","message":"no"}`:                           bezoar.Invalid,
		`400 {"__type":"com.amazonaws.sqs#BatchRequestTooLong","message":"no"}`:                              bezoar.Invalid,
		`200 {"Failed":[{"Id":"0","Code":"InvalidParameterValue","Message":"too long","SenderFault":true}]}`: bezoar.Invalid,
		`200 {"Failed":[{"Id":"0","Code":"InternalError","Message":"oops","SenderFault":false}]}`:            bezoar.Done,
		`200 {"Failed":[{"Id":"0","Code":"KmsDisabled","Message":"no","SenderFault":true}]}`:                 bezoar.Done,
		`200 {"Failed":[{"Id":"0","Code":"RequestThrottled","Message":"slow","SenderFault":true}]}`:          bezoar.Throttled,
		`200 {}`: bezoar.Done,
	} {
		t.Run(answer[:3]+" "+answer[4:min(len(answer), 60)], func(t *testing.T) {
			t.Parallel()
			server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
				w.Header().Set("Content-Type", "application/x-amz-json-1.0")
				code := map[string]int{"200": 200, "400": 400, "403": 403, "500": 500}[answer[:3]]
				w.WriteHeader(code)
				_, _ = io.WriteString(w, answer[4:])
			}))
			defer server.Close()
			err := open(t, server.URL+"/1/q").Send(t.Context(), []outbox.Record{sinktest.Record(1, "k")})[0]
			f, blames := errors.AsType[*outbox.Failure](err)
			if err == nil || blames != (want != bezoar.Done) || blames && f.Class != want {
				t.Errorf("it says %v, want %v", err, want)
			}
		})
	}
}

func TestQueueURLs(t *testing.T) {
	t.Parallel()
	for _, url := range []string{"", "orders", "ftp://h/1/q", "https://h", "https://u:hush\x7f@h/1/q"} {
		if _, err := OpenSink(t.Context(), url, "/x", noenv); !errors.Is(err, ErrURL) {
			t.Errorf("%q: %v", url, err)
		}
	}
	for host, want := range map[string]string{"sqs.eu-central-1.amazonaws.com": "eu-central-1", "localhost": "", "vpce-1.sqs.us-west-2.vpce.amazonaws.com": "us-west-2"} {
		if region, _ := regionOf(host); region != want {
			t.Errorf("the region of %s is %q, want %q", host, region, want)
		}
	}
	s := open(t, "http://127.0.0.1:1/1/missing")
	err := s.Send(t.Context(), []outbox.Record{sinktest.Record(1, "k")})[0]
	if b, ok := errors.AsType[*brokers.Error](err); !ok || b.Kind != brokers.Unreachable {
		t.Errorf("it says %v", err)
	}
}

// Keys that a message group cannot be are hashed, and so are many headers packed.
func TestMessages(t *testing.T) {
	t.Parallel()
	p := newTarget(t, true)
	r := sinktest.Record(1, strings.Repeat("käse ", 50))
	r.Headers = map[string]string{}
	for _, c := range "abcdefghijkl" {
		r.Headers["X-"+string(c)] = "1"
	}
	if err := open(t, p.url).Send(t.Context(), []outbox.Record{r})[0]; err != nil {
		t.Fatal(err)
	}
	got := p.Delivered(t)[0]
	if got.Key != r.Key || len(got.Headers) != 12 {
		t.Errorf("%+v", got)
	}
	all, err := p.engine.Peek(t.Context(), p.name, 0, 1)
	if err != nil || !strings.HasPrefix(all[0].Group, "sha256-") {
		t.Errorf("its group is %q (%v)", all[0].Group, err)
	}
}
