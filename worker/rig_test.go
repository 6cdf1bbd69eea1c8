package worker_test

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"log/slog"
	"maps"
	"net"
	"net/http"
	"net/http/httptest"
	"regexp"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	awssqs "github.com/aws/aws-sdk-go-v2/service/sqs"

	"github.com/bezoar-dev/bezoar/internal/queue/sqs"
	"github.com/bezoar-dev/bezoar/internal/store/memory"
	"github.com/bezoar-dev/bezoar/policy/backoff"
	"github.com/bezoar-dev/bezoar/queue"
	"github.com/bezoar-dev/bezoar/worker"
)

// patience is how long a test waits for what must happen.
const patience = time.Minute

// given runs a test with ever longer leases, until it says that one was long
// enough: the slowest machine extends one in time in the end.
func given(t *testing.T, try func(lease time.Duration) bool) {
	t.Helper()
	for lease := worker.MinVisibility; lease < patience/4; lease *= 5 {
		if try(lease) || t.Failed() {
			return
		}
		t.Logf("a lease of %v was not enough", lease)
	}
	t.Error("no lease was long enough")
}

// rig is an engine behind a real SQS endpoint, and behind one that knows nothing
// of Bezoar.
type rig struct {
	testing.TB
	engine  *queue.Engine
	url     string // of Bezoar's endpoint
	foreign string // of the other one
	events  *events
	calls   *counter
	aged    atomic.Bool // the foreign endpoint says that its messages were sent an hour earlier
}

// counter counts calls of the foreign endpoint by operation.
type counter struct {
	mu sync.Mutex
	n  map[string]int
}

func (c *counter) add(op string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.n[op]++
}

func (c *counter) of(op string) int {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.n[op]
}

func newRig(t testing.TB) *rig {
	t.Helper()
	db, err := memory.Open(memory.Config{})
	if err != nil {
		t.Fatal(err)
	}
	e, err := queue.New(queue.Config{SweepEvery: 20 * time.Millisecond}, db.Queue())
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
	r := &rig{TB: t, engine: e, url: "http://" + l.Addr().String() + "/000000000000/", events: newEvents(), calls: &counter{n: map[string]int{}}}
	other := httptest.NewServer(estranged(r.older(server.Handler()), r.calls))
	r.foreign = other.URL + "/000000000000/"
	t.Cleanup(func() {
		cancel()
		server.Handler().Drain()
		other.Close()
		running.Wait()
	})
	return r
}

// estranged makes the endpoint one of somebody else's: whatever is Bezoar's own
// is unknown to it.
func estranged(h http.Handler, calls *counter) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		op := strings.TrimPrefix(r.Header.Get("X-Amz-Target"), "AmazonSQS.")
		calls.add(op)
		body, err := io.ReadAll(r.Body)
		if err != nil {
			http.Error(w, err.Error(), http.StatusBadRequest)
			return
		}
		for name := range r.Header {
			if strings.HasPrefix(name, "X-Bezoar") {
				r.Header.Del(name)
			}
		}
		if op == "GetQueueAttributes" && strings.Contains(string(body), `"Bezoar`) {
			w.Header().Set("X-Amzn-Query-Error", "InvalidAttributeName;Sender")
			w.WriteHeader(http.StatusBadRequest)
			_, _ = io.WriteString(w, `{"__type":"com.amazonaws.sqs#InvalidAttributeName","message":"Unknown Attribute."}`)
			return
		}
		r.Body, r.ContentLength = io.NopCloser(strings.NewReader(string(body))), int64(len(body))
		h.ServeHTTP(w, r)
	})
}

// older makes messages look older than they are.
func (r *rig) older(h http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, req *http.Request) {
		if !r.aged.Load() || !strings.HasSuffix(req.Header.Get("X-Amz-Target"), ".ReceiveMessage") {
			h.ServeHTTP(w, req)
			return
		}
		rec := httptest.NewRecorder()
		h.ServeHTTP(rec, req)
		body := sentAt.ReplaceAllFunc(rec.Body.Bytes(), func(b []byte) []byte {
			ms, _ := strconv.ParseInt(string(sentAt.FindSubmatch(b)[1]), 10, 64)
			return fmt.Appendf(nil, `"SentTimestamp":"%d"`, ms-time.Hour.Milliseconds())
		})
		maps.Copy(w.Header(), rec.Header())
		w.Header().Del("Content-Length")
		w.WriteHeader(rec.Code)
		_, _ = w.Write(body)
	})
}

var sentAt = regexp.MustCompile(`"SentTimestamp":"(\d+)"`)

// create makes a queue whose retries do not wait.
func (r *rig) create(name string, change func(*queue.Settings)) {
	r.Helper()
	s := queue.DefaultSettings()
	s.FIFO = strings.HasSuffix(name, ".fifo")
	s.Retry.Strategy = backoff.Immediate
	if change != nil {
		change(&s)
	}
	if _, err := r.engine.CreateQueue(r.Context(), name, s, nil); err != nil {
		r.Fatal(err)
	}
}

// plain is what a queue that does not judge is like.
func plain(s *queue.Settings) {
	s.Quarantine.Off = true
	s.DeadLetter = queue.DeadLetter{}
}

func (r *rig) send(name string, bodies ...string) {
	r.Helper()
	for _, b := range bodies {
		in := queue.SendInput{Body: []byte(b)}
		if strings.HasSuffix(name, ".fifo") {
			in.Group, in.Dedup = b[:1], b
		}
		if _, err := r.engine.Send(r.Context(), name, in); err != nil {
			r.Fatal(err)
		}
	}
}

func client(url string) *awssqs.Client {
	return awssqs.New(awssqs.Options{
		Region: "us-east-1", BaseEndpoint: aws.String(url[:strings.Index(url, "/0000")]), Credentials: aws.AnonymousCredentials{},
		HTTPClient: &http.Client{Transport: http.DefaultTransport.(*http.Transport).Clone()},
	})
}

// sources are the three ways to the same queue. done cleans up.
func (r *rig) source(kind, name string) worker.Source {
	switch kind {
	case "direct":
		return worker.Direct(r.engine, name)
	case "bezoar":
		return r.sqs(r.url, name)
	case "foreign":
		return r.sqs(r.foreign, name)
	}
	panic(kind)
}

func (r *rig) sqs(url, name string) *worker.SQSQueue {
	c := client(url)
	r.Cleanup(c.Options().HTTPClient.(*http.Client).CloseIdleConnections)
	return worker.SQS(c, url+name)
}

// start runs a worker; stop drains it and returns what Run returned.
func (r *rig) start(c worker.Config) (stop func() error) {
	r.Helper()
	c.Observe = r.events.add
	if c.Log == nil && testing.Verbose() {
		c.Log = slog.New(slog.NewTextHandler(testWriter{r}, nil))
	}
	w, err := worker.New(c)
	if err != nil {
		r.Fatal(err)
	}
	ctx, cancel := context.WithCancel(r.Context())
	ended := make(chan error, 1)
	go func() { ended <- w.Run(ctx) }()
	var once sync.Once
	var result error
	stop = func() error {
		cancel()
		once.Do(func() { result = <-ended })
		return result
	}
	r.Cleanup(func() { _ = stop() })
	return stop
}

type testWriter struct{ t testing.TB }

func (w testWriter) Write(b []byte) (int, error) {
	w.t.Logf("%s", b)
	return len(b), nil
}

// events collects what a worker tells.
type events struct {
	mu   sync.Mutex
	all  []worker.Event
	more chan struct{}
}

func newEvents() *events { return &events{more: make(chan struct{}, 1)} }

func (e *events) add(ev worker.Event) {
	e.mu.Lock()
	e.all = append(e.all, ev)
	e.mu.Unlock()
	select {
	case e.more <- struct{}{}:
	default:
	}
}

// wait waits for events until enough says so.
func (r *rig) wait(enough func(all []worker.Event) bool) []worker.Event {
	r.Helper()
	over := time.After(patience)
	for {
		r.events.mu.Lock()
		all := append([]worker.Event(nil), r.events.all...)
		r.events.mu.Unlock()
		if enough(all) {
			return all
		}
		select {
		case <-r.events.more:
		case <-over:
			text, _ := json.Marshal(all)
			r.Fatalf("it did not come: %s", text)
		}
	}
}

func (r *rig) waitFor(n int) []worker.Event {
	r.Helper()
	return r.wait(func(all []worker.Event) bool { return len(all) >= n })
}

// counts waits until the queue holds visible, in flight and delayed messages.
func (r *rig) counts(name string, visible, inFlight, delayed int64) {
	r.Helper()
	want := fmt.Sprint(visible, inFlight, delayed)
	got := ""
	for deadline := time.Now().Add(patience); time.Now().Before(deadline); <-time.After(5 * time.Millisecond) {
		c, err := r.engine.Counts(r.Context(), name)
		if err != nil {
			r.Fatal(err)
		}
		if got = fmt.Sprint(c.Visible, c.InFlight, c.Delayed); got == want {
			return
		}
	}
	r.Errorf("%s holds %s (visible, in flight, delayed), want %s", name, got, want)
}

// letters are the dead letters of a queue, as SQS clients see them.
func (r *rig) messages(name string) []queue.Message {
	r.Helper()
	m, err := r.engine.Peek(r.Context(), name, 0, 100)
	if err != nil {
		r.Fatal(err)
	}
	return m
}
