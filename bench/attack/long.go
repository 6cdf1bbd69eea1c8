package main

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"net"
	"net/http"
	"strings"
	"time"

	"github.com/bezoar-dev/bezoar/bench/internal/frame"
)

const (
	wsFrames = 4                      // of one innocent session
	wsPause  = 400 * time.Millisecond // between them
	grief    = 2 * time.Second        // who waits longer for a stream has a reason to complain
)

// longRows are attacks on what lasts.
func longRows() []row {
	socket := func(w *world) func(int, *rand.Rand) shot {
		return func(_ int, r *rand.Rand) shot { return get(w.innocent(r), "target", "/ws") }
	}
	return []row{
		{
			name: "ws-pill", what: "a WebSocket message that kills, 1/s; innocents open 4 sessions a second of the same URL",
			bound: bound{text: "≤ 4 deaths, innocents of /ws go on", deaths: 4, target: 100},
			also:  func(w *world) []stream { return []stream{{rate: 4, make: socket(w), serve: session}} },
			evil: func(w *world) []stream {
				return []stream{{rate: 1, serve: session, make: func(int, *rand.Rand) shot {
					s := w.pill(get(nil, "", "/ws"))
					s.body = neon
					return s
				}}}
			},
		},
		{
			name: "streams", what: "12 event streams of innocents, who reconnect at once, and two unique pills",
			bound: bound{text: "reconnects at once (< 3 s)", deaths: noBound, target: 100, connect: 3 * time.Second},
			also: func(w *world) []stream {
				return []stream{{burst: 12, make: func(n int, r *rand.Rand) shot {
					return get(w.innocent(r), "target", "/events?feed=%d", n%3)
				}, serve: follow}}
			},
			evil: func(w *world) []stream {
				pill := func(n int, _ *rand.Rand) shot { return w.pill(get(nil, "", "/search?q=%s-%d", neon, n)) }
				second := func(n int, r *rand.Rand) shot { return pill(n+1, r) }
				return []stream{{after: 2 * time.Second, make: pill}, {after: 7 * time.Second, make: second}}
			},
		},
		{
			name: "drip", what: "uploads of 100 KB that drip for 8 s and then kill, and GETs that kill after 3 s, no two alike, 0.25/s each",
			bound: bound{text: "≤ 6 deaths, good ≥ 99 %", deaths: 6, good: 99}, peers: true,
			evil: func(w *world) []stream {
				return []stream{
					{rate: 0.25, make: func(n int, _ *rand.Rand) shot {
						s := w.pill(post(nil, "", "/upload", "%s%s", strings.Repeat(fmt.Sprintf("%09d ", n), 10_000), neon))
						s.drip = 8 * time.Second
						return s
					}},
					{rate: 0.25, after: time.Second, make: func(n int, _ *rand.Rand) shot {
						return w.pill(get(nil, "", "/search?q=%sslow3000-%d", neon, n))
					}},
				}
			},
		},
	}
}

// errEnded says that a WebSocket ended before its time.
var errEnded = errors.New("ended")

// session opens a WebSocket, has some messages echoed and says goodbye. An
// attacker's ends with its body as a message.
func session(ctx context.Context, c *crowd, s *shot, _ time.Time) {
	at := time.Now()
	id := c.tally.begun(s)
	ctx, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	conn, in, how := c.upgrade(ctx, s, id)
	how.took = time.Since(at)
	if conn == nil {
		c.tally.ended(s, at, how)
		return
	}
	defer conn.Close()
	err := talk(ctx, conn, in, s)
	if s.pill && err != nil {
		how.said = "broken"
	}
	c.tally.ended(s, at, how)
	if err != nil && !s.pill {
		c.tally.broke(s.class, at)
	}
}

// upgrade asks for a WebSocket. Without one it says what came instead.
func (c *crowd) upgrade(ctx context.Context, s *shot, id string) (net.Conn, *bufio.Reader, ending) {
	req, err := http.NewRequestWithContext(ctx, s.method, c.url+s.target, nil)
	if err != nil {
		return nil, nil, ending{said: "no request", text: err.Error()}
	}
	plain := *s
	plain.body = "" // it is a message
	c.dress(req.Header, &plain, id)
	for name, value := range map[string]string{
		"Connection": "Upgrade", "Upgrade": "websocket", "Sec-WebSocket-Version": "13",
		"Sec-WebSocket-Key": fmt.Sprintf("%sAAAAAA==", id),
	} {
		req.Header.Set(name, value)
	}
	d := net.Dialer{LocalAddr: &net.TCPAddr{IP: net.ParseIP(s.who.addr)}}
	conn, err := d.DialContext(ctx, "tcp", strings.TrimPrefix(c.url, "http://"))
	if err != nil {
		return nil, nil, ending{said: fault(err), text: err.Error()}
	}
	if by, ok := ctx.Deadline(); ok {
		err = conn.SetDeadline(by)
	}
	in := bufio.NewReader(conn)
	var resp *http.Response
	if err == nil {
		err = req.Write(conn)
	}
	if err == nil {
		resp, err = http.ReadResponse(in, req)
	}
	if err != nil {
		conn.Close()
		return nil, nil, ending{said: fault(err), text: err.Error()}
	}
	defer resp.Body.Close()
	if resp.StatusCode == http.StatusSwitchingProtocols {
		return conn, in, ending{said: "101"}
	}
	text, _ := io.ReadAll(io.LimitReader(resp.Body, maxReply)) // what is cut short is shown so
	conn.Close()
	return nil, nil, read(resp, text)
}

// talk has messages echoed, and says goodbye.
func talk(ctx context.Context, conn net.Conn, in *bufio.Reader, s *shot) error {
	for i := range wsFrames {
		text := fmt.Sprintf("hello %d", i)
		if i == 1 && s.pill {
			text = s.body
		}
		if err := frame.Write(conn, frame.Text, true, text); err != nil {
			return err
		}
		if op, echo, err := frame.Read(in); err != nil || op != frame.Text || echo != text {
			return errors.Join(errEnded, err)
		}
		select {
		case <-time.After(wsPause):
		case <-ctx.Done():
			return ctx.Err()
		}
	}
	if err := frame.Write(conn, frame.Close, true, "\x03\xe8"); err != nil {
		return err
	}
	if op, _, err := frame.Read(in); err != nil || op != frame.Close {
		return errors.Join(errEnded, err)
	}
	return nil
}

// follow keeps an event stream open until the end, and connects again when it
// breaks, after a second when it was refused. Each time counts as one request,
// answered with the first event.
func follow(ctx context.Context, c *crowd, s *shot, until time.Time) {
	ctx, cancel := context.WithDeadline(ctx, until)
	defer cancel()
	for ctx.Err() == nil {
		at := time.Now()
		began, how := c.events(ctx, s, c.tally.begun(s), func(took time.Duration) {
			c.tally.ended(s, at, ending{said: "200", took: took})
		})
		how.took = time.Since(at)
		wait := 50 * time.Millisecond
		switch {
		case began && ctx.Err() == nil:
			c.tally.broke(s.class, time.Now())
		case !began && (ctx.Err() == nil || how.took > grief):
			c.tally.ended(s, at, how)
			wait = time.Second
		}
		select {
		case <-time.After(wait):
		case <-ctx.Done():
		}
	}
}

// events reads one stream until it ends. first is told when the first event is
// there.
func (c *crowd) events(ctx context.Context, s *shot, id string, first func(time.Duration)) (began bool, how ending) {
	from := time.Now()
	req, err := http.NewRequestWithContext(ctx, s.method, c.url+s.target, nil)
	if err != nil {
		return false, ending{said: "no request", text: err.Error()}
	}
	c.dress(req.Header, s, id)
	req.Header.Set("Accept", "text/event-stream")
	// Without the client's patience, which is for whole answers.
	resp, err := c.client(s.who.addr).Transport.RoundTrip(req)
	if err != nil {
		return false, ending{said: fault(err), text: err.Error()}
	}
	defer resp.Body.Close()
	if resp.StatusCode != http.StatusOK {
		text, _ := io.ReadAll(io.LimitReader(resp.Body, maxReply)) // what is cut short is shown so
		return false, read(resp, text)
	}
	for in := bufio.NewScanner(resp.Body); in.Scan(); {
		if !began {
			began = true
			first(time.Since(from))
		}
	}
	return began, ending{said: "broken"}
}
