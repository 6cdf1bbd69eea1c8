package app_test

import (
	"bytes"
	"compress/gzip"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/bezoar-dev/bezoar/internal/process/cgroup"
	"github.com/bezoar-dev/bezoar/internal/test/pace"
)

// smallGroup is how to start a process in a group of so many bytes. Where no groups
// may be made, the runtime alone bounds it.
func smallGroup(t *testing.T, limit int64) (via []string) {
	t.Helper()
	g, err := cgroup.Create("small", limit)
	if errors.Is(err, cgroup.ErrUnavailable) {
		t.Logf("no group of %d MiB can be made: the runtime alone bounds the process, and its peak is looked at: %v", limit>>20, err)
		return []string{"env", fmt.Sprintf("GOMEMLIMIT=%d", limit/5*4)}
	}
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := g.Remove(); err != nil {
			t.Error(err)
		}
	})
	return []string{"sh", "-c", fmt.Sprintf(`echo $$ >%q && exec "$0"`, filepath.Join(g.Path(), "cgroup.procs"))}
}

// bomb is a small query that is long when it is unpacked.
func bomb(t *testing.T, size int) []byte {
	t.Helper()
	var b bytes.Buffer
	w := gzip.NewWriter(&b)
	_, err := w.Write(append([]byte(`{"size":10}`), bytes.Repeat([]byte(" "), size)...))
	if err = errors.Join(err, w.Close()); err != nil {
		t.Fatal(err)
	}
	return b.Bytes()
}

// asks sends a query, and returns the status of the answer.
func (n *node) asks(path string, body []byte, encoding string) int {
	req, err := http.NewRequestWithContext(n.t.Context(), http.MethodPost, n.url+path, bytes.NewReader(body))
	if err != nil {
		n.t.Error(err)
		return 0
	}
	req.Header.Set("Content-Type", "application/json")
	if encoding != "" {
		req.Header.Set("Content-Encoding", encoding)
	}
	res, err := n.http.Do(req)
	if err != nil {
		n.t.Error(err)
		return 0
	}
	defer res.Body.Close()
	_, _ = io.Copy(io.Discard, res.Body)
	return res.StatusCode
}

// peakOf is the most memory that a process has had.
func peakOf(t *testing.T, pid int) (bytes int64) {
	t.Helper()
	text, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", pid))
	if err != nil {
		t.Fatalf("the process is gone: %v", err)
	}
	_, rest, _ := strings.Cut(string(text), "VmHWM:")
	if _, err := fmt.Sscan(rest, &bytes); err != nil {
		t.Fatal(err)
	}
	return bytes << 10
}

// Small bodies that take much memory do not end a Bezoar that has 512 MiB: queries
// that are long when they are unpacked, and messages whose schema multiplies.
func TestBombsInASmallGroup(t *testing.T) {
	t.Parallel()
	if pace.Watched {
		t.Skip("the race detector takes several times the memory: make test runs it, without")
	}
	const limit, queries, sends = 512 << 20, 16, 4
	n := spawn(t, head("memory:", t.TempDir())+fmt.Sprintf(`listen: 127.0.0.1:0
fleets: {app: {command: [%q], env: {%s: worker}, replicas: 1}}
routes: [{match: {path: /*}, fleet: app, guard: {query: elasticsearch}}]
`, os.Getenv(workVar), roleVar), smallGroup(t, limit)...)
	n.http.Timeout = patience // of what waits for its turn on a busy machine
	packed := bomb(t, 15<<20)
	if len(packed) > 16<<10 {
		t.Fatalf("a bomb has %d bytes", len(packed))
	}
	n.until("it serves", func() bool { return n.asks("/x/_search", []byte("{}"), "") == http.StatusOK })

	var done sync.WaitGroup
	var served atomic.Int64
	for range queries {
		done.Go(func() {
			switch status := n.asks("/x/_search", packed, "gzip"); status {
			case http.StatusOK:
				served.Add(1)
			case http.StatusServiceUnavailable: // there was no room
			default:
				t.Errorf("a query got %d", status)
			}
		})
	}
	alternatives := make([]string, 19)
	for i := range alternatives {
		alternatives[i] = fmt.Sprintf(`"d%d":{"anyOf":[{"$ref":"#/$defs/d%d"},{"$ref":"#/$defs/d%d"}]}`, i, i+1, i+1)
	}
	multiplies := fmt.Sprintf(`{"$ref":"#/$defs/d0","$defs":{%s,"d19":{"type":"string"}}}`, strings.Join(alternatives, ","))
	deep := `{"anyOf":[{"properties":{"a":{"$ref":"#"}},"minProperties":9},{"properties":{"a":{"$ref":"#"}},"minProperties":9}]}`
	for name, schema := range map[string]string{"multiplies": multiplies, "deep": deep} {
		err := sqsCall(t.Context(), n.sqs, "CreateQueue", map[string]any{"QueueName": name, "Attributes": map[string]string{"BezoarSchema": schema}}, nil)
		if (err != nil) != (name == "multiplies") {
			t.Errorf("a queue with the schema %.60s: %v", schema, err)
		}
		body := strings.Repeat(`{"a":`, 24) + "{}" + strings.Repeat("}", 24)
		for range sends {
			done.Go(func() {
				_ = sqsCall(t.Context(), n.sqs, "SendMessage", map[string]any{"QueueUrl": n.queueURL(name), "MessageBody": body}, nil) // it is refused
			})
		}
	}
	done.Wait()
	peak := peakOf(t, n.cmd.Process.Pid)
	t.Logf("%d of %d queries were served; the process took %d MiB at most", served.Load(), queries, peak>>20)
	if served.Load() == 0 || peak > limit {
		t.Error("that is too few, or too much")
	}
	if status := n.asks("/x/_search", []byte("{}"), ""); status != http.StatusOK {
		t.Errorf("a good caller got %d", status)
	}
}
