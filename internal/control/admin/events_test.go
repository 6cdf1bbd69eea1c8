package admin

import (
	"bufio"
	"context"
	"net/http"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/bezoar-dev/bezoar/internal/control/adminapi"
)

func TestHubKeepsTheNewest(t *testing.T) {
	h := new(Hub)
	events, more := h.After(0, 10)
	if events != nil || more == nil {
		t.Fatalf("an empty hub gave %v", events)
	}
	for range HubSize + 10 {
		h.Publish(adminapi.Event{Kind: "worker.up"})
	}
	<-more // closed by the first
	events, _ = h.After(0, 2*HubSize)
	if len(events) != HubSize || events[0].Seq != 11 || events[HubSize-1].Seq != HubSize+10 {
		t.Errorf("%d events from %d, want %d from 11", len(events), events[0].Seq, HubSize)
	}
	if events[0].At.IsZero() {
		t.Error("an event without a time")
	}
	if events, _ = h.After(HubSize+8, 1); len(events) != 1 || events[0].Seq != HubSize+9 {
		t.Errorf("After(%d, 1) = %v", HubSize+8, events)
	}
	if events, _ = h.After(1<<40, 1); len(events) != 1 || events[0].Seq != 11 {
		t.Errorf("a position from another life gave %v", events)
	}
}

// Every reader sees every event once and in order, however publishing and
// reading interleave.
func TestHubWakesEveryReader(t *testing.T) {
	const n = 500
	h := new(Hub)
	var wg sync.WaitGroup
	for range 8 {
		wg.Go(func() {
			for seq := uint64(0); seq < n; {
				events, more := h.After(seq, 7)
				if len(events) == 0 {
					<-more
					continue
				}
				for _, e := range events {
					if e.Seq != seq+1 {
						t.Errorf("%d follows %d", e.Seq, seq)
					}
					seq = e.Seq
				}
			}
		})
	}
	for range n {
		h.Publish(adminapi.Event{})
	}
	wg.Wait()
}

// stream opens an event stream and returns a function that reads its next line
// which starts with prefix.
func stream(t *testing.T, base, last string) (next func(prefix string) string) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	req, err := http.NewRequestWithContext(ctx, "GET", base+adminapi.PathEvents, nil)
	if err != nil {
		t.Fatal(err)
	}
	if last != "" {
		req.Header.Set("Last-Event-ID", last)
	}
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { cancel(); resp.Body.Close() })
	if got := resp.Header.Get("Content-Type"); got != "text/event-stream" {
		t.Errorf("Content-Type %q", got)
	}
	lines := bufio.NewScanner(resp.Body)
	return func(prefix string) string {
		t.Helper()
		for lines.Scan() {
			if rest, ok := strings.CutPrefix(lines.Text(), prefix); ok {
				return rest
			}
		}
		t.Fatalf("the stream ended without a line %q: %v", prefix, lines.Err())
		return ""
	}
}

func TestStream(t *testing.T) {
	hub := new(Hub)
	hub.Publish(adminapi.Event{Text: "before"})
	s, base := start(t, Config{}, newBackendStub(), hub)

	next := stream(t, base, "")
	next(": welcome")
	next(": still here")
	hub.Publish(adminapi.Event{Kind: "worker.down", Text: "one\ntwo <b>"})
	id := next("id: ")
	if data := next("data: "); !strings.Contains(data, `"text":"one\ntwo \u003cb\u003e"`) || strings.Contains(data, "before") {
		t.Errorf("data %s", data)
	}
	hub.Publish(adminapi.Event{Text: "missed"})

	again := stream(t, base, id)
	if data := again("data: "); !strings.Contains(data, "missed") {
		t.Errorf("a reader that comes back got %s", data)
	}
	stranger := stream(t, base, "otherlife-99")
	if data := stranger("data: "); !strings.Contains(data, "before") {
		t.Errorf("a reader from before a restart got %s", data)
	}
	if !strings.HasPrefix(id, s.boot+"-") {
		t.Errorf("id %q does not name this process", id)
	}
}

func TestStreamsAreBounded(t *testing.T) {
	hub := new(Hub)
	s, base := start(t, Config{}, newBackendStub(), hub)
	for range cap(s.streams) {
		s.streams <- struct{}{}
	}
	resp, err := http.Get(base + adminapi.PathEvents)
	if err != nil {
		t.Fatal(err)
	}
	resp.Body.Close()
	if resp.StatusCode != http.StatusServiceUnavailable {
		t.Errorf("one stream too many was answered %d", resp.StatusCode)
	}
}

// A reader that stops reading is dropped; publishing goes on meanwhile.
func TestSlowReadersAreDropped(t *testing.T) {
	hub := new(Hub)
	s, base := start(t, Config{}, newBackendStub(), hub)
	next := stream(t, base, "")
	next(": welcome")
	if len(s.streams) != 1 {
		t.Fatalf("%d streams are open, want 1", len(s.streams))
	}
	big := strings.Repeat("x", adminapi.MaxEventBytes/2)
	deadline := time.Now().Add(time.Minute)
	for len(s.streams) > 0 {
		hub.Publish(adminapi.Event{Text: big})
		if time.Now().After(deadline) {
			t.Fatal("a reader that reads nothing still has its stream")
		}
	}
}

// The command line's client reads what the server writes.
func TestClientFollowsEvents(t *testing.T) {
	hub := new(Hub)
	_, base := start(t, Config{}, newBackendStub(), hub)
	c, err := adminapi.New(adminapi.Config{Address: base})
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	stop := make(chan struct{})
	var wg sync.WaitGroup
	defer wg.Wait()
	defer close(stop)
	wg.Go(func() { // until the client has one: it may come after the first
		for tick := time.NewTicker(5 * time.Millisecond); ; {
			select {
			case <-tick.C:
				hub.Publish(adminapi.Event{Kind: "gate", Text: "closed"})
			case <-stop:
				tick.Stop()
				return
			}
		}
	})
	var got adminapi.Event
	if err := c.Events(ctx, func(e adminapi.Event) bool { got = e; return false }); err != nil {
		t.Fatal(err)
	}
	if got.Kind != "gate" || got.Seq == 0 {
		t.Errorf("got %+v", got)
	}
}
