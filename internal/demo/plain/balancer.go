package plain

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"maps"
	"net/http"
	"sync"
	"time"
)

// Bounds and habits of the balancer.
const (
	maxBody  = 1 << 20         // of a request; more is refused with 413
	ejection = 2 * time.Second // a worker whose connection broke gets nothing for so long (nginx: 10 s)
)

// A Balancer is an [http.Handler] over workers that come and go.
type Balancer struct {
	transport *http.Transport

	mu      sync.Mutex // guards the rest
	workers []*worker  // in the order in which they first came
	next    int
}

type worker struct {
	name, addr string
	up         bool
	ejected    time.Time // gets nothing until then
}

// NewBalancer returns a balancer without workers.
func NewBalancer() *Balancer {
	return &Balancer{transport: &http.Transport{
		MaxIdleConnsPerHost: 64, DisableCompression: true, ForceAttemptHTTP2: false,
	}}
}

func (b *Balancer) Close() { b.transport.CloseIdleConnections() }

// Up puts the worker into rotation at addr, host:port.
func (b *Balancer) Up(name, addr string) {
	b.mu.Lock()
	defer b.mu.Unlock()
	for _, w := range b.workers {
		if w.name == name {
			w.addr, w.up, w.ejected = addr, true, time.Time{}
			return
		}
	}
	b.workers = append(b.workers, &worker{name: name, addr: addr, up: true})
}

// Down takes the worker out of rotation.
func (b *Balancer) Down(name string) {
	b.mu.Lock()
	defer b.mu.Unlock()
	for _, w := range b.workers {
		if w.name == name {
			w.up = false
		}
	}
}

// pick returns the next worker in rotation that is not in tried.
func (b *Balancer) pick(tried map[*worker]bool) (w *worker, addr string) {
	b.mu.Lock()
	defer b.mu.Unlock()
	now := time.Now()
	for range b.workers {
		w := b.workers[b.next%len(b.workers)]
		b.next++
		if w.up && now.After(w.ejected) && !tried[w] {
			return w, w.addr
		}
	}
	return nil, ""
}

func (b *Balancer) eject(w *worker) {
	b.mu.Lock()
	defer b.mu.Unlock()
	w.ejected = time.Now().Add(ejection)
}

// ServeHTTP sends r to one worker after the other until one answers.
func (b *Balancer) ServeHTTP(rw http.ResponseWriter, r *http.Request) {
	body, err := io.ReadAll(http.MaxBytesReader(rw, r.Body, maxBody))
	if err != nil {
		http.Error(rw, "the body is too large or broken", http.StatusRequestEntityTooLarge)
		return
	}
	tried := make(map[*worker]bool)
	for {
		w, addr := b.pick(tried)
		if w == nil {
			http.Error(rw, fmt.Sprintf("no worker answered, %d were tried", len(tried)), http.StatusBadGateway)
			return
		}
		tried[w] = true
		resp, err := b.send(r.Context(), addr, r, body)
		if err == nil {
			relay(rw, resp)
			return
		}
		if errors.Is(r.Context().Err(), context.Canceled) {
			return // nobody waits for the answer any more
		}
		b.eject(w)
	}
}

// send sends the request to one worker, once.
func (b *Balancer) send(ctx context.Context, addr string, r *http.Request, body []byte) (*http.Response, error) {
	// The body cannot be had again, so the transport sends nothing twice: how
	// often workers see a request is the balancer's doing alone.
	once := struct{ io.Reader }{bytes.NewReader(body)}
	out, err := http.NewRequestWithContext(ctx, r.Method, "http://"+addr+r.URL.RequestURI(), once)
	if err != nil {
		return nil, err
	}
	out.Header = r.Header.Clone()
	out.Header.Del("Connection")
	if len(body) > 0 {
		out.ContentLength = int64(len(body))
	}
	return b.transport.RoundTrip(out)
}

func relay(rw http.ResponseWriter, resp *http.Response) {
	defer resp.Body.Close()
	maps.Copy(rw.Header(), resp.Header)
	rw.Header().Del("Connection")
	rw.WriteHeader(resp.StatusCode)
	// The caller sees a short answer when the worker dies in the middle of it.
	_, _ = io.Copy(rw, resp.Body)
}
