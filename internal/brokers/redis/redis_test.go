package redis

import (
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/gomodule/redigo/redis"

	"github.com/bezoar-dev/bezoar/internal/brokers"
	"github.com/bezoar-dev/bezoar/internal/brokers/brokertest"
	"github.com/bezoar-dev/bezoar/internal/outbox/outgoing"
	"github.com/bezoar-dev/bezoar/internal/outbox/sinks/sinktest"
	"github.com/bezoar-dev/bezoar/outbox"
	"github.com/bezoar-dev/bezoar/worker"
)

// What runs for longer than the lease stays ours.
func TestWhatRunsIsKept(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	r.cfg.Lease = 500 * time.Millisecond
	r.Send(t, brokertest.Sent{Body: []byte("long")})
	s := r.opened()
	m := receive(t, s)
	got, err := r.opened().Receive(t.Context(), worker.Receive{Max: 1, Wait: time.Second})
	if err != nil || len(got) > 0 {
		t.Errorf("another worker received %v (%v) meanwhile", got, err)
	}
	if err := s.Done(t.Context(), m); err != nil {
		t.Error(err)
	}
}

// Another worker takes over what a dead one had. If that was only asleep, what runs there is
// stopped, and cannot end the other's.
func TestWhatADeadWorkerHad(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	r.Send(t, brokertest.Sent{Body: []byte("m")})
	asleep := r.opened()
	asleep.stop() // it says nothing more
	asleep.works.Wait()
	m := receive(t, asleep)
	r.cfg.Lease = 100 * time.Millisecond
	next := r.opened()
	again := receive(t, next)
	if again.ID != m.ID || again.Receives != 2 {
		t.Errorf("%+v came, want the second delivery of %s", again, m.ID)
	}
	asleep.beat(t.Context())
	<-m.Lost
	for doing, err := range map[string]error{
		"done": asleep.Done(t.Context(), m), "extend": asleep.Extend(t.Context(), m, time.Minute), "release": asleep.Release(t.Context(), m, worker.Release{}),
		"set aside": asleep.SetAside(t.Context(), m, worker.Letter{}),
	} {
		if !isLost(err) {
			t.Errorf("%s what was lost: %v", doing, err)
		}
	}
	if err := next.Done(t.Context(), again); err != nil {
		t.Error(err)
	}
}

// A message that is done before we learn that it is another worker's is not acknowledged
// for that one.
func TestDoneTooLate(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	r.Send(t, brokertest.Sent{Body: []byte("m")})
	s := r.opened()
	m := receive(t, s)
	id := strings.TrimPrefix(m.ID, r.cfg.Stream+"@")
	r.do("XCLAIM", r.cfg.Stream, "g", "other", 0, id)
	if err := s.Done(t.Context(), m); !isLost(err) {
		t.Errorf("it says %v, want that it is lost", err)
	}
	if p, err := redis.Values(r.do("XPENDING", r.cfg.Stream, "g", "-", "+", 10, "other"), nil); err != nil || len(p) != 1 {
		t.Errorf("the other worker has %+v (%v)", p, err)
	}
}

// A worker that ends leaves nothing in the group: no consumer, and no wait for others.
func TestWhatACloseLeaves(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	r.cfg.Lease = time.Hour
	r.Send(t, brokertest.Sent{Body: []byte("a")}, brokertest.Sent{Body: []byte("b")})
	s := r.opened()
	if err := s.Done(t.Context(), receive(t, s)); err != nil {
		t.Fatal(err)
	}
	receive(t, s)
	_ = s.Close()
	next := r.opened()
	if m := receive(t, next); string(m.Body) != "b" || m.Receives != 2 {
		t.Errorf("%+v came", m)
	} else if err := next.Done(t.Context(), m); err != nil {
		t.Fatal(err)
	}
	_ = next.Close()
	// The first one had a message when it ended, the second one had none.
	if all, err := redis.Values(r.do("XINFO", "CONSUMERS", r.cfg.Stream, "g"), nil); err != nil || len(all) != 1 {
		t.Errorf("the group has %d consumers (%v), want one", len(all), err)
	}
}

// An entry that others wrote has no field data: its fields are the body.
func TestOtherEntries(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	r.do("XADD", r.cfg.Stream, "*", "order", "7", "state", "paid")
	if m := receive(t, r.opened()); string(m.Body) != `{"order":"7","state":"paid"}` || len(m.Attributes) != 0 {
		t.Errorf("%s came with %v", m.Body, m.Attributes)
	}
}

func TestAGroupThatIsDeleted(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	s := r.opened()
	r.do("XGROUP", "DESTROY", r.cfg.Stream, "g")
	_, err := s.Receive(t.Context(), worker.Receive{Max: 1, Wait: time.Minute})
	if _, forever := err.(*worker.PermanentError); !forever { //nolint:errorlint // it is the outermost one
		t.Errorf("it says %v, want that this is for good", err)
	}
}

func TestWhatCannotBeOpened(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	cfg := r.cfg
	cfg.Password = "hushhush"
	fails(t, cfg, brokers.Denied)
	cfg = r.cfg
	cfg.Server = "127.0.0.1:1"
	fails(t, cfg, brokers.Unreachable)
	r.do("SET", r.cfg.Stream, "text")
	fails(t, r.cfg, brokers.Missing)
	s := (place{r}).sink(t, "")
	defer s.Close()
	err := s.Send(t.Context(), []outbox.Record{sinktest.Record(1, "k")})[0]
	if b, ok := errors.AsType[*brokers.Error](err); !ok || b.Kind != brokers.Missing || outgoing.IsRefused(err) {
		t.Errorf("a sink for something else than a stream says %v", err)
	}
}

// fails wants a source not to open.
func fails(t *testing.T, cfg Config, kind brokers.Kind) {
	t.Helper()
	s, err := New(cfg)
	if err != nil {
		t.Fatal(err)
	}
	_, err = s.Open(t.Context())
	_ = s.Close()
	b, ok := errors.AsType[*brokers.Error](err)
	if !ok || b.Kind != kind || b.Fix == "" || strings.Contains(err.Error(), "hush") {
		t.Errorf("it says %v, want what to do", err)
	}
}

func TestMaxLen(t *testing.T) {
	t.Parallel()
	p := place{newRig(t)}
	s := p.sink(t, "?maxlen=10")
	defer s.Close()
	var records []outbox.Record
	for i := range 1000 {
		records = append(records, sinktest.Record(int64(i+1), ""))
	}
	for _, err := range s.Send(t.Context(), records) {
		if err != nil {
			t.Fatal(err)
		}
	}
	if all := p.Delivered(t); len(all) > 300 || all[len(all)-1].ID != "event-1000" {
		t.Errorf("%d entries are kept", len(all))
	}
}

func TestURLs(t *testing.T) {
	t.Parallel()
	c, err := FromURL("rediss://u:p@a/orders:new?group=billing&start=latest&lease=5s&db=3", nil)
	if err != nil || c.TLS == nil || c.Stream != "orders:new" || c.Group != "billing" || !c.Latest || c.Lease != 5*time.Second || c.DB != 3 || c.Server != "a:6379" {
		t.Errorf("%+v: %v", c, err)
	}
	for text, says := range map[string]string{
		"redis://:hush@a/orders":                   "add ?group=NAME",
		"redis://:hush@a/?group=g":                 "Stream:",
		"redis://:hush@a,b/s?group=g":              "one host",
		"redis://:hush@a/s?group=g&start=now":      "not earliest or latest",
		"redis://:hush@a/s?group=g&lease=soon":     "not a duration",
		"redis://:hush@a/s?group=g&lease=1ms":      "Lease:",
		"redis://:hush@a/s?group=g&db=x":           "db=",
		"redis://:hush@a/s?group=g&consumer=c":     "no parameter consumer",
		"redis://:hush@a:port/s?group=g":           "HOST:PORT",
		"redis://:hush@a/s?group=g&cert=/no/such.": "cert, key",
	} {
		if _, err := FromURL(text, nil); err == nil || !strings.Contains(err.Error(), says) || strings.Contains(err.Error(), "hush") {
			t.Errorf("%s: %v, want %q", text, err, says)
		}
	}
	for text, says := range map[string]string{
		"redis://:hush@a/":              "Stream:",
		"redis://:hush@a/s?maxlen=0":    "maxlen=",
		"redis://:hush@a/s?max_bytes=x": "max_bytes=",
		"redis://:hush@a/s?group=g":     "no parameter group",
	} {
		if _, err := SinkFromURL(text, "/x", nil); err == nil || !strings.Contains(err.Error(), says) || strings.Contains(err.Error(), "hush") {
			t.Errorf("%s: %v, want %q", text, err, says)
		}
	}
}

// As many messages as wait for a retry are held, and no more, and those that are due come.
func TestWhatWaitsIsBounded(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	for i := range maxDelayed + 50 {
		r.Send(t, brokertest.Sent{Body: []byte{byte(i)}})
	}
	s := r.opened()
	n := 0
	for n < maxDelayed {
		got, err := s.Receive(t.Context(), worker.Receive{Max: 100, Wait: time.Minute})
		if err != nil {
			t.Fatal(err)
		}
		for _, m := range got {
			delay := time.Hour
			if n++; n == maxDelayed {
				delay = 300 * time.Millisecond
			}
			if err := s.Release(t.Context(), m, worker.Release{Delay: delay}); err != nil {
				t.Fatal(err)
			}
		}
	}
	if got, err := s.Receive(t.Context(), worker.Receive{Max: 10, Wait: time.Minute}); err != nil || len(got) != 1 || got[0].Receives != 2 {
		t.Errorf("%d messages came (%v), want the one that is due", len(got), err)
	}
	if got, err := s.Receive(t.Context(), worker.Receive{Max: 10, Wait: time.Minute}); err != nil || len(got) != 10 || got[0].Receives != 1 {
		t.Errorf("%d messages came (%v), want new ones", len(got), err)
	}
}
