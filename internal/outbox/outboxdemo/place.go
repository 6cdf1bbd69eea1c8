package outboxdemo

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net"
	"net/http"
	"sync"
	"time"
)

// event is an event as the receiver gets it.
type event struct {
	ID       string `json:"id"`
	Order    int    `json:"order"`
	Customer string `json:"customer"`
}

// place is the receiver of the events. Its methods are safe for concurrent use.
type place struct {
	mu     sync.Mutex // guards the fields below
	ids    map[string]bool
	orders map[int]bool
	last   map[string]int // highest order number among first deliveries, by customer
	twice  int            // repeated deliveries
	late   int            // first deliveries that came after a later one of the same customer
}

func newPlace() *place {
	return &place{ids: map[string]bool{}, orders: map[int]bool{}, last: map[string]int{}}
}

// take counts one delivery.
func (p *place) take(e event) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.ids[e.ID] {
		p.twice++
		return
	}
	p.ids[e.ID], p.orders[e.Order] = true, true
	if e.Order < p.last[e.Customer] {
		p.late++
	}
	p.last[e.Customer] = max(p.last[e.Customer], e.Order)
}

// known returns the number of distinct events received.
func (p *place) known() int {
	p.mu.Lock()
	defer p.mu.Unlock()
	return len(p.ids)
}

// ServeHTTP receives events, one per line, and acknowledges all of them.
func (p *place) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	lines := bufio.NewScanner(r.Body)
	for lines.Scan() {
		var e event
		if err := json.Unmarshal(lines.Bytes(), &e); err != nil {
			http.Error(w, err.Error(), http.StatusBadRequest)
			return
		}
		p.take(e)
	}
	if lines.Err() != nil { // the sender died
		http.Error(w, "cut off", http.StatusBadRequest)
		return
	}
	w.WriteHeader(http.StatusNoContent)
}

// serve makes p listen until ctx ends, and returns its URL.
func (p *place) serve(ctx context.Context) (url string, stop func(), err error) {
	ln, err := (&net.ListenConfig{}).Listen(ctx, "tcp", "127.0.0.1:0")
	if err != nil {
		return "", nil, fmt.Errorf("start the receiver of events: %w", err)
	}
	s := &http.Server{Handler: p, ReadHeaderTimeout: time.Minute}
	done := make(chan struct{})
	go func() {
		defer close(done)
		_ = s.Serve(ln) // returns after Close
	}()
	return "http://" + ln.Addr().String(), func() { _ = s.Close(); <-done }, nil
}

// sender sends events to the receiver.
type sender struct {
	url    string
	client http.Client
}

func (s *sender) send(ctx context.Context, events ...event) error {
	var body bytes.Buffer
	enc := json.NewEncoder(&body)
	for _, e := range events {
		if err := enc.Encode(e); err != nil {
			return err
		}
	}
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, s.url, &body)
	if err != nil {
		return err
	}
	res, err := s.client.Do(req)
	if err != nil {
		return err
	}
	defer res.Body.Close()
	if res.StatusCode != http.StatusNoContent {
		return errors.New(res.Status)
	}
	return nil
}
