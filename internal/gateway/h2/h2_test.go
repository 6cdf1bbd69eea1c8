package h2

import (
	"bytes"
	"context"
	"errors"
	"io"
	"net"
	"net/http"
	"net/url"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"golang.org/x/net/http2"
	"golang.org/x/net/http2/hpack"
)

// scripted is a worker that answers each request as script says, by its path.
func scripted(t *testing.T, script func(path string, f *http2.Framer, stream uint32) (goOn bool)) (addr string, requests *atomic.Int64) {
	t.Helper()
	ln, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	requests = new(atomic.Int64)
	var wg sync.WaitGroup
	wg.Go(func() {
		for {
			conn, err := ln.Accept()
			if err != nil {
				return
			}
			wg.Go(func() {
				defer conn.Close()
				serveScript(conn, requests, script)
			})
		}
	})
	t.Cleanup(func() { ln.Close(); wg.Wait() })
	return ln.Addr().String(), requests
}

func serveScript(conn net.Conn, requests *atomic.Int64, script func(string, *http2.Framer, uint32) bool) {
	preface := make([]byte, len(http2.ClientPreface))
	if _, err := io.ReadFull(conn, preface); err != nil {
		return
	}
	f := http2.NewFramer(conn, conn)
	f.ReadMetaHeaders = hpack.NewDecoder(4096, nil)
	if f.WriteSettings() != nil {
		return
	}
	for {
		frame, err := f.ReadFrame()
		if err != nil {
			return
		}
		if h, ok := frame.(*http2.MetaHeadersFrame); ok {
			requests.Add(1)
			if !script(h.PseudoValue("path"), f, h.StreamID) {
				return
			}
		}
	}
}

// fine answers 204.
func fine(f *http2.Framer, stream uint32) {
	var head bytes.Buffer
	_ = hpack.NewEncoder(&head).WriteField(hpack.HeaderField{Name: ":status", Value: "204"})
	_ = f.WriteHeaders(http2.HeadersFrameParam{StreamID: stream, BlockFragment: head.Bytes(), EndStream: true, EndHeaders: true})
}

func dialTCP(ctx context.Context, addr string) (net.Conn, error) {
	return new(net.Dialer).DialContext(ctx, "tcp", addr)
}

func ask(t *testing.T, p *Pool, path string) (*Place, error) {
	t.Helper()
	place, err := p.Get(t.Context(), time.Time{})
	if err != nil {
		t.Fatal(err)
	}
	req := &http.Request{Method: http.MethodGet, URL: &url.URL{Scheme: "http", Host: "h", Opaque: path}, Header: http.Header{}}
	res, err := place.RoundTrip(req, nil)
	if err == nil {
		res.Body.Close()
	}
	return place, err
}

// A request is sent once, whatever becomes of it; and only what the worker cannot have
// begun counts as not sent.
func TestOneDelivery(t *testing.T) {
	addr, requests := scripted(t, func(path string, f *http2.Framer, stream uint32) bool {
		switch path {
		case "/refused":
			_ = f.WriteRSTStream(stream, http2.ErrCodeRefusedStream)
		case "/reset":
			_ = f.WriteRSTStream(stream, http2.ErrCodeInternal)
		case "/leaving":
			_ = f.WriteGoAway(stream-2, http2.ErrCodeNo, nil)
		case "/dies":
			return false
		default:
			fine(f, stream)
		}
		return true
	})
	p := NewPool(addr, Config{Dial: dialTCP, DialTimeout: time.Minute})
	defer p.Close()
	for i, c := range []struct {
		path         string
		fail, unsent bool
	}{{"/", false, false}, {"/refused", true, true}, {"/reset", true, false}, {"/leaving", true, true}, {"/", false, false}, {"/dies", true, false}, {"/", false, false}} {
		place, err := ask(t, p, c.path)
		if (err != nil) != c.fail || place.Unsent(err) != c.unsent {
			t.Errorf("%s: %v, unsent %v, want %+v", c.path, err, place.Unsent(err), c)
		}
		if n := requests.Load(); n != int64(i+1) {
			t.Fatalf("%s: the worker has seen %d requests, want %d", c.path, n, i+1)
		}
	}
	// What ended before requests that went well is no sign of a worker that dies.
	if alive, broken := p.Conns(); alive != 1 || broken != 0 {
		t.Errorf("%d connections stand and %d broke, want 1 and 0", alive, broken)
	}
	if _, err := ask(t, p, "/dies"); err == nil {
		t.Error("a connection that broke gave an answer")
	}
	if alive, broken := p.Conns(); alive != 0 || broken != 1 {
		t.Errorf("%d connections stand and %d broke, want 0 and 1", alive, broken)
	}
}

// Requests at once share one connection, and one that has ended is replaced.
func TestConnectionsAreShared(t *testing.T) {
	addr, _ := scripted(t, func(_ string, f *http2.Framer, stream uint32) bool { fine(f, stream); return true })
	var dials atomic.Int64
	p := NewPool(addr, Config{DialTimeout: time.Minute, Dial: func(ctx context.Context, addr string) (net.Conn, error) {
		dials.Add(1)
		return dialTCP(ctx, addr)
	}})
	var all sync.WaitGroup
	for range 50 {
		all.Go(func() {
			if _, err := ask(t, p, "/"); err != nil {
				t.Error(err)
			}
		})
	}
	all.Wait()
	if n := dials.Load(); n != 1 {
		t.Errorf("%d connections were made, want 1", n)
	}
	p.Close()
	if place, err := p.Get(t.Context(), time.Time{}); place != nil || !errors.Is(err, ErrPoolClosed) {
		t.Errorf("Get after Close: %v, %v", place, err)
	}
	none := NewPool(addr, Config{Dial: func(context.Context, string) (net.Conn, error) { return nil, io.ErrClosedPipe }})
	if _, err := none.Get(t.Context(), time.Time{}); err == nil || !strings.Contains(err.Error(), addr) {
		t.Errorf("Get without a worker: %v", err)
	}
}
