package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"net"
	"net/http"
	"strings"
	"sync"
	"time"

	"github.com/bezoar-dev/bezoar/bench/internal/openloop"
)

const (
	lead     = 3 * time.Second  // good traffic before the attack, not counted
	patience = 40 * time.Second // how long a caller waits: longer than Bezoar's own limits
	maxOpen  = 4096             // requests without an answer; more are not sent and have failed
	maxReply = 64 << 10
)

// A stream says what is sent when.
type stream struct {
	rate  float64                        // per second; 0: once
	burst int                            // how many each time; 0 means 1
	after time.Duration                  // from the begin of the attack to the first
	make  func(n int, r *rand.Rand) shot // the n-th
	// serve sends the shot in place of an ordinary call, and counts what comes of it.
	serve func(ctx context.Context, c *crowd, s *shot, until time.Time)
}

// A crowd sends to one proxy, at fixed times whatever the answers (open loop).
type crowd struct {
	url   string
	tally *tally
	names bool // callers say who they are by X-Api-Key
	http2 bool // they speak HTTP/2 from the first byte

	mu      sync.Mutex // guards clients
	clients map[string]*http.Client
	open    chan struct{}
	senders sync.WaitGroup
	wg      sync.WaitGroup // of what is under way
}

func newCrowd(addr string, t *tally, names bool) *crowd {
	return &crowd{
		url: "http://" + addr, tally: t, names: names,
		clients: map[string]*http.Client{}, open: make(chan struct{}, maxOpen),
	}
}

// client returns the client that sends from a local address.
func (c *crowd) client(addr string) *http.Client {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.clients[addr] == nil {
		d := &net.Dialer{Timeout: 5 * time.Second, LocalAddr: &net.TCPAddr{IP: net.ParseIP(addr)}}
		transport := &http.Transport{
			DialContext: d.DialContext, MaxIdleConns: 1024, MaxIdleConnsPerHost: 1024, DisableCompression: true,
		}
		if c.http2 {
			transport.Protocols = new(http.Protocols)
			transport.Protocols.SetUnencryptedHTTP2(true)
		}
		c.clients[addr] = &http.Client{Timeout: patience, Transport: transport}
	}
	return c.clients[addr]
}

// close ends idle connections.
func (c *crowd) close() {
	for _, client := range c.clients {
		client.CloseIdleConnections()
	}
}

// play sends one stream from its begin until end. seed makes its chance the same
// in every run.
func (c *crowd) play(ctx context.Context, s stream, seed uint64, begin, end time.Time) {
	r := rand.New(rand.NewPCG(seed, 2))
	n := 0
	fire := func(at time.Time) {
		c.tally.late(time.Since(at))
		for range max(1, s.burst) {
			one := s.make(n, r)
			n++
			if s.serve != nil {
				c.wg.Go(func() { s.serve(ctx, c, &one, end) })
				continue
			}
			c.launch(ctx, one, at)
		}
	}
	begin = begin.Add(s.after)
	interval := end.Sub(begin) + 1
	if s.rate > 0 {
		interval = time.Duration(float64(time.Second) / s.rate)
	}
	openloop.Every(ctx, begin, end, interval, fire)
}

// launch sends one request from a goroutine of its own.
func (c *crowd) launch(ctx context.Context, s shot, at time.Time) {
	id := c.tally.begun(&s)
	select {
	case c.open <- struct{}{}:
	default:
		c.tally.ended(&s, at, ending{said: "no room"})
		return
	}
	c.wg.Go(func() {
		defer func() { <-c.open }()
		from := time.Now()
		how := c.call(ctx, &s, id)
		how.took = time.Since(from)
		c.tally.ended(&s, at, how)
	})
}

// An ending is what a caller got.
type ending struct {
	said    string // "200", "503", "broken", "no answer"
	took    time.Duration
	rule    string // that refused, as the problem document names it
	verdict string // by which it was refused
	reason  string // as the problem document gives it
	text    string // the error, or the beginning of an answer that is neither 2xx nor a problem
}

func (e *ending) ok() bool { return strings.HasPrefix(e.said, "2") || e.said == "101" }

// refused reports whether the proxy did not want to serve the request, or did not
// come to it.
func (e *ending) refused() bool { return e.said == "503" || e.said == "429" }

func (c *crowd) call(ctx context.Context, s *shot, id string) ending {
	// A body that is there, be it empty, and that cannot be had again keeps Go's
	// transport from sending the request twice by itself.
	var body io.Reader = struct{ io.Reader }{strings.NewReader(s.body)}
	if s.drip > 0 {
		body = &dripper{text: s.body, over: s.drip, done: ctx.Done()}
	}
	req, err := http.NewRequestWithContext(ctx, s.method, c.url+s.target, body)
	if err != nil {
		return ending{said: "no request", text: err.Error()}
	}
	req.ContentLength = int64(len(s.body))
	c.dress(req.Header, s, id)
	resp, err := c.client(s.who.addr).Do(req)
	if err != nil {
		return ending{said: fault(err), text: err.Error()}
	}
	defer resp.Body.Close()
	text, err := io.ReadAll(io.LimitReader(resp.Body, maxReply))
	if err != nil {
		return ending{said: fault(err), text: err.Error()}
	}
	if strings.HasPrefix(resp.Header.Get("Content-Type"), grpc) {
		return readCall(resp)
	}
	return read(resp, text)
}

// dress puts on what the caller sends with every request, and the shot's own.
func (c *crowd) dress(h http.Header, s *shot, id string) {
	h.Set("User-Agent", s.who.agent)
	h.Set("Accept", "*/*")
	h.Set("Cookie", s.who.cookie)
	h.Set("X-Request-Id", id)
	if c.names {
		h.Set("X-Api-Key", s.who.key)
	}
	if s.who.theme != "" {
		h.Set("X-Theme", s.who.theme)
	}
	if s.body != "" {
		h.Set("Content-Type", "application/json")
	}
	if s.idem != "" {
		h.Set("Idempotency-Key", s.idem)
	}
	for _, f := range s.header {
		h.Set(f[0], f[1])
	}
}

// read makes an ending of an answer.
func read(resp *http.Response, text []byte) ending {
	e := ending{said: fmt.Sprint(resp.StatusCode)}
	if e.ok() {
		return e
	}
	var problem struct{ Type, Rule, ID, Reason string }
	if json.Unmarshal(text, &problem) != nil || problem.Type == "" {
		e.text = string(text[:min(len(text), 200)])
		return e
	}
	e.rule, e.verdict, e.reason = problem.Rule, problem.ID, problem.Reason
	if e.rule == "" {
		e.rule = problem.Type[strings.LastIndexByte(problem.Type, ':')+1:]
	}
	return e
}

func fault(err error) string {
	var timeout net.Error
	if errors.As(err, &timeout) && timeout.Timeout() {
		return "no answer"
	}
	return "broken"
}

// dripper gives all of a text but its last 64 bytes at once, and these one by one.
type dripper struct {
	text string
	over time.Duration
	done <-chan struct{}
	at   int
}

const dripped = 64

func (d *dripper) Read(p []byte) (int, error) {
	if d.at == len(d.text) {
		return 0, io.EOF
	}
	if head := len(d.text) - dripped; d.at < head {
		n := copy(p, d.text[d.at:head])
		d.at += n
		return n, nil
	}
	select {
	case <-time.After(d.over / dripped):
	case <-d.done:
		return 0, context.Canceled
	}
	p[0] = d.text[d.at]
	d.at++
	return 1, nil
}
