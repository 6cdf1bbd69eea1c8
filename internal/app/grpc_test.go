package app_test

import (
	"context"
	"crypto/x509"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"slices"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"google.golang.org/genproto/googleapis/rpc/errdetails"
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/credentials"
	"google.golang.org/grpc/credentials/insecure"
	"google.golang.org/grpc/health"
	healthpb "google.golang.org/grpc/health/grpc_health_v1"
	"google.golang.org/grpc/metadata"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/types/known/wrapperspb"

	"github.com/bezoar-dev/bezoar"
)

type text = wrapperspb.StringValue

// echoService is a service of gRPC that says what it is told.
func echoService() *grpc.ServiceDesc {
	return &grpc.ServiceDesc{
		ServiceName: "test.Echo",
		HandlerType: (*any)(nil),
		Methods: []grpc.MethodDesc{{
			MethodName: "Say",
			Handler: func(_ any, ctx context.Context, read func(any) error, _ grpc.UnaryServerInterceptor) (any, error) {
				in := new(text)
				if err := read(in); err != nil {
					return nil, err
				}
				return say(ctx, in.Value)
			},
		}},
		Streams: []grpc.StreamDesc{{
			StreamName:    "Chat",
			ServerStreams: true, ClientStreams: true,
			Handler: func(_ any, s grpc.ServerStream) error {
				for {
					in := new(text)
					if err := s.RecvMsg(in); errors.Is(err, io.EOF) {
						s.SetTrailer(metadata.Pairs("x-end", "bye"))
						return nil
					} else if err != nil {
						return err
					}
					out, err := say(s.Context(), in.Value)
					if err != nil {
						return err
					}
					if err := s.SendMsg(out); err != nil {
						return err
					}
				}
			},
		}},
	}
}

func say(ctx context.Context, what string) (*text, error) {
	kind, _, _ := strings.Cut(what, " ")
	switch kind {
	case "crash":
		_ = syscall.Kill(os.Getpid(), syscall.SIGSEGV)
		select {}
	case "wrong":
		return nil, status.Error(codes.InvalidArgument, "that is wrong: 100 %")
	case "forever":
		<-ctx.Done()
		return nil, status.FromContextError(ctx.Err()).Err()
	case "slow":
		<-time.After(100 * time.Millisecond)
	case "left":
		by, ok := ctx.Deadline()
		return wrapperspb.String(fmt.Sprint(ok && time.Until(by) > 0 && time.Until(by) <= time.Minute)), nil
	}
	_ = grpc.SetHeader(ctx, metadata.Pairs("x-begin", "hello"))
	_ = grpc.SetTrailer(ctx, metadata.Pairs("x-end", "bye"))
	return wrapperspb.String(what), nil
}

// grpcWorker is a worker that speaks gRPC.
func grpcWorker() int {
	ln, err := net.Listen("tcp", "127.0.0.1:"+os.Getenv("PORT"))
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	s := grpc.NewServer()
	s.RegisterService(echoService(), nil)
	healthpb.RegisterHealthServer(s, health.NewServer())
	fmt.Fprintln(os.Stderr, s.Serve(ln))
	return 1
}

// caller is a client of gRPC.
type caller struct {
	t  *testing.T
	cc *grpc.ClientConn
}

// dialGRPC trusts who is to be trusted; without that there is no TLS.
func dialGRPC(t *testing.T, addr string, trust *x509.CertPool) caller {
	t.Helper()
	creds := insecure.NewCredentials()
	if trust != nil {
		creds = credentials.NewClientTLSFromCert(trust, "localhost")
	}
	cc, err := grpc.NewClient(addr, grpc.WithTransportCredentials(creds), grpc.WithDisableRetry())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { cc.Close() })
	return caller{t, cc}
}

func (c caller) say(ctx context.Context, what string, opts ...grpc.CallOption) (string, error) {
	ctx, cancel := context.WithTimeout(ctx, 50*time.Second)
	defer cancel()
	out := new(text)
	err := c.cc.Invoke(ctx, "/test.Echo/Say", wrapperspb.String(what), out, opts...)
	return out.Value, err
}

func (c caller) chat(ctx context.Context) grpc.ClientStream {
	c.t.Helper()
	s, err := c.cc.NewStream(ctx, &echoService().Streams[0], "/test.Echo/Chat")
	if err != nil {
		c.t.Fatal(err)
	}
	return s
}

// talk says something on a stream and returns what comes back.
func talk(s grpc.ClientStream, what string) (string, error) {
	if err := s.SendMsg(wrapperspb.String(what)); err != nil && !errors.Is(err, io.EOF) {
		return "", err
	}
	out := new(text)
	err := s.RecvMsg(out)
	return out.Value, err
}

// TestGRPC: a client and servers of grpc-go, with Bezoar between them: calls,
// streams, metadata, statuses and deadlines are as without it; what Bezoar refuses has
// a status; a pill among the calls of one connection is the only one convicted.
func TestGRPC(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	cert, key, trust := keyPair(t, dir)
	b := serve(t, head("memory:", dir)+fmt.Sprintf(`listen: 127.0.0.1:0
tls: {cert: %q, key: %q}
listeners: [{listen: 127.0.0.1:0, plain: true}]
fleets:
  echo:
    command: [%q]
    env: {%s: grpc}
    replicas: 3
    http2: true
    health: {grpc: "*"}
  down: {workers: ["unix:%s/none.sock"], http2: true}
routes:
  - {match: {path: /test.Echo/*}, fleet: echo, retry: {replay: all}}
  - {match: {path: /test.Down/*}, fleet: down, timeout: 2s}
`, cert, key, self(t), roleVar, dir))
	plain := dialGRPC(t, b.app.MoreAddrs()[0], nil)
	byTLS := dialGRPC(t, b.app.Addr(), trust)
	b.until("a worker answers", func() bool { got, err := plain.say(t.Context(), "hi"); return err == nil && got == "hi" })
	for _, c := range []caller{plain, byTLS} {
		c.unary()
		c.streams()
		c.refusals()
	}
	plain.pill(b, byTLS)
}

func (c caller) unary() {
	var begin, end metadata.MD
	got, err := c.say(c.t.Context(), "hello", grpc.Header(&begin), grpc.Trailer(&end))
	if err != nil || got != "hello" || strings.Join(begin["x-begin"], "") != "hello" || strings.Join(end["x-end"], "") != "bye" {
		c.t.Errorf("a call: %q, %v, head %v, trailers %v", got, err, begin, end)
	}
	long := strings.Repeat("long ", 500_000)
	if got, err := c.say(c.t.Context(), long); err != nil || got != long {
		c.t.Errorf("a long call: %d bytes, %v", len(got), err)
	}
	_, err = c.say(c.t.Context(), "wrong")
	if s := status.Convert(err); s.Code() != codes.InvalidArgument || s.Message() != "that is wrong: 100 %" {
		c.t.Errorf("a status of the server: %v", err)
	}
	if got, err := c.say(c.t.Context(), "left"); err != nil || got != "true" {
		c.t.Errorf("what is left of the deadline: %q, %v", got, err)
	}
	ctx, cancel := context.WithTimeout(c.t.Context(), 300*time.Millisecond)
	defer cancel()
	if _, err := c.say(ctx, "forever"); status.Code(err) != codes.DeadlineExceeded {
		c.t.Errorf("after the deadline: %v", err)
	}
}

func (c caller) streams() {
	ctx, cancel := context.WithTimeout(c.t.Context(), 50*time.Second)
	defer cancel()
	s := c.chat(ctx)
	for _, what := range []string{"one", "two", "three"} {
		if got, err := talk(s, what); err != nil || got != what {
			c.t.Fatalf("on a stream: %q, %v", got, err)
		}
	}
	if err := s.CloseSend(); err != nil {
		c.t.Error(err)
	}
	if err := s.RecvMsg(new(text)); !errors.Is(err, io.EOF) || len(s.Trailer()["x-end"]) != 4 {
		c.t.Errorf("the end of a stream: %v, trailers %v", err, s.Trailer())
	}
	s = c.chat(ctx)
	if _, err := talk(s, "one"); err != nil {
		c.t.Error(err)
	}
	if _, err := talk(s, "wrong"); status.Code(err) != codes.InvalidArgument { // while the caller could go on
		c.t.Errorf("a stream that the server ends: %v", err)
	}
	long := wrapperspb.String(strings.Repeat("long ", 20_000))
	for range 20 {
		s := c.chat(ctx)
		err := s.SendMsg(wrapperspb.String("wrong"))
		for err == nil { // until the caller notices
			err = s.SendMsg(long)
		}
		if err := s.RecvMsg(new(text)); status.Code(err) != codes.InvalidArgument {
			c.t.Fatalf("a stream that the server ends while the caller sends: %v", err)
		}
	}
}

func (c caller) refusals() {
	for method, want := range map[string]codes.Code{"/other.Service/Do": codes.Unimplemented, "/test.Down/Do": codes.Unavailable} {
		err := c.cc.Invoke(c.t.Context(), method, wrapperspb.String("x"), new(text))
		if s := status.Convert(err); s.Code() != want || !strings.Contains(s.Message(), "o worker") && !strings.Contains(s.Message(), "o route") {
			c.t.Errorf("%s: %v, want %v", method, err, want)
		}
	}
}

// details checks what a refusal says by the messages that clients of gRPC know.
func details(t *testing.T, err error) {
	t.Helper()
	s := status.Convert(err)
	var info *errdetails.ErrorInfo
	var retry *errdetails.RetryInfo
	for _, d := range s.Details() {
		switch d := d.(type) {
		case *errdetails.ErrorInfo:
			info = d
		case *errdetails.RetryInfo:
			retry = d
		default:
			t.Errorf("a detail: %v", d)
		}
	}
	if info.GetReason() != "QUARANTINE" || info.GetDomain() != "bezoar" || !strings.HasPrefix(info.GetMetadata()["quarantine"], "q-") || info.GetMetadata()["request"] == "" {
		t.Errorf("the reason: %v", info)
	}
	if d := retry.GetRetryDelay().AsDuration(); d < time.Second || d > 2*time.Minute {
		t.Errorf("try again after %v", d)
	}
}

// pill has innocent calls and one that kills at once on one connection, and streams
// beside them, half of them on another: 100 calls in the long run, since a third of them has to go through the
// lane.
func (c caller) pill(b *node, other caller) {
	t, number := c.t, 24
	if os.Getenv("BEZOAR_SOAK") != "" {
		number = 100
	}
	ctx, cancel := context.WithTimeout(t.Context(), 100*time.Second)
	defer cancel()
	var open []grpc.ClientStream
	for i := range 12 {
		s := []caller{c, other}[i%2].chat(ctx)
		if _, err := talk(s, fmt.Sprint("open ", i)); err != nil {
			t.Fatal(err)
		}
		open = append(open, s)
	}
	var calls sync.WaitGroup
	for i := range number {
		calls.Go(func() {
			pill, what := i == number/2, fmt.Sprint("slow ", i)
			if pill {
				what = "crash"
			}
			got, err := c.say(ctx, what)
			switch {
			case pill && (status.Code(err) != codes.Unavailable || !strings.Contains(err.Error(), "quarantine")):
				t.Errorf("the pill: %q, %v", got, err)
			case pill:
				details(t, err)
			case !pill && (err != nil || got != what):
				t.Errorf("an innocent call: %q, %v", got, err)
			}
		})
	}
	calls.Wait()
	all, err := b.admin.Verdicts(ctx, "")
	all = slices.DeleteFunc(all, func(v bezoar.Verdict) bool { return v.State == "suspect" })
	if err != nil || len(all) != 1 {
		t.Errorf("convicted: %+v, %v, want one", all, err)
	}
	broken := 0
	for i, s := range open {
		switch got, err := talk(s, fmt.Sprint("still ", i)); {
		case err == nil && got == fmt.Sprint("still ", i):
		case status.Code(err) == codes.Unavailable, status.Code(err) == codes.Internal: // its worker died
			broken++
		default:
			t.Errorf("an open stream: %q, %v", got, err)
		}
		if _, err := c.say(ctx, fmt.Sprint("open ", i)); err != nil {
			t.Errorf("what was said on a stream: %v", err)
		}
	}
	if broken == len(open) {
		t.Errorf("all %d streams broke", broken)
	}
}
