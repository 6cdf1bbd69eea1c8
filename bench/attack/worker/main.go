// Worker is the Go worker of bench/attack: an ordinary server of net/http on the
// loopback port in $PORT. worker.py does the same in Python.
//
// It works 20 or 30 ms on a request, or as long as ms= in the query says.
// /healthz answers at once, /events is an event stream without an end, /ws a
// WebSocket that echoes.
//
// A request is a pill when the word neon stands in its X-Theme, in a cookie, in q=
// of its query, or in the last 4 KiB of its body; so is a WebSocket message with
// the word. What follows the word says how the worker dies:
//
//	neon        at once
//	neonslow20  after 20 ms of work, without an answer
//	neonlate20  20 ms after its answer
//	neonhang    not by itself: nothing is answered any more, health included
//	neontwice   at the second such request, and answers the first
//	neonoom     for memory, which it takes without end
//	neonconn    at the second such request on one connection, and answers the first
//	neonarm     at the next request, whosever it is: this one is answered
//	neonleak    at the next request once it has answered eight of these
//	neonfire    at once, if it has answered a neonprime; otherwise it answers this one, too
//
// It speaks HTTP/1.1 and, from the first byte of a connection, HTTP/2. To a POST of
// application/grpc it answers as a unary call of gRPC does.
//
// It writes a line to the file $ATTACK_LIVES when it starts ("start PID BUILD"),
// when a pill kills it ("pill …"), and when it is told to end ("told …"). With the
// word bad in the file $ATTACK_BUILD it is healthy and dies of every request. With
// $ATTACK_LEASH it ends with its standard input.
package main

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"os/signal"
	"regexp"
	"runtime"
	"strconv"
	"strings"
	"sync/atomic"
	"syscall"
	"time"

	"github.com/bezoar-dev/bezoar/bench/internal/frame"
)

const (
	usual   = 20 * time.Millisecond
	tick    = 200 * time.Millisecond // between two events of a stream
	tailLen = 4 << 10
)

func main() {
	if err := run(); err != nil {
		fmt.Fprintln(os.Stderr, "worker:", err)
		os.Exit(1)
	}
}

func run() error {
	lives, err := os.OpenFile(os.Getenv("ATTACK_LIVES"), os.O_WRONLY|os.O_APPEND|os.O_CREATE, 0o600)
	if err != nil {
		return fmt.Errorf("open $ATTACK_LIVES: %w", err)
	}
	w := &worker{lives: lives, build: "good", poison: regexp.MustCompile(`neon(?:(late|slow)(\d+)|(hang|oom|twice|conn|arm|leak|prime|fire))?`), hung: make(chan struct{}, 1)}
	if text, err := os.ReadFile(os.Getenv("ATTACK_BUILD")); err == nil {
		w.build = strings.TrimSpace(string(text))
	}
	if os.Getenv("ATTACK_LEASH") != "" {
		go func() {
			_, _ = io.Copy(io.Discard, os.Stdin)
			os.Exit(0)
		}()
	}
	told := make(chan os.Signal, 1)
	signal.Notify(told, syscall.SIGTERM)
	go func() {
		<-told
		w.tell("told")
		os.Exit(0)
	}()
	l, err := net.Listen("tcp", net.JoinHostPort("127.0.0.1", os.Getenv("PORT")))
	if err != nil {
		return err
	}
	w.tell("start")
	server := &http.Server{Handler: w, ConnContext: func(ctx context.Context, _ net.Conn) context.Context {
		return context.WithValue(ctx, onConn{}, new(atomic.Int32))
	}} //nolint:gosec // without time limits, as many are
	server.Protocols = new(http.Protocols)
	server.Protocols.SetHTTP1(true)
	server.Protocols.SetUnencryptedHTTP2(true)
	return server.Serve(l)
}

// onConn is the key of how many requests of some kind a connection has brought.
type onConn struct{}

// leaks is how many neonleak a worker answers before it has no room any more.
const leaks = 8

type worker struct {
	lives  *os.File
	build  string
	poison *regexp.Regexp
	hung   chan struct{} // full when nothing is answered any more
	seen   atomic.Bool   // a request that kills the second time has come
	armed  atomic.Bool   // the next request kills
	primed atomic.Bool   // a request that fires kills
	leaked atomic.Int32  // requests that take memory for good
}

func (wk *worker) tell(what string) {
	fmt.Fprintf(wk.lives, "%s %d %s\n", what, os.Getpid(), wk.build)
}

func (wk *worker) die() {
	wk.tell("pill")
	os.Exit(3)
}

func (wk *worker) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	if len(wk.hung) > 0 {
		select {}
	}
	if r.URL.Path == "/healthz" {
		return
	}
	body, err := io.ReadAll(r.Body)
	if err != nil {
		return // the caller is gone
	}
	if wk.build == "bad" || wk.armed.Load() {
		wk.die()
	}
	if r.URL.Path == "/ws" {
		wk.websocket(w, r)
		return
	}
	late, fused := wk.poisoned(r, body)
	if r.URL.Path == "/events" {
		events(w, r)
		return
	}
	time.Sleep(work(r))
	if strings.HasPrefix(r.Header.Get("Content-Type"), "application/grpc") {
		w.Header().Set("Content-Type", "application/grpc")
		w.Header().Set("Trailer", "Grpc-Status")
		_, _ = w.Write(make([]byte, 5)) // an empty message
		w.Header().Set("Grpc-Status", "0")
		return
	}
	w.Header().Set("Content-Type", "application/json")
	_, _ = io.WriteString(w, "{\"ok\": true}\n")
	if fused {
		_ = http.NewResponseController(w).Flush()
		time.AfterFunc(late, wk.die)
	}
}

// work returns how long a request takes.
func work(r *http.Request) time.Duration {
	if ms, err := strconv.Atoi(r.URL.Query().Get("ms")); err == nil {
		return time.Duration(ms) * time.Millisecond
	}
	switch r.URL.Path {
	case "/search", "/thumb":
		return usual + usual/2
	}
	return usual
}

// poisoned does not return when the request is one that kills before it answers.
func (wk *worker) poisoned(r *http.Request, body []byte) (late time.Duration, fused bool) {
	texts := []string{
		r.Header.Get("X-Theme"), strings.Join(r.Header.Values("Cookie"), " "), r.URL.Query().Get("q"),
		string(body[max(0, len(body)-tailLen):]),
	}
	for _, text := range texts {
		found := wk.poison.FindStringSubmatch(text)
		if found == nil {
			continue
		}
		ms, _ := strconv.Atoi(found[2]) // 0 where there is none
		after := time.Duration(ms) * time.Millisecond
		switch found[1] + found[3] {
		case "late":
			return after, true
		case "slow":
			time.Sleep(after)
		case "hang":
			wk.hung <- struct{}{}
			select {}
		case "twice":
			if !wk.seen.Swap(true) {
				return 0, false
			}
		case "conn":
			if n, ok := r.Context().Value(onConn{}).(*atomic.Int32); ok && n.Add(1) == 1 {
				return 0, false
			}
		case "arm":
			wk.armed.Store(true)
			return 0, false
		case "prime":
			wk.primed.Store(true)
			return 0, false
		case "fire":
			if !wk.primed.Load() {
				return 0, false
			}
		case "leak":
			wk.armed.Store(wk.leaked.Add(1) >= leaks)
			return 0, false
		case "oom":
			wk.tell("pill")
			swell()
			os.Exit(4)
		}
		wk.die()
	}
	return 0, false
}

// swell takes 1 GiB of memory, if it is let.
func swell() {
	var kept [64][]byte
	for i := range kept {
		kept[i] = make([]byte, 16<<20)
		for j := range kept[i] {
			kept[i][j] = byte(j)
		}
	}
	runtime.KeepAlive(kept)
}

func events(w http.ResponseWriter, r *http.Request) {
	w.Header().Set("Content-Type", "text/event-stream")
	next := time.NewTicker(tick)
	defer next.Stop()
	for {
		_, err := io.WriteString(w, "data: t\n\n")
		if err == nil {
			err = http.NewResponseController(w).Flush()
		}
		if err != nil {
			return // the caller is gone
		}
		select {
		case <-next.C:
		case <-r.Context().Done():
			return
		}
	}
}

func (wk *worker) websocket(w http.ResponseWriter, r *http.Request) {
	c, rw, err := http.NewResponseController(w).Hijack()
	if err != nil {
		http.Error(w, err.Error(), http.StatusInternalServerError)
		return
	}
	defer c.Close()
	fmt.Fprintf(c, "HTTP/1.1 101 Switching Protocols\r\nUpgrade: websocket\r\nConnection: Upgrade\r\nSec-WebSocket-Accept: %s\r\n\r\n",
		frame.Accept(r.Header.Get("Sec-WebSocket-Key")))
	in := bufio.NewReader(rw.Reader)
	for {
		op, text, err := frame.Read(in)
		if err != nil {
			return
		}
		if strings.Contains(text, "neon") {
			wk.die()
		}
		if frame.Write(c, op, false, text) != nil || op == frame.Close {
			return
		}
	}
}
