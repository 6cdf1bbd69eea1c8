package brokertest

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"maps"
	"slices"
	"testing"
	"time"

	"github.com/bezoar-dev/bezoar"
	"github.com/bezoar-dev/bezoar/internal/test/suite"
	"github.com/bezoar-dev/bezoar/queue"
	"github.com/bezoar-dev/bezoar/worker"
)

// Sent is one message for a queue.
type Sent struct {
	Body    []byte
	Headers map[string]string
}

// Letter is a message of the dead-letter queue, as another client reads it. Evidence has
// names without the prefix (class, reason, failure, attempts).
type Letter struct {
	Body     []byte
	Headers  map[string]string // headers of the original message
	Evidence map[string]string
}

// Queue is a queue of a server, used by one test only, as seen by clients other than the
// source.
type Queue interface {
	Send(t *testing.T, all ...Sent)
	// Source returns a new source, always of the same consumer group.
	Source(t *testing.T) worker.Source
	// Letters returns all messages in the dead-letter queue.
	Letters(t *testing.T) []Letter
}

// patience is the time limit for operations that a server performs at once.
const patience = time.Minute

// Run runs the suite. fresh creates an empty queue.
func Run(t *testing.T, fresh func(t *testing.T) Queue) {
	for name, test := range map[string]func(*testing.T, Queue){
		"RoundTrip": roundTrip, "Releases": releases, "Letters": letters, "Unfinished": unfinished, "Bodies": bodies, "Waits": waits, "Ended": ended,
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			test(t, fresh(t))
		})
	}
}

// opened is an open source, which is closed at the end of the test.
type opened struct {
	*testing.T
	worker.Source
	about worker.About
}

func open(t *testing.T, q Queue) *opened {
	t.Helper()
	o := &opened{T: t, Source: q.Source(t)}
	var err error
	if o.about, err = o.Open(t.Context()); err != nil {
		t.Fatalf("open: %v", err)
	}
	suite.ErrorIf(t, o.about.Queue == "" || o.about.Batch < 1 || o.about.Judges || o.about.DeadLetter == "", "about the queue: %+v", o.about)
	t.Cleanup(func() { o.close() })
	return o
}

func (o *opened) close() {
	o.Helper()
	if c, ok := o.Source.(io.Closer); ok {
		if err := c.Close(); err != nil {
			o.Errorf("close: %v", err)
		}
	}
}

// receive receives n messages, by body.
func (o *opened) receive(n int) map[string]worker.Message {
	o.Helper()
	all := map[string]worker.Message{}
	for over := time.Now().Add(patience); len(all) < n; {
		suite.FatalIf(o, time.Now().After(over), "%d messages came, want %d: %v", len(all), n, slices.Sorted(maps.Keys(all)))
		for _, m := range o.once(n, time.Second) {
			if _, twice := all[string(m.Body)]; twice {
				o.Errorf("%.100q came twice", m.Body)
			}
			all[string(m.Body)] = m
		}
	}
	return all
}

func (o *opened) once(n int, wait time.Duration) []worker.Message {
	o.Helper()
	got, err := o.Receive(o.Context(), worker.Receive{Max: n, Wait: wait, Visibility: 30 * time.Second, Worker: "w", Life: "l"})
	if err != nil {
		o.Fatalf("receive: %v", err)
	}
	suite.ErrorIf(o, len(got) > n, "%d messages were received, want %d at most", len(got), n)
	return got
}

// one receives one message.
func (o *opened) one() worker.Message {
	o.Helper()
	for _, m := range o.receive(1) {
		return m
	}
	panic("there is one")
}

func (o *opened) must(doing string, err error) {
	o.Helper()
	if err != nil {
		o.Fatalf("%s: %v", doing, err)
	}
}

// roundTrip checks that messages arrive unchanged, and that a finished message does not
// come again.
func roundTrip(t *testing.T, q Queue) {
	var all []Sent
	for i := range 50 {
		all = append(all, Sent{Body: fmt.Appendf(nil, "body %d", i), Headers: map[string]string{"trace": fmt.Sprint(i), "Content-Type": "text/plain"}})
	}
	q.Send(t, all...)
	s := open(t, q)
	ids := map[string]bool{}
	for body, m := range s.receive(len(all)) {
		var i int
		if _, err := fmt.Sscanf(body, "body %d", &i); err != nil || m.Attributes["trace"].String != fmt.Sprint(i) || m.Attributes["Content-Type"].String != "text/plain" {
			t.Errorf("%q came with %v", body, m.Attributes)
		}
		suite.ErrorIf(t, m.Receives != 1 || m.Receipt == "" || ids[m.ID] || time.Since(m.Sent) > time.Hour, "%+v", m)
		ids[m.ID] = true
		s.must("extend", s.Extend(t.Context(), m, 30*time.Second))
		s.must("delete", s.Done(t.Context(), m))
	}
	s.close()
	next := open(t, q)
	q.Send(t, Sent{Body: []byte("last")})
	if m := next.one(); string(m.Body) != "last" {
		t.Errorf("%q came again", m.Body)
	}
}

// releases checks that a released message comes again after its delay, with a higher count.
func releases(t *testing.T, q Queue) {
	q.Send(t, Sent{Body: []byte("again")})
	s := open(t, q)
	m := s.one()
	s.must("release", s.Release(t.Context(), m, worker.Release{}))
	m = s.one()
	suite.ErrorIf(t, m.Receives != 2, "it was received %d times, want 2", m.Receives)
	began := time.Now()
	s.must("release", s.Release(t.Context(), m, worker.Release{Delay: 2 * time.Second}))
	m = s.one()
	if waited := time.Since(began); waited < 1900*time.Millisecond {
		t.Errorf("it came after %v, want 2s", waited)
	}
	suite.ErrorIf(t, m.Receives != 3, "it was received %d times, want 3", m.Receives)
	s.must("delete", s.Done(t.Context(), m))
}

// letters checks that a message that is set aside is in the dead-letter queue, with the
// reason.
func letters(t *testing.T, q Queue) {
	q.Send(t, Sent{Body: []byte("poison"), Headers: map[string]string{"trace": "7"}}, Sent{Body: []byte("rows")})
	s := open(t, q)
	all := s.receive(2)
	m := all["poison"]
	s.must("set aside", s.SetAside(t.Context(), m, worker.Letter{
		Body: m.Body, Once: m.ID, Outcome: queue.Outcome{Class: bezoar.Crash, Reason: "it dies", Failure: "SIGSEGV", Detail: "signal 11", Stderr: "last words"},
	}))
	s.must("delete", s.Done(t.Context(), m))
	m = all["rows"]
	s.must("set a part aside", s.SetAside(t.Context(), m, worker.Letter{
		Body: []byte("one row"), Once: m.ID + "/1", Part: true, Outcome: queue.Outcome{Class: bezoar.Invalid, Reason: "no price"},
	}))
	s.must("delete", s.Done(t.Context(), m))
	s.close()
	got := map[string]Letter{}
	for _, l := range q.Letters(t) {
		got[string(l.Body)] = l
	}
	l := got["poison"]
	suite.FatalIf(t, len(got) != 2 || l.Headers["trace"] != "7", "letters: %+v", got)
	for name, want := range map[string]string{"class": "crash", "reason": "it dies", "failure": "SIGSEGV", "attempts": "1"} {
		suite.ErrorIf(t, l.Evidence[name] != want, "%s is %q, want %q: %v", name, l.Evidence[name], want, l.Evidence)
	}
	if row := got["one row"]; row.Evidence["class"] != "invalid" || row.Evidence["reason"] != "no price" || row.Evidence["part"] == "" {
		t.Errorf("the row's letter: %+v", row)
	}
}

// unfinished checks that messages that were unfinished when a source closed come again, and
// that the use of their old receipts does no harm.
func unfinished(t *testing.T, q Queue) {
	q.Send(t, Sent{Body: []byte("a")}, Sent{Body: []byte("b")}, Sent{Body: []byte("c")})
	s := open(t, q)
	all := s.receive(3)
	s.must("delete", s.Done(t.Context(), all["b"]))
	s.must("release", s.Release(t.Context(), all["c"], worker.Release{Refund: true, Delay: time.Hour}))
	s.close()
	next := open(t, q)
	if err := next.Release(t.Context(), all["a"], worker.Release{}); err != nil && !errors.Is(err, worker.ErrLost) {
		t.Errorf("release what a predecessor had: %v", err)
	}
	q.Send(t, Sent{Body: []byte("d")})
	for _, body := range []string{"a", "d"} {
		seen := map[string]bool{}
		for over := time.Now().Add(patience); !seen[body] && time.Now().Before(over); {
			for _, m := range next.once(10, time.Second) {
				suite.ErrorIf(t, string(m.Body) == "b", "b was done, and came again")
				seen[string(m.Body)] = true
				next.must("delete", next.Done(t.Context(), m))
				if string(m.Body) == "a" && body == "a" {
					body = "d"
				}
			}
		}
		if body == "d" {
			break
		}
		t.Errorf("%s did not come: %v", body, seen)
	}
}

// bodies checks bodies with any bytes.
func bodies(t *testing.T, q Queue) {
	all := map[string]bool{"": true, "\x00\xff\xfe": true, string(bytes.Repeat([]byte("x\x00"), 400_000)): true, "ünïcode": true}
	for body := range all {
		q.Send(t, Sent{Body: []byte(body)})
	}
	s := open(t, q)
	for body, m := range s.receive(len(all)) {
		suite.ErrorIf(t, !all[body], "a body of %d bytes was not sent", len(body))
		s.must("delete", s.Done(t.Context(), m))
	}
}

// waits checks that a receive ends with its wait time, or its context.
func waits(t *testing.T, q Queue) {
	s := open(t, q)
	if got := s.once(1, 100*time.Millisecond); len(got) != 0 {
		t.Errorf("%d messages came, of none", len(got))
	}
	ctx, cancel := context.WithCancel(t.Context())
	ended := make(chan error, 1)
	go func() {
		_, err := s.Receive(ctx, worker.Receive{Max: 1, Wait: time.Hour, Visibility: 30 * time.Second})
		ended <- err
	}()
	cancel()
	select {
	case err := <-ended:
		suite.ErrorIf(t, err == nil, "a receive that was broken off says nothing")
	case <-time.After(patience):
		t.Error("a receive goes on beyond its context")
	}
}

// ended checks that a finished message no longer belongs to the source.
func ended(t *testing.T, q Queue) {
	q.Send(t, Sent{Body: []byte("once")})
	s := open(t, q)
	m := s.one()
	s.must("delete", s.Done(t.Context(), m))
	for doing, err := range map[string]error{
		"extend":  s.Extend(t.Context(), m, time.Minute),
		"release": s.Release(t.Context(), m, worker.Release{}),
	} {
		suite.ErrorIf(t, !errors.Is(err, worker.ErrLost), "%s what was done: %v, want that it is lost", doing, err)
	}
}
