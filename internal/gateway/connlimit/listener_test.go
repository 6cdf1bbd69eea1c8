package connlimit_test

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"syscall"
	"testing"
	"time"

	"go.uber.org/goleak"

	"github.com/bezoar-dev/bezoar/internal/gateway/connlimit"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// server runs one of net/http with so many places. Requests for /busy tell inside,
// and wait for out.
func server(t *testing.T, places int) (l *connlimit.Listener, inside, out chan struct{}) {
	t.Helper()
	ln, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	l = connlimit.New(ln, places)
	inside, out = make(chan struct{}), make(chan struct{})
	srv := &http.Server{ConnState: l.State, Handler: http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path == "/busy" {
			inside <- struct{}{}
			<-out
		}
		fmt.Fprint(w, "here")
	})}
	done := make(chan error, 1)
	go func() { done <- srv.Serve(l) }()
	t.Cleanup(func() {
		_ = srv.Close()
		if err := <-done; !errors.Is(err, http.ErrServerClosed) {
			t.Error(err)
		}
		ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
		defer cancel()
		if l.Empty(ctx); ctx.Err() != nil {
			t.Error("a connection kept its place")
		}
	})
	return l, inside, out
}

func dial(t *testing.T, l *connlimit.Listener) net.Conn {
	t.Helper()
	c, err := net.Dial("tcp", l.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { c.Close() })
	_ = c.SetDeadline(time.Now().Add(time.Minute))
	return c
}

// ask sends a request; with what it returns the answer is read.
func ask(c net.Conn, path string) func() error {
	_, failed := fmt.Fprintf(c, "GET %s HTTP/1.1\r\nHost: h\r\n\r\n", path)
	return func() error {
		if failed != nil {
			return failed
		}
		res, err := http.ReadResponse(bufio.NewReader(c), nil)
		if err != nil {
			return err
		}
		_, err = io.Copy(io.Discard, res.Body)
		return errors.Join(err, res.Body.Close())
	}
}

// While there is no place, who is silent makes room: who never spoke, and who has
// its answer. Who waits for one stays.
func TestTheSilentMakeRoom(t *testing.T) {
	l, inside, out := server(t, 3)
	busy := dial(t, l)
	answer := ask(busy, "/busy")
	<-inside
	quiet, answered := dial(t, l), dial(t, l)
	if err := ask(answered, "/")(); err != nil {
		t.Fatal(err)
	}
	for range 4 {
		if err := ask(dial(t, l), "/")(); err != nil {
			t.Fatalf("a newcomer: %v", err)
		}
	}
	for name, c := range map[string]net.Conn{"quiet": quiet, "answered": answered} {
		if b, _ := io.ReadAll(c); len(b) > 0 { // the end may be a reset
			t.Errorf("%s got %q", name, b)
		}
	}
	close(out)
	if err := answer(); err != nil {
		t.Errorf("who waited for an answer: %v", err)
	}
}

func TestSharesLeaveAQuarter(t *testing.T) {
	if all := connlimit.Callers + connlimit.Queues + connlimit.Operators + connlimit.Redirects; all > 12 {
		t.Errorf("listeners take %d sixteenths", all)
	}
	if n := connlimit.Share(7, connlimit.Operators); n < 1 || n > 7 {
		t.Errorf("a share of %d", n)
	}
}

func TestOnlyOurOwnLackIsExhaustion(t *testing.T) {
	dialled := func(err error) error { return fmt.Errorf("connect: %w", &net.OpError{Op: "dial", Err: err}) }
	for err, want := range map[error]bool{
		dialled(syscall.EMFILE): true, dialled(syscall.ENFILE): true, dialled(syscall.EADDRNOTAVAIL): true,
		dialled(syscall.ECONNREFUSED): false, dialled(syscall.ECONNRESET): false, dialled(context.DeadlineExceeded): false,
	} {
		if got := connlimit.Exhausted(err); got != want {
			t.Errorf("%v: %v", err, got)
		}
	}
	if connlimit.Exhausted(nil) {
		t.Error("nothing is exhaustion")
	}
}
