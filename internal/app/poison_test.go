package app_test

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/bezoar-dev/bezoar/internal/app"
	"github.com/bezoar-dev/bezoar/internal/control/config"
	"github.com/bezoar-dev/bezoar/queue"
)

// What a consumer process is told.
const (
	sqsVar   = "APP_TEST_SQS"
	queueVar = "APP_TEST_QUEUE"
	diaryVar = "APP_TEST_DIARY" // a file to which it appends what it did
)

// sqsCall makes one call of the SQS protocol.
func sqsCall(ctx context.Context, endpoint, action string, in map[string]any, out any) error {
	body, err := json.Marshal(in)
	if err != nil {
		return err
	}
	ctx, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, endpoint, bytes.NewReader(body))
	if err != nil {
		return err
	}
	req.Header.Set("Content-Type", "application/x-amz-json-1.0")
	req.Header.Set("X-Amz-Target", "AmazonSQS."+action)
	res, err := http.DefaultClient.Do(req)
	if err != nil {
		return err
	}
	defer res.Body.Close()
	text, err := io.ReadAll(res.Body)
	if err != nil {
		return err
	}
	if res.StatusCode != http.StatusOK {
		return fmt.Errorf("%s: %s: %s", action, res.Status, text)
	}
	if out == nil {
		return nil
	}
	return json.Unmarshal(text, out)
}

// consumer receives batches, as any worker does that knows nothing of Bezoar,
// and dies of poison without a word.
func consumer() int {
	diary, err := os.OpenFile(os.Getenv(diaryVar), os.O_APPEND|os.O_CREATE|os.O_WRONLY, 0o600)
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	endpoint, queueURL := os.Getenv(sqsVar), os.Getenv(queueVar)
	for {
		var got struct {
			Messages []struct{ Body, ReceiptHandle string }
		}
		err := sqsCall(context.Background(), endpoint, "ReceiveMessage", map[string]any{"QueueUrl": queueURL, "MaxNumberOfMessages": 10, "WaitTimeSeconds": 5}, &got)
		if err != nil {
			fmt.Fprintln(os.Stderr, err)
			return 1
		}
		for _, m := range got.Messages {
			if strings.Contains(m.Body, "poison") {
				fmt.Fprintf(diary, "died of %s\n", m.Body)
				_ = syscall.Kill(os.Getpid(), syscall.SIGKILL)
				select {}
			}
			fmt.Fprintf(diary, "did %s\n", m.Body)
			if err := sqsCall(context.Background(), endpoint, "DeleteMessage", map[string]any{"QueueUrl": queueURL, "ReceiptHandle": m.ReceiptHandle}, nil); err != nil {
				fmt.Fprintln(os.Stderr, err)
				return 1
			}
			fmt.Fprintf(diary, "deleted %s\n", m.Body)
		}
	}
}

// hire keeps n consumers running until they are fired.
func hire(t *testing.T, n int, endpoint, queueURL, diary string) (fire func()) {
	t.Helper()
	exe, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	log := logOf(t)
	var crew sync.WaitGroup
	for range n {
		crew.Go(func() {
			for ctx.Err() == nil {
				cmd := exec.CommandContext(ctx, exe)
				cmd.Env = append(os.Environ(), roleVar+"=consumer", sqsVar+"="+endpoint, queueVar+"="+queueURL, diaryVar+"="+diary)
				cmd.Stderr, cmd.WaitDelay = log, patience
				_ = cmd.Run() // that it dies is the point
			}
		})
	}
	return func() { cancel(); crew.Wait() }
}

// logOf keeps what the processes of a test say, which is of interest when it
// fails.
func logOf(t *testing.T) *syncBuffer {
	log := new(syncBuffer)
	t.Cleanup(func() {
		if said := log.String(); t.Failed() && said != "" {
			t.Logf("its processes said:\n%s", said)
		}
	})
	return log
}

// Poison costs at most two consumers for each distinct body, however many
// messages carry it; every good message is done, and no innocent is set aside.
func TestPoisonMessagesInPlainConsumers(t *testing.T) {
	t.Parallel()
	messages, bodies, copies := 160, 4, 4
	if os.Getenv("BEZOAR_SOAK") != "" {
		messages, bodies, copies = 10_000, 20, 5
	}
	for _, s := range stores(t, "postgres") {
		t.Run(s.name, func(t *testing.T) {
			t.Parallel() // consumers mostly wait for what the dead have taken
			dir := t.TempDir()
			poisonRun(t, s.open(t, dir), dir, messages, bodies, copies)
		})
	}
}

func poisonRun(t *testing.T, store, dir string, messages, bodies, copies int) {
	cfg := setup{Store: store, StateDir: dir}.config()
	cfg.Fleets, cfg.Routes, cfg.Listen, cfg.SQS = nil, nil, "", "127.0.0.1:0"
	q := config.DefaultQueue()
	q.Visibility = 5 * time.Second // who takes longer for ten messages counts as dead
	cfg.Queues = map[string]config.Queue{"jobs": q}
	a, stop := launch(t, cfg.Normalize())
	defer stop()
	endpoint := "http://" + a.SQSAddr()
	queueURL := endpoint + "/000000000000/jobs"

	n := 0
	for at := 0; at < messages; at += 10 {
		var entries []map[string]any
		for i := at; i < at+10; i++ {
			body := fmt.Sprintf(`{"good":%d}`, i)
			if i%(messages/(bodies*copies)) == 7%(messages/(bodies*copies)) && n < bodies*copies {
				body = fmt.Sprintf(`{"poison":%d,"why":"it kills what handles it"}`, n%bodies)
				n++
			}
			entries = append(entries, map[string]any{"Id": fmt.Sprint(i), "MessageBody": body})
		}
		if err := sqsCall(t.Context(), endpoint, "SendMessageBatch", map[string]any{"QueueUrl": queueURL, "Entries": entries}, nil); err != nil {
			t.Fatal(err)
		}
	}
	diary := filepath.Join(dir, "diary")
	began := time.Now()
	fire := hire(t, 8, endpoint, queueURL, diary)
	defer fire()

	empty := func() bool {
		var got struct{ Attributes map[string]string }
		err := sqsCall(t.Context(), endpoint, "GetQueueAttributes", map[string]any{"QueueUrl": queueURL, "AttributeNames": []string{"All"}}, &got)
		if err != nil {
			t.Error(err)
			return true
		}
		return got.Attributes["ApproximateNumberOfMessages"] == "0" && got.Attributes["ApproximateNumberOfMessagesNotVisible"] == "0"
	}
	until(t, 5*time.Minute, "the queue is empty", empty)
	t.Logf("%d messages in %v", messages, time.Since(began).Round(time.Millisecond))

	deaths, done := readDiary(t, diary)
	all := 0
	for body, n := range deaths {
		all += n
		if n > 3 {
			t.Errorf("%s killed %d consumers, more than 3", body, n)
		}
	}
	// The first deaths of all may come while one or two consumers are known: somebody
	// may have stopped them, so that each of those counts for nothing yet.
	if most := 2*len(deaths) + 2; all > most {
		t.Errorf("%d consumers died of %d bodies, want at most %d", all, len(deaths), most)
	}
	t.Logf("%d deaths of %d bodies", all, len(deaths))
	if len(done) != messages-bodies*copies {
		t.Errorf("%d of %d good messages were done", len(done), messages-bodies*copies)
	}
	checkLetters(t, a, bodies, copies)
}

// readDiary counts what bodies killed, and what was done.
func readDiary(t *testing.T, file string) (deaths map[string]int, done map[string]bool) {
	t.Helper()
	text, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	deaths, done = map[string]int{}, map[string]bool{}
	for _, m := range regexp.MustCompile(`(?m)^(died of|did) (.*)$`).FindAllStringSubmatch(string(text), -1) {
		if m[1] == "did" {
			done[m[2]] = true
			continue
		}
		deaths[m[2]]++
	}
	return deaths, done
}

// checkLetters wants all poison in the dead-letter queue, a group for each
// body, and nothing else.
func checkLetters(t *testing.T, a *app.App, bodies, copies int) {
	t.Helper()
	groups, err := a.Triage().Groups(t.Context(), queue.Selection{}, 1000)
	if err != nil {
		t.Fatal(err)
	}
	if len(groups) != bodies {
		t.Errorf("%d groups of letters, want %d", len(groups), bodies)
	}
	for _, g := range groups {
		if g.Count != int64(copies) || g.Queue != "jobs-dlq" {
			t.Errorf("group %s in %s has %d letters, want %d in jobs-dlq: %s", g.Key, g.Queue, g.Count, copies, g.Reason)
		}
	}
}

// launch runs an App in this process.
func launch(t *testing.T, cfg config.Config) (a *app.App, stop func()) {
	t.Helper()
	ctx, cancel := context.WithCancel(t.Context())
	a, err := app.New(ctx, cfg, app.Options{})
	if err != nil {
		cancel()
		t.Fatal(err)
	}
	done := make(chan error, 1)
	go func() { done <- a.Run(ctx) }()
	return a, sync.OnceFunc(func() {
		cancel()
		if err := ended(done); err != nil && !errors.Is(err, context.Canceled) {
			t.Errorf("Run: %v", err)
		}
	})
}

// until waits for what is true sooner or later.
func until(t *testing.T, patience time.Duration, what string, ok func() bool) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	tick := time.NewTicker(50 * time.Millisecond)
	defer tick.Stop()
	for !ok() {
		select {
		case <-tick.C:
		case <-ctx.Done():
			t.Fatalf("gave up waiting until %s", what)
		}
	}
}
