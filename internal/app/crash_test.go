package app_test

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptrace"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/bezoar-dev/bezoar/internal/control/adminapi"
	"github.com/bezoar-dev/bezoar/internal/test/pace"
	"github.com/bezoar-dev/bezoar/internal/triage"
	"github.com/bezoar-dev/bezoar/queue"
)

// producers send until Bezoar does not answer, and remember what it has
// acknowledged.
type producers struct {
	mu    sync.Mutex // guards acked
	acked map[string]bool
	n     atomic.Int64 // bodies so far
}

func (p *producers) run(ctx context.Context, crew *sync.WaitGroup, endpoint, queueURL string) {
	for range 4 {
		crew.Go(func() {
			for ctx.Err() == nil {
				var entries []map[string]any
				var bodies []string
				for i := range 5 {
					body := fmt.Sprintf(`{"message":%d}`, p.n.Add(1))
					bodies = append(bodies, body)
					entries = append(entries, map[string]any{"Id": fmt.Sprint(i), "MessageBody": body})
				}
				var out struct{ Successful []struct{ Id string } } //nolint:revive,staticcheck // named by the protocol
				if err := sqsCall(ctx, endpoint, "SendMessageBatch", map[string]any{"QueueUrl": queueURL, "Entries": entries}, &out); err != nil {
					return
				}
				p.mu.Lock()
				for _, s := range out.Successful {
					p.acked[bodies[s.Id[0]-'0']] = true
				}
				p.mu.Unlock()
			}
		})
	}
}

func (p *producers) count() int {
	p.mu.Lock()
	defer p.mu.Unlock()
	return len(p.acked)
}

// Law 7 across kill -9: what was acknowledged is done, dead or still there, and
// what was deleted does not come back.
func TestKilledUnderLoadNothingIsLost(t *testing.T) {
	t.Parallel()
	for _, s := range stores(t, "sqlite") {
		t.Run(s.name, func(t *testing.T) {
			t.Parallel()
			dir := t.TempDir()
			killUnderLoad(t, head(s.open(t, dir), dir)+"queues:\n  jobs: {max_receive_count: 1000, visibility: 30s}\n", filepath.Join(dir, "diary"))
		})
	}
}

func killUnderLoad(t *testing.T, settings, diary string) {
	p := &producers{acked: map[string]bool{}}
	rounds := pace.Rounds(3, 2)
	if os.Getenv("BEZOAR_SOAK") != "" {
		rounds = 200
	}
	for round := range rounds {
		n := spawn(t, settings)
		ctx, stop := context.WithCancel(t.Context())
		var crew sync.WaitGroup
		p.run(ctx, &crew, n.sqs, n.queueURL("jobs"))
		fire := hire(t, 3, n.sqs, n.queueURL("jobs"), diary)
		want := p.count() + 300
		n.until("enough is acknowledged and done", func() bool {
			return p.count() >= want && strings.Count(readFile(diary), "deleted") > 100*(round+1)
		})
		n.kill()
		stop()
		crew.Wait()
		fire()
	}
	n := spawn(t, settings)
	there := map[string]bool{}
	for _, body := range n.bodies("jobs") {
		if there[body] {
			t.Errorf("%s is there twice", body)
		}
		there[body] = true
	}
	done, deleted := map[string]bool{}, map[string]bool{}
	for line := range strings.Lines(readFile(diary)) {
		line = strings.TrimSuffix(line, "\n")
		if body, ok := strings.CutPrefix(line, "did "); ok {
			done[body] = true
		}
		if body, ok := strings.CutPrefix(line, "deleted "); ok {
			deleted[body] = true
			if there[body] {
				t.Errorf("%s was deleted and is there", body)
			}
		}
	}
	lost := 0
	for body := range p.acked {
		if !done[body] && !there[body] {
			lost++
		}
	}
	if lost > 0 {
		t.Errorf("%d of %d acknowledged messages are lost", lost, len(p.acked))
	}
	if dead := n.bodies("jobs-dlq"); len(dead) != 0 {
		t.Errorf("%d innocent messages are dead", len(dead))
	}
	t.Logf("%d acknowledged, %d done, %d deleted, %d there", len(p.acked), len(done), len(deleted), len(there))
}

func readFile(name string) string {
	text, _ := os.ReadFile(name) // not there yet: nothing was done
	return string(text)
}

// A consumer that sleeps beyond its lease is fenced: its late deletion changes
// nothing.
func TestAConsumerThatSleptIsFenced(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	n := serve(t, head(sqliteIn(dir), dir)+"queues:\n  jobs: {visibility: 1s}\n")
	n.sendMessage("jobs", "work")
	diary := filepath.Join(dir, "diary")
	exe, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	sleeper := exec.CommandContext(t.Context(), exe)
	sleeper.Env = append(os.Environ(), roleVar+"=sleeper", sqsVar+"="+n.sqs, queueVar+"="+n.queueURL("jobs"), diaryVar+"="+diary)
	sleeper.Stderr = logOf(t)
	word, err := sleeper.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := sleeper.Start(); err != nil {
		t.Fatal(err)
	}
	n.until("it has the message", func() bool { return strings.Contains(readFile(diary), "received work") })
	// It stopped itself. Its lease ends, and another one receives the message.
	second := n.receiveOne("jobs")
	if err := errors.Join(sleeper.Process.Signal(syscall.SIGCONT), word.Close()); err != nil {
		t.Fatal(err)
	}
	if err := reap(t, sleeper); err != nil {
		t.Fatal(err)
	}
	if !strings.Contains(readFile(diary), "deleted work") {
		t.Fatalf("the late consumer was told something else: %q", readFile(diary))
	}
	if q := n.queue("jobs"); q.InFlight+q.Visible != 1 {
		t.Fatalf("after the late deletion the queue holds %+v", q)
	}
	// The second one dies as well: the message comes back once more.
	got := n.receive("jobs", map[string]any{"MaxNumberOfMessages": 1, "VisibilityTimeout": 60, "WaitTimeSeconds": 20})
	if len(got) != 1 {
		t.Fatalf("received %d messages", len(got))
	}
	third := got[0]
	if third.MessageId != second.MessageId || third.Attributes["ApproximateReceiveCount"] != "3" {
		t.Errorf("received %+v", third)
	}
	n.deleteMessage("jobs", third)
	if q := n.queue("jobs"); q.InFlight+q.Visible != 0 {
		t.Errorf("after the deletion the queue holds %+v", q)
	}
}

// sleeper receives one message, stops itself, and deletes the message when it is
// woken.
func sleeper() int {
	diary, err := os.OpenFile(os.Getenv(diaryVar), os.O_APPEND|os.O_CREATE|os.O_WRONLY, 0o600)
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	endpoint, queueURL := os.Getenv(sqsVar), os.Getenv(queueVar)
	var got struct{ Messages []received }
	err = sqsCall(context.Background(), endpoint, "ReceiveMessage", map[string]any{"QueueUrl": queueURL, "WaitTimeSeconds": 5}, &got)
	if err != nil || len(got.Messages) != 1 {
		fmt.Fprintln(os.Stderr, got, err)
		return 1
	}
	m := got.Messages[0]
	fmt.Fprintf(diary, "received %s\n", m.Body)
	_ = syscall.Kill(os.Getpid(), syscall.SIGSTOP)
	_, _ = io.Copy(io.Discard, os.Stdin) // other threads stop a little later
	if err := sqsCall(context.Background(), endpoint, "DeleteMessage", map[string]any{"QueueUrl": queueURL, "ReceiptHandle": m.ReceiptHandle}, nil); err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	fmt.Fprintf(diary, "deleted %s\n", m.Body)
	return 0
}

// SIGTERM ends long polls with an answer, at once, and loses no message, even
// with callers that are connected and say nothing.
func TestTermWithLongPollsWaiting(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	settings := head(sqliteIn(dir), dir) + "queues:\n  jobs: {}\n  other: {}\n"
	n := spawn(t, settings)
	n.sendMessage("other", "still there")
	for _, at := range []string{strings.TrimPrefix(n.sqs, "http://"), n.adminAt} {
		silent, err := net.Dial("tcp", at)
		if err != nil {
			t.Fatal(err)
		}
		defer silent.Close()
	}
	const polls = 20
	answers := make(chan error, polls)
	var written atomic.Int64
	ctx := httptrace.WithClientTrace(t.Context(), &httptrace.ClientTrace{WroteRequest: func(httptrace.WroteRequestInfo) { written.Add(1) }})
	for range polls {
		go func() {
			var got struct{ Messages []received }
			err := sqsCall(ctx, n.sqs, "ReceiveMessage", map[string]any{"QueueUrl": n.queueURL("jobs"), "WaitTimeSeconds": 20}, &got)
			if err == nil && len(got.Messages) > 0 {
				err = fmt.Errorf("received %v", got.Messages)
			}
			answers <- err
		}()
	}
	n.until("the polls have arrived", func() bool { return written.Load() == polls && taken(t, n) > polls })
	began := time.Now()
	n.stop()
	if took := time.Since(began); took > 15*time.Second {
		t.Errorf("it took %v to end, nearly as long as the polls would have waited", took)
	}
	for range polls {
		if err := <-answers; err != nil {
			t.Errorf("a long poll was not answered: %v", err)
		}
	}
	if !n.cmd.ProcessState.Success() {
		t.Errorf("it ended with %v", n.cmd.ProcessState)
	}
	n = spawn(t, settings)
	if got := n.bodies("other"); len(got) != 1 {
		t.Errorf("%d messages are there, want 1", len(got))
	}
}

// taken counts connections to the SQS endpoint of which all that has come is read.
func taken(t *testing.T, n *node) (count int) {
	t.Helper()
	text, err := os.ReadFile("/proc/net/tcp")
	if err != nil {
		t.Fatal(err)
	}
	_, port, err := net.SplitHostPort(strings.TrimPrefix(n.sqs, "http://"))
	if err != nil {
		t.Fatal(err)
	}
	var number int
	if _, err := fmt.Sscan(port, &number); err != nil {
		t.Fatal(err)
	}
	const local, state, queues, inode, established = 1, 3, 4, 9, "01" // without an inode it is not accepted yet
	at := fmt.Sprintf(":%04X", number)
	for line := range strings.Lines(string(text)) {
		f := strings.Fields(line)
		if len(f) > inode && strings.HasSuffix(f[local], at) && f[state] == established && strings.HasSuffix(f[queues], ":00000000") && f[inode] != "0" {
			count++
		}
	}
	return count
}

// A redrive that is killed in the middle goes on where it was: each letter comes
// back once.
func TestARedriveSurvivesAKill(t *testing.T) {
	t.Parallel()
	for _, s := range stores(t, "postgres") {
		t.Run(s.name, func(t *testing.T) {
			t.Parallel()
			dir := t.TempDir()
			killRedrive(t, head(s.open(t, dir), dir)+"queues:\n  jobs: {retry: {base: 1ms, cap: 1ms}}\n")
		})
	}
}

func killRedrive(t *testing.T, settings string) {
	letters := pace.Rounds(240, 120)
	n := spawn(t, settings)
	for i := range letters {
		n.sendMessage("jobs", fmt.Sprintf(`{"message":%d}`, i))
	}
	for left := letters; left > 0; {
		var entries []map[string]any
		for i, m := range n.receive("jobs", nil) {
			entries = append(entries, map[string]any{
				"Id": fmt.Sprint(i), "ReceiptHandle": m.ReceiptHandle, "VisibilityTimeout": 0,
				"BezoarOutcome": map[string]string{"class": "invalid", "failure": "parse", "reason": "no such field"},
			})
		}
		if len(entries) > 0 {
			n.call("ChangeMessageVisibilityBatch", map[string]any{"QueueUrl": n.queueURL("jobs"), "Entries": entries}, nil)
		}
		q := n.queue("jobs")
		left = int(q.Visible + q.InFlight + q.Delayed)
	}
	order := adminapi.Order{Verb: triage.Redrive, Selection: queue.Selection{Queue: "jobs-dlq"}, Options: triage.Options{Canary: triage.NoCanary, Rate: 20}, Expect: int64(letters)}
	tasks, err := n.admin.Do(t.Context(), order)
	if err != nil || len(tasks) != 1 {
		t.Fatalf("redrive: %v, %v", tasks, err)
	}
	moved := func() int64 {
		task, err := n.admin.Task(t.Context(), tasks[0].ID)
		if err != nil {
			t.Fatal(err)
		}
		return task.Moved
	}
	n.until("some have moved", func() bool { return moved() >= 30 })
	n.kill()
	n = spawn(t, settings)
	if at := moved(); at < 30 || at >= int64(letters) {
		t.Errorf("after the kill %d letters have moved", at)
	}
	if _, err := n.admin.ChangeTask(t.Context(), tasks[0].ID, adminapi.TaskOrder{Action: "rate", Rate: 500}); err != nil {
		t.Fatal(err)
	}
	n.until("all have moved", func() bool { return moved() == int64(letters) })
	seen := map[string]int{}
	for _, body := range n.bodies("jobs") {
		seen[body]++
	}
	for body, times := range seen {
		if times != 1 {
			t.Errorf("%s came back %d times", body, times)
		}
	}
	if dead := n.bodies("jobs-dlq"); len(seen) != letters || len(dead) != 0 {
		t.Errorf("%d of %d letters came back, %d are left", len(seen), letters, len(dead))
	}
}

// Clients that hang up, or send what is no HTTP, stop nobody else.
func TestOddClients(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	n := serve(t, head(sqliteIn(dir), dir)+"queues:\n  jobs: {}\n")
	long := strings.Repeat("x", 1<<20)
	for name, text := range map[string]string{
		"no HTTP":        "\x16\x03\x01\x02\x00\x01",
		"no host":        "POST / HTTP/1.1\r\n\r\n",
		"two lengths":    "POST / HTTP/1.1\r\nHost: x\r\nContent-Length: 5\r\nContent-Length: 6\r\n\r\nhello",
		"smuggling":      "POST / HTTP/1.1\r\nHost: x\r\nContent-Length: 5\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n",
		"huge header":    "POST / HTTP/1.1\r\nHost: x\r\nX: " + long + "\r\n\r\n",
		"half a body":    "POST / HTTP/1.1\r\nHost: x\r\nContent-Type: application/x-amz-json-1.0\r\nX-Amz-Target: AmazonSQS.SendMessage\r\nContent-Length: 999\r\n\r\n{\"QueueUrl\":",
		"deep JSON":      post("SendMessage", strings.Repeat(`{"a":`, 20_000)),
		"bad target":     post("../../etc/passwd", `{}`),
		"number as URL":  post("SendMessage", `{"QueueUrl":7,"MessageBody":"x"}`),
		"NUL in a queue": post("SendMessage", `{"QueueUrl":"http://x/0/jo\u0000bs","MessageBody":"x"}`),
		"NUL in a body":  post("SendMessage", `{"QueueUrl":"`+n.queueURL("jobs")+`","MessageBody":"a\u0000b"}`),
	} {
		c, err := net.Dial("tcp", strings.TrimPrefix(n.sqs, "http://"))
		if err != nil {
			t.Fatal(err)
		}
		_, _ = io.WriteString(c, text) // it may be cut off
		_ = c.(*net.TCPConn).CloseWrite()
		_ = c.SetReadDeadline(time.Now().Add(10 * time.Second))
		if res, err := http.ReadResponse(bufio.NewReader(c), nil); err == nil {
			res.Body.Close()
			if res.StatusCode < 400 || res.StatusCode >= 500 {
				t.Errorf("%s: %s", name, res.Status)
			}
		}
		c.Close()
	}
	n.sendMessage("jobs", "well")
	if got := n.receive("jobs", nil); len(got) != 1 || got[0].Body != "well" {
		t.Errorf("received %+v", got)
	}
}

func post(action, body string) string {
	return fmt.Sprintf("POST / HTTP/1.1\r\nHost: x\r\nConnection: close\r\nContent-Type: application/x-amz-json-1.0\r\nX-Amz-Target: AmazonSQS.%s\r\nContent-Length: %d\r\n\r\n%s", action, len(body), body)
}
