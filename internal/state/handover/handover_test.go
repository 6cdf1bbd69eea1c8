package handover

import (
	"context"
	"errors"
	"io"
	"net"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"go.uber.org/goleak"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

func must[T any](t *testing.T) func(T, error) T {
	return func(v T, err error) T {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
		return v
	}
}

func nothing(*Sockets) error { return nil }

// awaited is an offer that is waited for.
func awaited(t *testing.T, s *Sockets, dir string) <-chan *Successor {
	t.Helper()
	o := must[*Offer](t)(s.Offer(dir))
	took := make(chan *Successor, 1)
	ctx, cancel := context.WithCancel(t.Context())
	done := make(chan struct{})
	go func() {
		defer close(done)
		next, err := o.Await(ctx)
		if err != nil {
			t.Error(err)
		}
		took <- next
	}()
	t.Cleanup(func() { cancel(); <-done })
	return took
}

func TestWhoComesMeanwhileWaits(t *testing.T) {
	dir := t.TempDir()
	before := &Sockets{}
	ln := must[net.Listener](t)(before.Listen(HTTP, "127.0.0.1:0"))
	at := ln.Addr().String()
	moved := must[net.Listener](t)(before.Listen(SQS, "127.0.0.1:0"))
	took := awaited(t, before, dir)

	after, predecessor, err := Take(t.Context(), dir, nothing)
	if err != nil || predecessor == nil || predecessor.PID != os.Getpid() {
		t.Fatalf("%+v, %v", predecessor, err)
	}
	next := <-took
	if !before.Outlive() || after.Outlive() {
		t.Errorf("the sockets outlive the one before: %v, and the one after: %v", before.Outlive(), after.Outlive())
	}
	ln.Close()
	moved.Close()
	c := must[net.Conn](t)(net.Dial("tcp", at)) // nobody accepts
	defer c.Close()

	waited := make(chan error, 1)
	go func() { waited <- predecessor.Wait(t.Context()) }()
	select {
	case err := <-waited:
		t.Fatalf("it did not wait: %v", err)
	default:
	}
	next.Release()
	if err := <-waited; err != nil {
		t.Fatal(err)
	}
	serving(t, predecessor, next)
	again := must[net.Listener](t)(after.Listen(HTTP, "127.0.0.1:0"))
	defer again.Close()
	if again.Addr().String() != at {
		t.Errorf("it listens at %v, not at %s", again.Addr(), at)
	}
	must[net.Conn](t)(again.Accept()).Close() // the one that waited
	// The settings say another place: the old one ends.
	other := must[net.Listener](t)(after.Listen(SQS, "localhost:0"))
	defer other.Close()
	if rest := after.CloseRest(); len(rest) != 1 {
		t.Errorf("left over: %q", rest)
	}
	if c, err := net.Dial("tcp", moved.Addr().String()); err == nil {
		c.Close()
		t.Error("where nothing is served somebody listens")
	}
}

func TestNobodyElseEndsAProcess(t *testing.T) {
	dir := t.TempDir()
	s := &Sockets{}
	defer must[net.Listener](t)(s.Listen(HTTP, "127.0.0.1:0")).Close()
	took := awaited(t, s, dir)
	path := filepath.Join(dir, fileName)
	for _, says := range []string{"", "GET / HTTP/1.1\r\n\r\n", "bezoar take 1\n", asks} { // the last one ends before it has taken them
		c := must[net.Conn](t)(net.Dial("unix", path))
		must[int](t)(io.WriteString(c, says))
		c.Close()
	}
	if _, err := s.Offer(dir); err == nil {
		t.Error("two processes offer their sockets in one place")
	}
	bad := errors.New("bad")
	if _, _, err := Take(t.Context(), dir, func(*Sockets) error { return bad }); !errors.Is(err, bad) {
		t.Fatalf("a successor that cannot serve got %v", err)
	}
	select {
	case <-took:
		t.Fatal("it would have ended")
	default:
	}
	after, predecessor, err := Take(t.Context(), dir, nothing)
	if err != nil {
		t.Fatal(err)
	}
	after.CloseRest()
	next := <-took
	next.Release()
	if err := predecessor.Wait(t.Context()); err != nil {
		t.Fatal(err)
	}
	serving(t, predecessor, next)
}

func TestThereIsNothingToTake(t *testing.T) {
	dir := t.TempDir()
	none := func() {
		s, predecessor, err := Take(t.Context(), dir, nothing)
		if predecessor != nil || err != nil {
			t.Fatalf("%v, %v", predecessor, err)
		}
		s.Unclaim()
	}
	none()
	// One that was killed leaves its socket behind.
	ln := must[*net.UnixListener](t)(net.ListenUnix("unix", &net.UnixAddr{Name: filepath.Join(dir, fileName), Net: "unix"}))
	ln.SetUnlinkOnClose(false)
	ln.Close()
	none()
	o := must[*Offer](t)((&Sockets{}).Offer(dir))
	if err := o.Close(); err != nil {
		t.Error(err)
	}
}

// follow takes over from the process that awaits it.
func follow(t *testing.T, dir string, took <-chan *Successor) *Sockets {
	t.Helper()
	after, before, err := Take(t.Context(), dir, nothing)
	if err != nil || before == nil {
		t.Fatalf("%v, %v", before, err)
	}
	t.Cleanup(after.Unclaim)
	next := <-took
	next.Release()
	if err := before.Wait(t.Context()); err != nil {
		t.Fatal(err)
	}
	serving(t, before, next)
	return after
}

// While one takes over, a third one is told so, whatever it would find.
func TestAThirdOneIsTold(t *testing.T) {
	dir := t.TempDir()
	after := follow(t, dir, awaited(t, &Sockets{}, dir))
	if _, _, err := Take(t.Context(), dir, nothing); !errors.Is(err, ErrUnderWay) {
		t.Errorf("a third one got %v", err)
	}
	follow(t, dir, awaited(t, after, dir)) // once the second one serves
}

// The path of the socket may be longer than an address of one.
func TestAFolderWithALongName(t *testing.T) {
	dir := filepath.Join(t.TempDir(), strings.Repeat("long-", 30))
	if err := os.Mkdir(dir, 0o700); err != nil {
		t.Fatal(err)
	}
	follow(t, dir, awaited(t, &Sockets{}, dir))
	if _, err := os.Lstat(filepath.Join(dir, fileName)); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("the socket is left behind: %v", err)
	}
}

func TestWaitingEnds(t *testing.T) {
	dir := t.TempDir()
	s := &Sockets{}
	took := awaited(t, s, dir)
	_, predecessor, err := Take(t.Context(), dir, nothing)
	if err != nil {
		t.Fatal(err)
	}
	next := <-took
	ctx, cancel := context.WithTimeout(t.Context(), time.Millisecond)
	defer cancel()
	if err := predecessor.Wait(ctx); !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("waited: %v", err)
	}
	if _, err := next.Serves(t.Context(), time.Millisecond); !errors.Is(err, ErrNotServing) {
		t.Errorf("a successor that neither serves nor ends: %v", err)
	}
	predecessor.GiveUp()
}

// serving tells the process before that its successor serves: it keeps nothing.
func serving(t *testing.T, before *Predecessor, next *Successor) {
	t.Helper()
	if err := before.Serves(); err != nil {
		t.Fatal(err)
	}
	if kept, err := next.Serves(t.Context(), time.Minute); kept != nil || err != nil {
		t.Fatalf("the process before has %v, %v", kept, err)
	}
}

// A successor that ends before it serves leaves the sockets to the process before, and who came meanwhile is served there.
func TestASuccessorThatEndsTooSoon(t *testing.T) {
	dir := t.TempDir()
	before := &Sockets{}
	ln := must[net.Listener](t)(before.Listen(HTTP, "127.0.0.1:0"))
	took := awaited(t, before, dir)
	after, predecessor, err := Take(t.Context(), dir, nothing)
	if err != nil {
		t.Fatal(err)
	}
	next := <-took
	ln.Close()
	next.Release()
	c := must[net.Conn](t)(net.Dial("tcp", ln.Addr().String()))
	defer c.Close()
	ended := make(chan struct{})
	go func() { // its lock and its sockets go after the connection, as the kernel may do it
		defer close(ended)
		predecessor.GiveUp()
		after.CloseRest()
		after.Unclaim()
	}()
	kept, err := next.Serves(t.Context(), time.Minute)
	<-ended
	if err != nil || kept == nil {
		t.Fatalf("the process before has %v, %v", kept, err)
	}
	if _, _, err := Take(t.Context(), dir, nothing); !errors.Is(err, ErrUnderWay) {
		t.Errorf("a third one meanwhile got %v", err)
	}
	again := must[net.Listener](t)(kept.Listen(HTTP, "127.0.0.1:0"))
	defer again.Close()
	if again.Addr().String() != ln.Addr().String() {
		t.Errorf("it listens at %v, not at %v", again.Addr(), ln.Addr())
	}
	must[net.Conn](t)(again.Accept()).Close() // the one that waited
	kept.Unclaim()
}

func TestWhichSocketIsMeant(t *testing.T) {
	ln := must[*net.TCPListener](t)(net.ListenTCP("tcp", &net.TCPAddr{IP: net.IPv4(127, 0, 0, 1)}))
	defer ln.Close()
	at := ln.Addr().String()
	for _, c := range []struct {
		socket     socket
		name, addr string
		want       bool
	}{
		{socket{name: HTTP, addr: "", ln: ln}, HTTP, ":80", true}, // the service manager's name decides
		{socket{name: HTTP, addr: "", ln: ln}, SQS, at, false},
		{socket{name: "bezoar.socket", addr: "", ln: ln}, SQS, at, true}, // a name that says nothing
		{socket{name: "bezoar.socket", addr: "", ln: ln}, SQS, "127.0.0.1:1", false},
		{socket{name: HTTP, addr: ":80", ln: ln}, HTTP, ":80", true},
		{socket{name: HTTP, addr: ":80", ln: ln}, HTTP, ":81", false},
		{socket{name: HTTP, addr: ":80", ln: ln}, SQS, ":80", false},
	} {
		if got := c.socket.fits(c.name, c.addr); got != c.want {
			t.Errorf("%+v for %s at %s: %v", c.socket, c.name, c.addr, got)
		}
	}
}

// Of several sockets with one name each is for its own address.
func TestSocketsOfOneName(t *testing.T) {
	s := &Sockets{}
	var at []string
	for range 3 {
		ln := must[*net.TCPListener](t)(net.ListenTCP("tcp", &net.TCPAddr{IP: net.IPv4(127, 0, 0, 1)}))
		s.given = append(s.given, socket{name: HTTP, addr: "", ln: ln})
		at = append(at, ln.Addr().String())
	}
	for _, tc := range []struct{ addr, want string }{{at[2], at[2]}, {at[1], at[1]}, {":80", at[0]}} {
		ln := must[net.Listener](t)(s.Listen(HTTP, tc.addr))
		if got := ln.Addr().String(); got != tc.want {
			t.Errorf("for %s it is %s, want %s", tc.addr, got, tc.want)
		}
		ln.Close()
	}
}

// A socket of the process before that listens at the port of a new address stands in
// nobody's way.
func TestAnAddressThatBecomesWider(t *testing.T) {
	before := &Sockets{}
	one := must[net.Listener](t)(before.Listen(HTTP, "127.0.0.1:0"))
	defer one.Close()
	_, port, err := net.SplitHostPort(one.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	took := awaited(t, before, dir)
	after, predecessor, err := Take(t.Context(), dir, func(s *Sockets) error { return s.Claim(HTTP, "0.0.0.0:"+port) })
	if err != nil {
		t.Fatal(err)
	}
	one.Close()
	next := <-took
	next.Release()
	if err := predecessor.Wait(t.Context()); err != nil {
		t.Fatal(err)
	}
	must[net.Listener](t)(after.Listen(HTTP, "0.0.0.0:"+port)).Close() // while the process before may come back
	serving(t, predecessor, next)
	if rest := after.CloseRest(); len(rest) > 0 {
		t.Errorf("left over: %q", rest)
	}
}
