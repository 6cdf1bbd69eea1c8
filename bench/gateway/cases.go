package main

import (
	"context"
	"fmt"
	"io"
	"math/rand/v2"
	"net/http"
	"os"
	"slices"
	"strings"
	"time"

	"github.com/bezoar-dev/bezoar/bench/internal/calls"
	"github.com/bezoar-dev/bezoar/bench/internal/peer"
	"github.com/bezoar-dev/bezoar/internal/each"
	"github.com/bezoar-dev/bezoar/internal/test/bodies"
)

// A Case is one kind of request.
type Case struct {
	Name   string
	What   string // for people
	Method string
	Body   int       // bytes of JSON
	New    bool      // bodies as APIs get them, of which none comes twice
	Answer int       // bytes of the worker's; 0: two
	Calls  string    // of this kind, as package calls says; "": requests of wrk
	Wire   peer.Wire // what is spoken
}

func cases() []Case {
	return []Case{
		{Name: "get", What: "GET, no body", Method: "GET"},
		{Name: "post-1k", What: "POST, 1 KB of JSON", Method: "POST", Body: 1 << 10},
		{Name: "post-4k", What: "POST, 4 KB of JSON", Method: "POST", Body: 4 << 10},
		{Name: "post-64k", What: "POST, 64 KB of JSON", Method: "POST", Body: 64 << 10},
		{Name: "post-1k-new", What: "POST, 1 KB of JSON that never repeats", Method: "POST", Body: 1 << 10, New: true},
		{Name: "post-4k-new", What: "POST, 4 KB of JSON that never repeats", Method: "POST", Body: 4 << 10, New: true},
		{Name: "post-64k-new", What: "POST, 64 KB of JSON that never repeats", Method: "POST", Body: 64 << 10, New: true},
		{Name: "answer-64k", What: "GET, answers of 64 KB", Method: "GET", Answer: 64 << 10},
		{Name: "tls", What: "GET by TLS", Method: "GET", Wire: peer.Wire{TLS: true}},
		{Name: "grpc", What: "unary gRPC", Calls: calls.GRPC, Wire: peer.Wire{GRPC: true}},
		{Name: "websocket", What: "WebSocket echo, per message", Calls: calls.WebSocket, Wire: peer.Wire{Upgrade: true}},
	}
}

func caseNames() string {
	return strings.Join(each.Of(cases(), func(c Case) string { return c.Name }), ",")
}

func parseCases(text string) ([]Case, error) {
	var picked []Case
	for name := range strings.SplitSeq(text, ",") {
		i := slices.IndexFunc(cases(), func(c Case) bool { return c.Name == name })
		if i < 0 {
			return nil, fmt.Errorf("cases: %q is unknown, want some of %s", name, caseNames())
		}
		picked = append(picked, cases()[i])
	}
	return picked, nil
}

// answer is the bytes of a worker's answer.
func (c Case) answer() int {
	if c.Answer == 0 {
		return 2
	}
	return c.Answer
}

// check sends one request of the case and reports what is wrong with the answer:
// a proxy that answers faster because it answers something else is not measured.
func (c Case) check(ctx context.Context, p *peer.Proxy) error {
	ctx, cancel := context.WithTimeout(ctx, 10*time.Second)
	defer cancel()
	if c.Calls != "" {
		f, err := calls.Run(ctx, calls.Config{Kind: c.Calls, Addr: p.Addr, Callers: 1, Length: time.Minute, Most: 1})
		if err == nil && (f.Requests != 1 || f.Broken+f.Refused > 0) {
			err = fmt.Errorf("one call became %+v", f)
		}
		return err
	}
	req, err := http.NewRequestWithContext(ctx, c.Method, p.URL()+"/items/1", strings.NewReader(jsonOf(c.Body)))
	if err != nil {
		return err
	}
	if c.Body > 0 {
		req.Header.Set("Content-Type", "application/json")
	}
	transport := p.Wire.Transport()
	defer transport.CloseIdleConnections()
	resp, err := transport.RoundTrip(req)
	if err != nil {
		return err
	}
	defer resp.Body.Close()
	n, err := io.Copy(io.Discard, resp.Body)
	if err != nil {
		return err
	}
	if resp.StatusCode != http.StatusOK || n != int64(c.answer()) {
		return fmt.Errorf("status %d with %d bytes, want 200 with %d", resp.StatusCode, n, c.answer())
	}
	return nil
}

// maxBodies bounds the bytes of the bodies of which a case makes new ones.
const maxBodies = 8 << 20

// writeBodies writes bodies for the load, one in each line.
func (c Case) writeBodies(path string) error {
	r := rand.New(rand.NewPCG(1, uint64(c.Body)))
	var all []byte
	for range min(512, maxBodies/c.Body) {
		all = append(append(all, bodies.Make(r, c.Body)...), '\n')
	}
	if err := os.WriteFile(path, all, 0o600); err != nil {
		return fmt.Errorf("write bodies: %w", err)
	}
	return nil
}

// jsonOf is JSON of so many bytes, or nothing.
func jsonOf(size int) string {
	const frame = `{"x":""}`
	if size < len(frame) {
		return ""
	}
	return frame[:6] + strings.Repeat("x", size-len(frame)) + frame[6:]
}
