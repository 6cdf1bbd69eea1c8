package app_test

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/bezoar-dev/bezoar"
	"github.com/bezoar-dev/bezoar/queue"
)

// steadyRate is how many requests a second come.
const steadyRate = 230

// TestMemoryIsFlatUnderASteadyLoad has a third of its time for the bounded tables to
// fill, and then sees nothing grow: most requests are new ones, of 5,000 callers.
// What is in memory by then, go test's -memprofile says.
func TestMemoryIsFlatUnderASteadyLoad(t *testing.T) {
	length, err := time.ParseDuration(os.Getenv("BEZOAR_SOAK"))
	if err != nil {
		t.Skip("BEZOAR_SOAK=60m go test -timeout 70m -run SteadyLoad ./internal/app")
	}
	worker := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		_, _ = io.Copy(io.Discard, r.Body)
		_, _ = io.WriteString(w, "hello")
	}))
	t.Cleanup(worker.Close)
	dir := t.TempDir()
	n := serve(t, fmt.Sprintf(`%slisten: 127.0.0.1:0
access_log: {sample: 0%%}
fleets:
  app: {workers: [%q], concurrency: {limit: 100, queue: 100}}
queues: {jobs: {max_receive_count: 3}}
routes:
  - {match: {path: /sql}, fleet: app, client: "header:X-Api-Key", guard: {query: sql}, timeout: 30s}
  - {match: {path: /p1/*}, fleet: app, client: ip, fallback: [{stale: 10m}], timeout: 30s}
  - {match: {path: /*}, fleet: app, client: "header:X-Api-Key", limits: [{rate: 1000/s}], breaker: {}, timeout: 30s}
`, head(sqliteIn(dir), dir), worker.URL))
	n.until("it serves", func() bool { s, _ := n.getAs("/", "first"); return s == http.StatusOK })

	ctx, stop := context.WithTimeout(t.Context(), length)
	defer stop()
	const callers = 10
	var wg sync.WaitGroup
	var sent, failed atomic.Int64
	for range callers {
		wg.Go(func() {
			tick := time.NewTicker(time.Second * callers / steadyRate)
			defer tick.Stop()
			for {
				select {
				case <-ctx.Done():
					return
				case <-tick.C:
				}
				i := sent.Add(1)
				if err := n.steady(ctx, i); err != nil && ctx.Err() == nil && failed.Add(1) < 5 {
					t.Error(err)
				}
			}
		})
	}
	var after []uint64
	every(ctx, &wg, length/12, func(i int) {
		after = append(after, heap())
		t.Logf("after %v: %d requests, heap %.1f MiB, resident %.1f MiB", time.Duration(i)*length/12, sent.Load(), mib(after[i-1]), mib(resident(t)))
	})
	wg.Wait()
	if failed.Load() > 0 || sent.Load() < int64(length.Seconds())*steadyRate/2 {
		t.Errorf("%d of %d requests failed, of about %d", failed.Load(), sent.Load(), int64(length.Seconds())*steadyRate)
	}
	if filled, end := after[3], after[len(after)-1]; end > filled+filled/5+2<<20 {
		t.Errorf("the heap grew from %.1f to %.1f MiB after a third of the time", mib(filled), mib(end))
	}
}

// steady does one thing that, as a rule, nobody has done before: half are requests, a quarter
// queries for a guard, of many shapes, and a quarter messages, some of which fail.
func (n *node) steady(ctx context.Context, i int64) error {
	method, target, body := http.MethodGet, fmt.Sprintf("/p%d/item?id=%d", i%3, i), ""
	if i%3 == 1 {
		target = fmt.Sprintf("/p1/item?id=%d", i%2000) // answers are kept: up to 64 MiB of them
	}
	switch i % 4 {
	case 0:
		return n.steadyMessage(ctx, i)
	case 1:
		method, target, body = http.MethodPost, "/sql", fmt.Sprintf("SELECT c%d FROM t%d WHERE a = %d", i%997, i%1009, i)
	case 2:
		method, body = http.MethodPost, fmt.Sprintf(`{"order": %d, "lines": [1, 2, 3]}`, i)
	}
	req, err := http.NewRequestWithContext(ctx, method, n.url+target, strings.NewReader(body))
	if err != nil {
		return err
	}
	req.Header.Set("X-Api-Key", fmt.Sprintf("key-%d", i%5000))
	res, err := n.http.Do(req)
	if err != nil {
		return err
	}
	defer res.Body.Close()
	_, _ = io.Copy(io.Discard, res.Body)
	if res.StatusCode != http.StatusOK {
		return fmt.Errorf("%s %s: %d", method, target, res.StatusCode)
	}
	return nil
}

// steadyMessage sends a message and handles one; one of 50 is set aside.
func (n *node) steadyMessage(ctx context.Context, i int64) error {
	q := n.app.Queues()
	if _, err := q.Send(ctx, "jobs", queue.SendInput{Body: fmt.Appendf(nil, `{"job": %d, "text": "so long that it may be told apart from others"}`, i)}); err != nil {
		return err
	}
	got, err := q.Receive(ctx, "jobs", queue.ReceiveInput{Worker: fmt.Sprint("worker-", i%4)})
	if err != nil || len(got) == 0 {
		return err
	}
	if i%200 == 0 {
		return q.Reject(ctx, "jobs", got[0].Receipt, queue.Outcome{Class: bezoar.Bug, Failure: fmt.Sprint("f", i%1000), Reason: "it failed"})
	}
	return q.Delete(ctx, "jobs", got[0].Receipt)
}

func mib(n uint64) float64 { return float64(n) / (1 << 20) }

// resident is this process's memory, as the kernel counts it.
func resident(t *testing.T) uint64 {
	t.Helper()
	text, err := os.ReadFile("/proc/self/statm")
	if err != nil {
		return 0 // there is no such file elsewhere
	}
	var all, rss uint64
	if _, err := fmt.Sscan(string(text), &all, &rss); err != nil {
		t.Error(err)
	}
	return rss * uint64(os.Getpagesize())
}
