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

// Event is what the place gets.
type event struct {
	ID       string `json:"id"`
	Order    int    `json:"order"`
	Customer string `json:"customer"`
}

// place is where events are sent to. Its methods are safe for concurrent use.
type place struct {
	mu     sync.Mutex // guards the rest
	ids    map[string]bool
	orders map[int]bool
	last   map[string]int // order of the newest first delivery, by customer
	twice  int            // deliveries of an event that was there
	late   int            // first deliveries after a later one of the same customer
}

func newPlace() *place {
	return &place{ids: map[string]bool{}, orders: map[int]bool{}, last: map[string]int{}}
}

// take notes one delivery.
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

// known is how many different events have come.
func (p *place) known() int {
	p.mu.Lock()
	defer p.mu.Unlock()
	return len(p.ids)
}

// ServeHTTP takes events, one in a line, and acknowledges all of them.
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

// serve has p listen until ctx ends, and returns its URL.
func (p *place) serve(ctx context.Context) (url string, stop func(), err error) {
	ln, err := (&net.ListenConfig{}).Listen(ctx, "tcp", "127.0.0.1:0")
	if err != nil {
		return "", nil, fmt.Errorf("the place that events are sent to: %w", err)
	}
	s := &http.Server{Handler: p, ReadHeaderTimeout: time.Minute}
	done := make(chan struct{})
	go func() {
		defer close(done)
		_ = s.Serve(ln) // ends with Close
	}()
	return "http://" + ln.Addr().String(), func() { _ = s.Close(); <-done }, nil
}

// sender sends events to a place.
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
