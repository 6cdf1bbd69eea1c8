package worker_test

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"
)

// The worker runs on a real queue, restarted as often as it dies: what it can do
// is done, what it cannot is set aside, and what kills it kills two.
func TestWorker(t *testing.T) {
	if _, err := exec.LookPath("python3"); err != nil {
		t.Skipf("python3 is not on this machine, so its example was not run: %v", err)
	}
	q := queue{t, serve(t)}
	q.call("CreateQueue", map[string]any{"QueueName": "jobs", "Attributes": map[string]string{"VisibilityTimeout": "6", "BezoarRetryStrategy": "immediate"}})
	for _, body := range []string{`{"text": "bezoar"}`, `{"crash": true}`, `{"text": "stone"}`, `{"text": 12345}`, `no JSON at all`} {
		q.call("SendMessage", map[string]any{"QueueUrl": q.url("jobs"), "MessageBody": body})
	}

	deaths, said := 0, ""
	for {
		cmd := exec.CommandContext(t.Context(), "python3", "worker.py", q.endpoint, "jobs", "15")
		var words bytes.Buffer
		cmd.Stderr = &words
		out, err := cmd.Output()
		said += string(out)
		if err == nil {
			break
		}
		if s, ok := cmd.ProcessState.Sys().(syscall.WaitStatus); !ok || s.Signal() != syscall.SIGSEGV {
			t.Fatalf("the worker ends with %v, want a crash", err)
		}
		if deaths++; deaths > 3 {
			t.Fatalf("%d workers died of one message, want 3", deaths)
		}
	}
	if deaths != 3 { // the first of a single worker may be an operator's doing
		t.Errorf("%d workers died of one message, want 3", deaths)
	}
	if said != "BEZOAR\nSTONE\n" {
		t.Errorf("the workers did %q, want BEZOAR and STONE, each once", said)
	}

	var got struct {
		Messages []struct {
			Body       string
			Attributes map[string]string
		}
	}
	answer := q.call("ReceiveMessage", map[string]any{
		"QueueUrl": q.url("jobs-dlq"), "MaxNumberOfMessages": 10, "MessageSystemAttributeNames": []string{"BezoarClass", "BezoarFailure"},
	})
	if err := json.Unmarshal(answer, &got); err != nil {
		t.Fatal(err)
	}
	why := map[string]string{}
	for _, m := range got.Messages {
		failure, _, _ := strings.Cut(m.Attributes["BezoarFailure"], ":")
		why[m.Body] = m.Attributes["BezoarClass"] + " " + failure
	}
	want := map[string]string{
		`{"crash": true}`: "crash ", `{"text": 12345}`: "bug AttributeError@worker.py", `no JSON at all`: "invalid JSONDecodeError@worker.py",
	}
	if fmt.Sprint(why) != fmt.Sprint(want) {
		t.Errorf("set aside: %v\nwant: %v", why, want)
	}
}

// queue calls the endpoint as the worker does.
type queue struct {
	t        *testing.T
	endpoint string
}

func (q queue) url(name string) string { return q.endpoint + "/000000000000/" + name }

func (q queue) call(action string, members map[string]any) []byte {
	q.t.Helper()
	body, err := json.Marshal(members)
	if err != nil {
		q.t.Fatal(err)
	}
	req, err := http.NewRequestWithContext(q.t.Context(), http.MethodPost, q.endpoint, bytes.NewReader(body))
	if err != nil {
		q.t.Fatal(err)
	}
	req.Header.Set("X-Amz-Target", "AmazonSQS."+action)
	res, err := http.DefaultClient.Do(req)
	if err != nil {
		q.t.Fatal(err)
	}
	defer res.Body.Close()
	var out bytes.Buffer
	if _, err := out.ReadFrom(res.Body); err != nil || res.StatusCode != http.StatusOK {
		q.t.Fatalf("%s: %s %s %v", action, res.Status, out.Bytes(), err)
	}
	return out.Bytes()
}

// serve starts bezoar serve on a free port and returns its endpoint.
func serve(t *testing.T) string {
	t.Helper()
	dir := t.TempDir()
	bin := filepath.Join(dir, "bezoar")
	if out, err := exec.CommandContext(t.Context(), "go", "build", "-ldflags=-s", "-o", bin, "../../cmd/bezoar").CombinedOutput(); err != nil {
		t.Fatalf("build: %v\n%s", err, out)
	}
	ctx, cancel := context.WithCancel(context.Background())
	cmd := exec.CommandContext(ctx, bin, "serve", "--sqs", "127.0.0.1:0", "--admin", "", "--store", "memory:")
	cmd.Dir = dir
	cmd.Cancel = func() error { return cmd.Process.Signal(syscall.SIGTERM) }
	cmd.WaitDelay = 10 * time.Second
	stderr, err := cmd.StderrPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	lines, drained := bufio.NewScanner(stderr), make(chan struct{})
	t.Cleanup(func() {
		cancel()
		<-drained
		_ = cmd.Wait() // it was told to end
	})
	for lines.Scan() {
		if _, endpoint, ok := strings.Cut(lines.Text(), "sqs endpoint on "); ok {
			go func() {
				defer close(drained)
				for lines.Scan() {
					t.Log(lines.Text())
				}
			}()
			return endpoint
		}
	}
	close(drained)
	t.Fatal("bezoar serve names no endpoint")
	return ""
}
