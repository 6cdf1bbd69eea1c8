package tracing

import (
	"bytes"
	"compress/gzip"
	"context"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"maps"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
	"time"

	collector "go.opentelemetry.io/proto/otlp/collector/trace/v1"
	common "go.opentelemetry.io/proto/otlp/common/v1"
	otlp "go.opentelemetry.io/proto/otlp/trace/v1"
	"go.uber.org/goleak"
	"google.golang.org/protobuf/proto"

	"github.com/bezoar-dev/bezoar/internal/dispatch"
	"github.com/bezoar-dev/bezoar/internal/gateway/span"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// receiver is an OTLP collector over HTTP.
type receiver struct {
	*httptest.Server
	spans chan *otlp.Span

	mu       sync.Mutex // guards the rest
	answer   int
	path     string
	auth     string
	resource map[string]string
}

func startReceiver(t *testing.T) *receiver {
	t.Helper()
	r := &receiver{spans: make(chan *otlp.Span, 10_000), answer: http.StatusOK}
	r.Server = httptest.NewServer(r)
	t.Cleanup(r.Close)
	return r
}

func (r *receiver) say(status int) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.answer = status
}

func (r *receiver) ServeHTTP(w http.ResponseWriter, req *http.Request) {
	in, err := decode(req)
	if err != nil {
		http.Error(w, err.Error(), http.StatusBadRequest)
		return
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	r.path, r.auth = req.URL.Path, req.Header.Get("Authorization")
	if r.answer != http.StatusOK {
		w.WriteHeader(r.answer)
		return
	}
	for _, rs := range in.GetResourceSpans() {
		r.resource = attributes(rs.GetResource().GetAttributes())
		for _, ss := range rs.GetScopeSpans() {
			for _, s := range ss.GetSpans() {
				r.spans <- s
			}
		}
	}
	out, err := proto.Marshal(&collector.ExportTraceServiceResponse{})
	if err != nil {
		panic(err)
	}
	w.Header().Set("Content-Type", "application/x-protobuf")
	_, _ = w.Write(out)
}

func decode(req *http.Request) (*collector.ExportTraceServiceRequest, error) {
	if kind := req.Header.Get("Content-Type"); kind != "application/x-protobuf" {
		return nil, fmt.Errorf("the type is %s", kind)
	}
	body, err := gzip.NewReader(req.Body)
	if err != nil {
		return nil, err
	}
	text, err := io.ReadAll(body)
	if err != nil {
		return nil, err
	}
	in := new(collector.ExportTraceServiceRequest)
	return in, proto.Unmarshal(text, in)
}

func attributes(in []*common.KeyValue) map[string]string {
	out := map[string]string{}
	for _, kv := range in {
		switch v := kv.GetValue().GetValue().(type) {
		case *common.AnyValue_StringValue:
			out[kv.GetKey()] = v.StringValue
		case *common.AnyValue_IntValue:
			out[kv.GetKey()] = fmt.Sprint(v.IntValue)
		case *common.AnyValue_BoolValue:
			out[kv.GetKey()] = fmt.Sprint(v.BoolValue)
		}
	}
	return out
}

// next returns the next n spans, by name.
func (r *receiver) next(t *testing.T, n int) map[string]*otlp.Span {
	t.Helper()
	out := map[string]*otlp.Span{}
	for range n {
		select {
		case s := <-r.spans:
			out[s.GetName()] = s
		case <-time.After(time.Minute):
			t.Fatalf("only %d spans of %d came", len(out), n)
		}
	}
	return out
}

// start runs a Tracing until the test ends or stop is called.
func start(t *testing.T, cfg Config) (tr *Tracing, stop func()) {
	t.Helper()
	tr, err := New(t.Context(), cfg)
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	var wg sync.WaitGroup
	wg.Go(func() {
		if err := tr.Run(ctx); err != nil {
			t.Error(err)
		}
	})
	stop = func() { cancel(); wg.Wait() }
	t.Cleanup(stop)
	return tr, stop
}

// request makes the spans of one, as the gateway does.
func request(tr *Tracing, parent span.Trace, attempts ...span.Span) span.Trace {
	s := span.Span{Parent: parent, Began: time.Now(), Method: "GET", Path: "/reset/S3CRET", RequestID: "r1"}
	s.Self = tr.Start(&s)
	for i, a := range attempts {
		a.Parent, a.Began, a.Route, a.Method, a.Path, a.RequestID, a.Attempt = s.Self, time.Now(), "/reset/*", s.Method, s.Path, s.RequestID, i+1
		end := a // what is known at the end is not known at the start
		a.Status, a.Fault, a.Err = 0, dispatch.NoFault, nil
		end.Self = tr.Start(&a)
		end.State = a.State
		tr.End(&end)
		s.Status = end.Status
	}
	s.Route = "/reset/*"
	tr.End(&s)
	return s.Self
}

func TestSpansOfARequest(t *testing.T) {
	r := startReceiver(t)
	tr, _ := start(t, Config{Endpoint: strings.Replace(r.URL, "://", "://bezoar:s3cret@", 1), Sample: 1, Every: 10 * time.Millisecond, Version: "1.2.3", Node: "node-1"})
	self := request(tr, span.Trace{},
		span.Span{Worker: "shop-1", Fault: dispatch.BrokenConn, Err: errors.New("connection reset " + strings.Repeat("x", 1000))},
		span.Span{Worker: "shop-2", Status: 503, Lane: true})
	var all []*otlp.Span
	for range 3 {
		for _, s := range r.next(t, 1) {
			all = append(all, s)
		}
	}
	first, second, whole := all[0], all[1], all[2]
	if whole.GetName() != "GET /reset/*" || whole.GetKind() != otlp.Span_SPAN_KIND_SERVER || len(whole.GetParentSpanId()) != 0 {
		t.Errorf("the request is %v", whole)
	}
	if !bytes.Equal(whole.GetTraceId(), self.ID[:]) || !bytes.Equal(whole.GetSpanId(), self.Span[:]) || self.Flags&1 == 0 {
		t.Errorf("the gateway was told %v, the collector %x", self, whole.GetSpanId())
	}
	if first.GetKind() != otlp.Span_SPAN_KIND_CLIENT || !bytes.Equal(first.GetParentSpanId(), whole.GetSpanId()) || !bytes.Equal(second.GetTraceId(), whole.GetTraceId()) {
		t.Errorf("an attempt is %v", first)
	}
	for s, want := range map[*otlp.Span]map[string]string{
		whole:  {"http.request.method": "GET", "http.route": "/reset/*", "http.response.status_code": "503", "error.type": "503", "bezoar.request.id": "r1"},
		first:  {"http.request.method": "GET", "error.type": "broken_connection", "bezoar.worker": "shop-1", "bezoar.request.id": "r1"},
		second: {"http.request.method": "GET", "http.response.status_code": "503", "error.type": "503", "http.request.resend_count": "1", "bezoar.worker": "shop-2", "bezoar.lane": "true", "bezoar.request.id": "r1"},
	} {
		if got := attributes(s.GetAttributes()); !maps.Equal(got, want) {
			t.Errorf("%s has %v, want %v", s.GetName(), got, want)
		}
		if s.GetStatus().GetCode() != otlp.Status_STATUS_CODE_ERROR || s.GetEndTimeUnixNano() < s.GetStartTimeUnixNano() {
			t.Errorf("%s ended as %v", s.GetName(), s.GetStatus())
		}
	}
	if text := first.GetStatus().GetMessage(); !strings.HasPrefix(text, "connection reset") || len(text) > maxText {
		t.Errorf("the status says %d bytes, %.40s", len(text), text)
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.path != "/v1/traces" || r.auth != "Basic YmV6b2FyOnMzY3JldA==" {
		t.Errorf("it was sent to %s with %q", r.path, r.auth)
	}
	if got := r.resource; got["service.name"] != "bezoar" || got["service.version"] != "1.2.3" || got["service.instance.id"] != "node-1" {
		t.Errorf("the resource is %v", got)
	}
	if s := fmt.Sprint(tr.cfg, all); strings.Contains(s, "S3CRET") || strings.Contains(s, "s3cret") {
		t.Error("a path or a password is in a span or in what is printed of the settings")
	}
}

// Callers decide about their requests; of the others a share is traced.
func TestWhoIsTraced(t *testing.T) {
	r := startReceiver(t)
	sampled, ok := span.ParseTrace("00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01")
	if !ok {
		t.Fatal("no trace")
	}
	unsampled := sampled
	unsampled.Flags = 0
	tr, _ := start(t, Config{Endpoint: r.URL, Sample: 0, Every: time.Millisecond})
	if got := request(tr, sampled, span.Span{Worker: "w", Status: 200}); got.ID != sampled.ID || got.Span == sampled.Span {
		t.Errorf("a sampled caller's request is %v", got)
	}
	if s := r.next(t, 2)["GET /reset/*"]; hex.EncodeToString(s.GetParentSpanId()) != "b7ad6b7169203331" {
		t.Errorf("its parent is %x", s.GetParentSpanId())
	}
	if got := request(tr, unsampled, span.Span{Worker: "w"}); !got.IsZero() {
		t.Errorf("an unsampled caller's request is %v", got)
	}
	made := span.Span{Method: "GET"}
	if a := testing.AllocsPerRun(100, func() {
		made.Self = tr.Start(&made)
		tr.End(&made)
	}); a != 0 {
		t.Errorf("a request that is not traced costs %v allocations", a)
	}
	some, _ := start(t, Config{Endpoint: r.URL, Sample: 0.3, Queue: 10_000})
	n := 0
	for range 2000 {
		if !request(some, span.Trace{}).IsZero() {
			n++
		}
	}
	if n < 450 || n > 750 { // six standard deviations
		t.Errorf("%d of 2,000 are traced, want 600", n)
	}
}

func TestMethodsAreOfAFixedSet(t *testing.T) {
	r := startReceiver(t)
	tr, _ := start(t, Config{Endpoint: r.URL, Sample: 1, Every: time.Millisecond})
	s := span.Span{Began: time.Now(), Method: "OWNED\x1b"}
	s.Self = tr.Start(&s)
	s.Status = 404
	tr.End(&s)
	got := r.next(t, 1)["HTTP"]
	if a := attributes(got.GetAttributes()); a["http.request.method"] != "_OTHER" || got.GetStatus().GetCode() != otlp.Status_STATUS_CODE_UNSET {
		t.Errorf("it is %v", got)
	}
}

// lines counts those of a log.
type lines struct {
	mu  sync.Mutex // guards all
	all []string
}

func (l *lines) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.all = append(l.all, string(p))
	return len(p), nil
}

func (l *lines) String() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return strings.Join(l.all, "")
}

// A collector that is down is told of once, is left alone, and gets spans again
// when it is back; nobody waits for it.
func TestACollectorThatIsDown(t *testing.T) {
	r := startReceiver(t)
	r.say(http.StatusServiceUnavailable)
	var log lines
	tr, stop := start(t, Config{Endpoint: r.URL, Sample: 1, Every: time.Millisecond, Log: slog.New(slog.NewTextHandler(&log, nil))})
	until(t, "the collector is left alone", func() bool {
		request(tr, span.Trace{})
		return tr.queue.down.Load() && tr.Stats().Dropped > 0
	})
	until(t, "no span begins for a collector that is left alone", func() bool { return request(tr, span.Trace{}).IsZero() })
	r.say(http.StatusOK)
	until(t, "it gets spans again", func() bool {
		request(tr, span.Trace{})
		return tr.Stats().Sent > 0
	})
	stop()
	if s := log.String(); strings.Count(s, "does not accept spans") != 1 || strings.Count(s, "accepts spans again") != 1 {
		t.Errorf("the log says\n%s", s)
	}
	if s := tr.Stats(); s.Failed == 0 {
		t.Errorf("%+v", s)
	}
}

// until waits until something is so.
func until(t *testing.T, what string, is func() bool) {
	t.Helper()
	tick := time.NewTicker(2 * time.Millisecond)
	defer tick.Stop()
	late := time.After(time.Minute)
	for !is() {
		select {
		case <-tick.C:
		case <-late:
			t.Fatalf("%s: that never came", what)
		}
	}
}

// What the queue has no room for is dropped, without waiting: nobody takes
// anything out of this one.
func TestTheQueueIsBounded(t *testing.T) {
	tr, err := New(t.Context(), Config{Endpoint: "http://127.0.0.1:1", Sample: 1, Queue: 10})
	if err != nil {
		t.Fatal(err)
	}
	open := make([]span.Span, 20)
	for i := range open { // all begin while there is room
		open[i] = span.Span{Method: "GET", Began: time.Now()}
		open[i].Self = tr.Start(&open[i])
	}
	for i := range open {
		tr.End(&open[i])
	}
	if got := tr.Stats().Dropped; got != 10 || len(tr.queue.spans) != 10 {
		t.Errorf("%d are dropped and %d wait", got, len(tr.queue.spans))
	}
	if got := request(tr, span.Trace{}); !got.IsZero() || tr.Stats().Dropped != 11 {
		t.Error("a span begins that there is no room for")
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if err := tr.Run(ctx); err != nil || tr.Stats().Failed != 10 {
		t.Errorf("at the end %+v, %v", tr.Stats(), err)
	}
}

// What waits is sent when it is asked to end.
func TestTheLastSpansAreSent(t *testing.T) {
	r := startReceiver(t)
	tr, stop := start(t, Config{Endpoint: r.URL, Sample: 1, Every: time.Hour, Batch: 7})
	for range 50 {
		request(tr, span.Trace{})
	}
	stop()
	if s := tr.Stats(); s.Sent != 50 || len(r.spans) != 50 {
		t.Errorf("%+v, and %d came", s, len(r.spans))
	}
}

func TestConfigsNameEveryFault(t *testing.T) {
	_, err := New(t.Context(), Config{Endpoint: "ftp://s3cret@x", Sample: 2, Queue: -1, Every: -1})
	want := "tracing: Endpoint is not a URL of a collector, such as http://127.0.0.1:4318\nSample is 2, want 0 to 1\nQueue is -1, want 1 to 1048576\nEvery is -1ns and Timeout 0s, want more than 0s"
	if fmt.Sprint(err) != want {
		t.Errorf("%v, want %s", err, want)
	}
	if s := (Config{Endpoint: "http://a:s3cret@x"}).String(); strings.Contains(s, "s3cret") {
		t.Error(s)
	}
}

func BenchmarkTracer(b *testing.B) {
	for name, sample := range map[string]float64{"not traced": 0, "traced": 1} {
		b.Run(name, func(b *testing.B) {
			tr, err := New(b.Context(), Config{Endpoint: "http://127.0.0.1:1", Sample: sample})
			if err != nil {
				b.Fatal(err)
			}
			s := span.Span{Method: "GET", Began: time.Now(), RequestID: "r1", Status: 200}
			b.ReportAllocs()
			for b.Loop() {
				s.Self = tr.Start(&s)
				s.Route = "/search/*"
				tr.End(&s)
				for len(tr.queue.spans) > 0 {
					<-tr.queue.spans
				}
			}
		})
	}
}
