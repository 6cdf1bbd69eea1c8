package sqs_test

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/bezoar-dev/bezoar/internal/queue/sqs"
	"github.com/bezoar-dev/bezoar/queue"
)

// served is a server on a socket of its own.
type served struct {
	t      *testing.T
	engine *queue.Engine
	server *sqs.Server
	addr   string
	ln     net.Listener
	stop   context.CancelFunc
	done   chan error

	mu       sync.Mutex
	vanished []string
}

func serve(t *testing.T, change func(*sqs.Config)) *served {
	t.Helper()
	s := &served{t: t, engine: newEngine(t), done: make(chan error, 1)}
	c := sqs.Config{Engine: s.engine, Address: "127.0.0.1:0", Vanished: func(worker string) {
		s.mu.Lock()
		defer s.mu.Unlock()
		s.vanished = append(s.vanished, worker)
	}}
	if change != nil {
		change(&c)
	}
	server, err := sqs.NewServer(c)
	if err != nil {
		t.Fatal(err)
	}
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	s.server, s.addr, s.ln = server, l.Addr().String(), l
	ctx, cancel := context.WithCancel(context.Background())
	s.stop = cancel
	go func() { s.done <- server.Serve(ctx, l) }()
	t.Cleanup(func() {
		cancel()
		if err := <-s.done; err != nil {
			t.Error(err)
		}
		s.done <- nil
	})
	if _, err := s.engine.CreateQueue(context.Background(), "q", queue.DefaultSettings(), nil); err != nil {
		t.Fatal(err)
	}
	return s
}

func (s *served) gone() []string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return append([]string(nil), s.vanished...)
}

func (s *served) send(n, size int) {
	s.t.Helper()
	for i := range n { // all different: copies of one payload would wait for the first
		body := strings.Repeat(string(rune('a'+i)), size)
		if _, err := s.engine.Send(context.Background(), "q", queue.SendInput{Body: []byte(body)}); err != nil {
			s.t.Fatal(err)
		}
	}
}

func (s *served) dial() net.Conn {
	s.t.Helper()
	c, err := net.Dial("tcp", s.addr)
	if err != nil {
		s.t.Fatal(err)
	}
	s.t.Cleanup(func() { _ = c.Close() })
	return c
}

// write sends a request by hand.
func (s *served) write(c net.Conn, op, body string, headers ...string) {
	s.t.Helper()
	body = strings.ReplaceAll(body, "QUEUE", "http://"+s.addr+"/000000000000/q")
	_, err := fmt.Fprintf(c, "POST / HTTP/1.1\r\nHost: %s\r\nX-Amz-Target: AmazonSQS.%s\r\nContent-Length: %d\r\n%s\r\n%s",
		s.addr, op, len(body), strings.Join(append(headers, ""), "\r\n"), body)
	if err != nil {
		s.t.Fatal(err)
	}
}

func (s *served) read(c net.Conn) (int, string) {
	s.t.Helper()
	resp, err := http.ReadResponse(bufio.NewReader(c), nil)
	if err != nil {
		s.t.Fatal(err)
	}
	defer resp.Body.Close()
	body, err := io.ReadAll(resp.Body)
	if err != nil {
		s.t.Fatal(err)
	}
	return resp.StatusCode, string(body)
}

// receivedOnce reports whether all messages of q are visible, and as if nobody
// had received them.
func (s *served) untouched(n int) bool {
	m, err := s.engine.Peek(context.Background(), "q", 0, 256)
	if err != nil {
		s.t.Fatal(err)
	}
	free := 0
	for i := range m {
		if m[i].Receives == 0 && !m[i].InFlight {
			free++
		}
	}
	return free == n
}

func TestReceiveIsUndoneWhenTheCallerDoesNotRead(t *testing.T) {
	s := serve(t, nil)
	s.send(10, 1<<20) // more than sockets buffer
	c := s.dial()
	s.write(c, "ReceiveMessage", `{"QueueUrl":"QUEUE","MaxNumberOfMessages":10}`)
	if _, err := io.ReadFull(c, make([]byte, 1)); err != nil { // it is being written
		t.Fatal(err)
	}
	if s.untouched(10) {
		t.Fatal("nothing was received")
	}
	_ = c.Close()
	within(t, func() bool { return s.untouched(10) })
	if got := s.gone(); len(got) > 0 {
		t.Errorf("%v vanished with nothing in flight", got)
	}
}

func TestReceiveOfACallerWhoLeftGetsNothing(t *testing.T) {
	s := serve(t, nil)
	c := s.dial()
	s.write(c, "ReceiveMessage", `{"QueueUrl":"QUEUE","WaitTimeSeconds":20}`)
	_ = c.Close()
	// Whether it waits by now or not: what is sent is for others.
	other := s.dial()
	s.write(other, "ReceiveMessage", `{"QueueUrl":"QUEUE","WaitTimeSeconds":20}`)
	s.send(1, 10)
	if status, body := s.read(other); status != 200 || !strings.Contains(body, "aaaaaaaaaa") {
		t.Errorf("got %d %s", status, body)
	}
}

// A writer whose caller goes away at some point.
type leaving struct {
	*httptest.ResponseRecorder
	onWrite func() error
	onFlush func() error
}

func (l *leaving) Write(p []byte) (int, error) {
	if err := l.onWrite(); err != nil {
		return 0, err
	}
	return l.ResponseRecorder.Write(p)
}

func (l *leaving) FlushError() error { return l.onFlush() }

func TestReceiveIsUndoneAtEveryEnd(t *testing.T) {
	fine := func() error { return nil }
	broken := func() error { return errors.New("broken pipe") }
	for name, c := range map[string]struct {
		write, flush func() error
		cancel       string
		undone       bool
	}{
		"write fails":            {write: broken, flush: fine, undone: true},
		"flush fails":            {write: fine, flush: broken, undone: true},
		"gone once all is read":  {write: fine, flush: fine, cancel: "write"}, // which nobody can tell
		"gone before the answer": {write: fine, flush: fine, cancel: "header", undone: true},
		"all is well":            {write: fine, flush: fine},
	} {
		t.Run(name, func(t *testing.T) {
			r := newRig(t)
			r.create("q")
			r.send("q", "x")
			ctx, cancel := context.WithCancel(context.Background())
			defer cancel()
			w := &leaving{ResponseRecorder: httptest.NewRecorder(), onFlush: c.flush, onWrite: func() error {
				if c.cancel == "write" {
					cancel()
				}
				return c.write()
			}}
			req := r.jsonRequest("ReceiveMessage", `{"QueueUrl":"`+r.queueURL("q")+`"}`).WithContext(ctx)
			if c.cancel == "header" {
				// The context that the handler looks at before it answers is
				// over as soon as the engine has been asked.
				req = req.WithContext(&overAfter{Context: ctx, looks: 0})
			}
			r.handler.ServeHTTP(w, req)
			m, err := r.engine.Peek(context.Background(), "q", 0, 1)
			if err != nil {
				t.Fatal(err)
			}
			if undone := m[0].Receives == 0 && !m[0].InFlight; undone != c.undone {
				t.Errorf("undone: %v; the message is %+v", undone, m[0])
			}
		})
	}
}

// Whatever has arrived when the server ends is answered, also what is just being
// read then.
func TestDrainAnswersWhatHasArrived(t *testing.T) {
	for range 20 {
		s := serve(t, nil)
		waiting := make([]net.Conn, 30)
		for i := range waiting {
			waiting[i] = s.dial()
			s.write(waiting[i], "ReceiveMessage", `{"QueueUrl":"QUEUE","WaitTimeSeconds":20}`)
		}
		last := s.dial() // once it is answered all have been accepted
		s.write(last, "ListQueues", `{}`)
		s.read(last)
		s.stop()
		for _, c := range waiting {
			if status, body := s.read(c); status != 200 || body != `{}` {
				t.Errorf("got %d %s", status, body)
			}
			c.Close()
		}
	}
}

func TestDrainEndsWaitingReceives(t *testing.T) {
	s := serve(t, nil)
	c := s.dial()
	s.write(c, "ReceiveMessage", `{"QueueUrl":"QUEUE","WaitTimeSeconds":20}`)
	busy := s.dial() // once it is answered the first has been accepted, and perhaps not yet been read
	s.write(busy, "SendMessage", `{"QueueUrl":"QUEUE","MessageBody":"for nobody","DelaySeconds":900}`)
	if status, _ := s.read(busy); status != 200 {
		t.Fatal(status)
	}
	began := time.Now()
	s.stop()
	status, body := s.read(c)
	if status != 200 || body != `{}` || time.Since(began) > 15*time.Second {
		t.Errorf("got %d %s after %v", status, body, time.Since(began))
	}
	if err := <-s.done; err != nil {
		t.Error(err)
	}
	s.done <- nil
	if _, err := s.ln.Accept(); !errors.Is(err, net.ErrClosed) { // its port may be somebody else's by now
		t.Errorf("it still accepts connections: %v", err)
	}
}

func TestConnectionsThatVanish(t *testing.T) {
	s := serve(t, nil)
	s.send(6, 10)
	const receive = `{"QueueUrl":"QUEUE"}`
	leave := func(op, body string, headers ...string) string {
		c := s.dial()
		s.write(c, op, body, headers...)
		if status, body := s.read(c); status != 200 {
			t.Fatal(status, body)
		}
		_ = c.Close()
		return c.LocalAddr().String()
	}
	leave("ListQueues", `{}`)                                     // had nothing
	leave("ReceiveMessage", receive, "Connection: close")         // announced
	leave("ReceiveMessage", receive, "User-Agent: aws-cli/2.9.0") // one call and done
	leave("ReceiveMessage", receive, "X-Bezoar-Worker: host:1#7") // reports its own death
	want := leave("ReceiveMessage", receive)
	within(t, func() bool { return len(s.gone()) > 0 })
	if got := s.gone(); len(got) != 1 || got[0] != want {
		t.Errorf("%v vanished, want %s", got, want)
	}
	leave("ReceiveMessage", receive, "X-Bezoar-Worker: host:1#8", "X-Bezoar-Missed: yes") // may have no next life
	within(t, func() bool { return len(s.gone()) > 1 })
	if got := s.gone(); got[1] != "host:1" {
		t.Errorf("%v vanished, want a worker by its name", got)
	}
	m, err := s.engine.Peek(context.Background(), "q", 0, 10)
	if err != nil {
		t.Fatal(err)
	}
	for i := range m {
		if m[i].InFlight {
			return
		}
	}
	t.Error("nothing is held by the worker that vanished")
}

// About to stop, the server ends each connection with its next answer, and holds
// nobody responsible for that.
func TestLeaveEndsConnections(t *testing.T) {
	s := serve(t, nil)
	s.send(1, 10)
	old := s.dial()
	s.write(old, "ListQueues", `{}`)
	if status, body := s.read(old); status != 200 {
		t.Fatal(status, body)
	}
	s.server.Leave()
	for _, c := range []net.Conn{old, s.dial()} {
		s.write(c, "ReceiveMessage", `{"QueueUrl":"QUEUE"}`)
		if status, body := s.read(c); status != 200 {
			t.Fatal(status, body)
		}
		if _, err := c.Read(make([]byte, 1)); !errors.Is(err, io.EOF) {
			t.Errorf("the connection does not end: %v", err)
		}
		_ = c.Close()
	}
	s.stop()
	if err := <-s.done; err != nil {
		t.Error(err)
	}
	s.done <- nil
	if got := s.gone(); len(got) != 0 {
		t.Errorf("%v count as vanished", got)
	}
}

// While there is no place, a consumer that says nothing makes room, and is not
// held to have died.
func TestConnectionsAreBounded(t *testing.T) {
	s := serve(t, func(c *sqs.Config) { c.MaxConnections = 1 })
	s.send(1, 10)
	first := s.dial()
	s.write(first, "ReceiveMessage", `{"QueueUrl":"QUEUE"}`)
	if status, body := s.read(first); status != 200 || body == `{}` {
		t.Fatal(status, body)
	}
	for range 2 {
		next := s.dial()
		s.write(next, "ListQueues", `{}`)
		if status, body := s.read(next); status != 200 {
			t.Fatal(status, body)
		}
	}
	if b, _ := io.ReadAll(first); len(b) > 0 { // the end may be a reset
		t.Errorf("the first got %q", b)
	}
	s.stop()
	if err := <-s.done; err != nil {
		t.Error(err)
	}
	s.done <- nil
	if got := s.gone(); len(got) != 0 {
		t.Errorf("%v count as vanished", got)
	}
}

func TestRunListens(t *testing.T) {
	e := newEngine(t)
	s, err := sqs.NewServer(sqs.Config{Engine: e, Address: "127.0.0.1:0"})
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	if err := s.Run(ctx); err != nil && !errors.Is(err, context.Canceled) {
		t.Error(err)
	}
	taken, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer taken.Close()
	s, err = sqs.NewServer(sqs.Config{Engine: e, Address: taken.Addr().String()})
	if err != nil {
		t.Fatal(err)
	}
	if err := s.Run(context.Background()); err == nil {
		t.Error("it listens where somebody else does")
	}
}

// overAfter is over after it has been asked so often.
type overAfter struct {
	context.Context
	mu    sync.Mutex
	looks int
}

func (o *overAfter) Err() error {
	o.mu.Lock()
	defer o.mu.Unlock()
	if o.looks--; o.looks < 0 {
		return context.Canceled
	}
	return o.Context.Err()
}
