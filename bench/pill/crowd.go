package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/bezoar-dev/bezoar/bench/internal/openloop"
)

const (
	lead     = 2 * time.Second  // good traffic before the first pill, not counted
	patience = 10 * time.Second // how long a caller waits
	maxOpen  = 8192             // requests without an answer; more are not sent and have failed
	maxNotes = 12               // requests that -explain tells of, of each kind
)

// A tally is what the callers saw.
type tally struct {
	mu       sync.Mutex // guards the rest
	sent     int
	ok       int
	refused  int // 503
	others   map[string]int
	times    []time.Duration // of those that were answered 200
	pills    int
	pillSaid map[string]int
	harm     time.Time // when the last good request that came to grief was sent
	notes    []string  // about the first of those
	slow     []slowly  // the good requests that took longest, slowest first
	begun    time.Time // the first pill
}

// A crowd sends to one proxy, at fixed times whatever the answers (open loop).
type crowd struct {
	cfg    Config
	url    string
	client *http.Client
	open   chan struct{}
	wg     sync.WaitGroup
	tally  *tally
}

func newCrowd(cfg Config, url string) *crowd {
	return &crowd{
		cfg: cfg, url: url,
		client: &http.Client{
			Timeout:   patience,
			Transport: &http.Transport{MaxIdleConns: 1024, MaxIdleConnsPerHost: 1024, DisableCompression: true},
		},
		open:  make(chan struct{}, maxOpen),
		tally: &tally{others: map[string]int{}, pillSaid: map[string]int{}},
	}
}

// run sends for the lead and cfg.Length and returns the tally and when the
// sending ended.
func (c *crowd) run(ctx context.Context) (*tally, time.Time, error) {
	defer c.client.CloseIdleConnections()
	m := newMix(c.cfg.Pill)
	begin := time.Now().Add(lead)
	end := begin.Add(c.cfg.Length)
	c.tally.begun = begin
	var senders sync.WaitGroup
	senders.Go(func() {
		openloop.Every(ctx, begin.Add(-lead), end, time.Second/time.Duration(c.cfg.Rate), func(at time.Time) {
			r := m.next()
			c.launch(ctx, r, func(how ending) { c.good(r, at, begin, how) })
		})
	})
	senders.Go(func() {
		n := 0
		openloop.Every(ctx, begin, end, c.cfg.Pill.every(c.cfg.Doses), func(time.Time) {
			for range c.cfg.Pill.dose() {
				c.launch(ctx, c.cfg.Pill.request(n), c.pill)
				n++
			}
		})
	})
	senders.Wait()
	sent := time.Now()
	c.wg.Wait() // each has its patience
	return c.tally, sent, context.Cause(ctx)
}

// An ending is what a caller got.
type ending struct {
	said string // "200", "503", "broken", "no answer"
	took time.Duration
	text string // the beginning of an answer that is not 200
}

// launch sends one request from a goroutine of its own.
func (c *crowd) launch(ctx context.Context, r request, ended func(ending)) {
	select {
	case c.open <- struct{}{}:
	default:
		ended(ending{said: "no room"})
		return
	}
	c.wg.Go(func() {
		defer func() { <-c.open }()
		at := time.Now()
		how := c.call(ctx, r)
		how.took = time.Since(at)
		ended(how)
	})
}

func (c *crowd) call(ctx context.Context, r request) ending {
	// A body that is there, be it empty, and that cannot be had again keeps Go's
	// transport from sending the request twice by itself.
	body := struct{ io.Reader }{strings.NewReader(r.body)}
	req, err := http.NewRequestWithContext(ctx, r.method, c.url+r.target, body)
	if err != nil {
		return ending{said: "no request", text: err.Error()}
	}
	req.ContentLength = int64(len(r.body))
	if r.body != "" {
		req.Header.Set("Content-Type", "application/json")
	}
	resp, err := c.client.Do(req)
	if err != nil {
		return ending{said: fault(err), text: err.Error()}
	}
	defer resp.Body.Close()
	text, err := io.ReadAll(io.LimitReader(resp.Body, 1<<20))
	if err != nil {
		return ending{said: fault(err), text: err.Error()}
	}
	return ending{said: fmt.Sprint(resp.StatusCode), text: string(text[:min(len(text), 600)])}
}

func fault(err error) string {
	var timeout net.Error
	if errors.As(err, &timeout) && timeout.Timeout() {
		return "no answer"
	}
	return "broken"
}

// good counts a good request sent at the given time.
func (c *crowd) good(r request, at, begin time.Time, how ending) {
	if at.Before(begin) {
		return
	}
	t := c.tally
	t.mu.Lock()
	defer t.mu.Unlock()
	t.sent++
	if how.said == "200" {
		t.ok++
		t.times = append(t.times, how.took)
		t.keepSlow(slowly{how.took, at.Sub(begin), r})
		return
	}
	if how.said == "503" {
		t.refused++
	} else {
		t.others[how.said]++
	}
	if at.After(t.harm) {
		t.harm = at
	}
	if len(t.notes) < maxNotes {
		t.notes = append(t.notes, fmt.Sprintf("%+.3fs after %v: %s %s %s: %s %s",
			at.Sub(begin).Seconds(), how.took.Round(time.Millisecond), r.method, r.target, r.body, how.said, how.text))
	}
}

// slowly is a good request that was answered late.
type slowly struct {
	took, at time.Duration
	request  request
}

func (t *tally) keepSlow(s slowly) {
	i, _ := slices.BinarySearchFunc(t.slow, s, func(a, b slowly) int { return cmp.Compare(b.took, a.took) })
	if i < maxNotes {
		t.slow = slices.Insert(t.slow, i, s)
		t.slow = t.slow[:min(len(t.slow), maxNotes)]
	}
}

// slowest describes the good requests that were answered last of all.
func (t *tally) slowest() []string {
	t.mu.Lock()
	defer t.mu.Unlock()
	var lines []string
	for _, s := range t.slow {
		lines = append(lines, fmt.Sprintf("%+.3fs slow, %v: %s %s %s",
			s.at.Seconds(), s.took.Round(time.Millisecond), s.request.method, s.request.target, s.request.body))
	}
	return lines
}

func (c *crowd) pill(how ending) {
	c.tally.mu.Lock()
	defer c.tally.mu.Unlock()
	c.tally.pills++
	c.tally.pillSaid[how.said]++
}
