package app_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"maps"
	"net/http"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/bezoar-dev/bezoar/internal/app"
	"github.com/bezoar-dev/bezoar/internal/control/adminapi"
	"github.com/bezoar-dev/bezoar/internal/control/config"
	"github.com/bezoar-dev/bezoar/internal/process/cgroup"
)

// fileVar names the settings file of a Bezoar that runs as a child.
const fileVar = "APP_TEST_FILE"

// addresses is where a node listens.
type addresses struct{ Listen, SQS, Admin string }

func addressesOf(a *app.App) addresses { return addresses{a.Addr(), a.SQSAddr(), a.AdminAddr()} }

// node is a running Bezoar that serves queues.
type node struct {
	t       *testing.T
	url     string // of the gateway
	sqs     string // of the SQS endpoint
	admin   *adminapi.Client
	adminAt string
	http    *http.Client
	app     *app.App  // nil in a process of its own
	cmd     *exec.Cmd // nil in this process
	stop    func()    // in good order
}

func newNode(t *testing.T, at addresses) *node {
	t.Helper()
	c, err := adminapi.New(adminapi.Config{Address: at.Admin, Actor: "test"})
	if err != nil {
		t.Fatal(err)
	}
	tr := &http.Transport{MaxIdleConnsPerHost: 64}
	t.Cleanup(func() { c.Close(); tr.CloseIdleConnections() })
	return &node{t: t, url: "http://" + at.Listen, sqs: "http://" + at.SQS, admin: c, adminAt: at.Admin, http: &http.Client{Transport: tr, Timeout: 30 * time.Second}}
}

// head is how every settings file of these tests begins.
func head(store, dir string) string {
	return fmt.Sprintf("admin: 127.0.0.1:0\nsqs: 127.0.0.1:0\nstore: %q\nstate_dir: %q\n", store, dir)
}

// sqliteIn is a store in a folder.
func sqliteIn(dir string) string { return "sqlite:" + filepath.Join(dir, "bezoar.db") }

// serve runs Bezoar in this process.
func serve(t *testing.T, settings string) *node { return serveWith(t, settings, app.Options{}) }

func serveWith(t *testing.T, settings string, opt app.Options) *node {
	t.Helper()
	cfg, err := config.ParseEdited("test.yaml", []byte(settings), opt.Settings.Edit)
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	a, err := app.New(ctx, cfg, opt)
	if err != nil {
		cancel()
		t.Fatal(err)
	}
	done := make(chan error, 1)
	go func() { done <- a.Run(ctx) }()
	n := newNode(t, addressesOf(a))
	n.app = a
	n.stop = sync.OnceFunc(func() {
		cancel()
		if err := ended(done); err != nil && !errors.Is(err, context.Canceled) {
			t.Errorf("Run: %v", err)
		}
	})
	t.Cleanup(n.stop)
	return n
}

// spawn runs Bezoar as a child that a test may kill.
// It is started by way of a command that gets it as its last argument, if there is one.
func spawn(t *testing.T, settings string, via ...string) *node {
	t.Helper()
	file := filepath.Join(t.TempDir(), "bezoar.yaml")
	if err := os.WriteFile(file, []byte(settings), 0o600); err != nil {
		t.Fatal(err)
	}
	exe, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	via = append(via, exe)
	cmd := exec.Command(via[0], via[1:]...)
	cmd.Env = append(os.Environ(), roleVar+"=node", fileVar+"="+file)
	var log syncBuffer
	cmd.Stderr, cmd.WaitDelay = &log, patience // its workers have it too
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	stop := sync.OnceFunc(func() {
		_ = cmd.Process.Signal(syscall.SIGTERM)
		_ = reap(t, cmd)
	})
	t.Cleanup(func() {
		stop()
		look(t, &log)
	})
	line, err := firstLine(cmd, out)
	if err != nil {
		t.Fatalf("Bezoar did not start: %v\n%s", err, log.String())
	}
	var at addresses
	if err := json.Unmarshal([]byte(line), &at); err != nil {
		t.Fatalf("Bezoar said %q: %v", line, err)
	}
	n := newNode(t, at)
	n.cmd, n.stop = cmd, stop
	return n
}

// runNode is what a child does that spawn has started.
func runNode() int {
	cfg, err := config.Load(os.Getenv(fileVar), nil)
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 2
	}
	if _, _, err := cgroup.LimitRuntime(os.Getenv); err != nil { // as the command line does
		fmt.Fprintln(os.Stderr, err)
		return 2
	}
	ctx, stop := signal.NotifyContext(context.Background(), syscall.SIGTERM)
	defer stop()
	err = app.Run(ctx, cfg, app.Options{
		Log:     slog.New(slog.NewTextHandler(os.Stderr, nil)),
		Started: func(a *app.App) { _ = json.NewEncoder(os.Stdout).Encode(addressesOf(a)) },
	})
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	return 0
}

// kill ends a child at once.
func (n *node) kill() {
	_ = n.cmd.Process.Kill()
	_ = reap(n.t, n.cmd)
}

func (n *node) queueURL(name string) string { return n.sqs + "/000000000000/" + name }

// call makes one SQS call, whose answer must be good.
func (n *node) call(action string, in map[string]any, out any) {
	n.t.Helper()
	if err := sqsCall(n.t.Context(), n.sqs, action, in, out); err != nil {
		n.t.Fatal(err)
	}
}

func (n *node) sendMessage(queue, body string) {
	n.t.Helper()
	n.call("SendMessage", map[string]any{"QueueUrl": n.queueURL(queue), "MessageBody": body}, nil)
}

// received is a message as SQS clients see it.
type received struct {
	MessageId, Body, ReceiptHandle string //nolint:revive,staticcheck // named by the protocol
	MessageAttributes              map[string]struct{ DataType, StringValue string }
	Attributes                     map[string]string
}

// receive takes what is there, waiting at most for a while.
func (n *node) receive(queue string, more map[string]any) []received {
	n.t.Helper()
	in := map[string]any{
		"QueueUrl": n.queueURL(queue), "MaxNumberOfMessages": 10, "WaitTimeSeconds": 5,
		"MessageAttributeNames": []string{"All"}, "AttributeNames": []string{"All"},
	}
	maps.Copy(in, more)
	var got struct{ Messages []received }
	n.call("ReceiveMessage", in, &got)
	return got.Messages
}

// receiveOne takes one message, which must be there.
func (n *node) receiveOne(queue string) received {
	n.t.Helper()
	got := n.receive(queue, map[string]any{"MaxNumberOfMessages": 1})
	if len(got) != 1 {
		n.t.Fatalf("received %d messages from %s, want 1", len(got), queue)
	}
	return got[0]
}

func (n *node) deleteMessage(queue string, m received) {
	n.t.Helper()
	n.call("DeleteMessage", map[string]any{"QueueUrl": n.queueURL(queue), "ReceiptHandle": m.ReceiptHandle}, nil)
}

// report gives a message back with an outcome.
func (n *node) report(queue string, m received, outcome string) {
	n.t.Helper()
	n.call("ChangeMessageVisibility", map[string]any{
		"QueueUrl": n.queueURL(queue), "ReceiptHandle": m.ReceiptHandle, "VisibilityTimeout": 0, "BezoarOutcome": json.RawMessage(outcome),
	}, nil)
}

func (n *node) queue(name string) adminapi.Queue {
	n.t.Helper()
	q, err := n.admin.Queue(n.t.Context(), name)
	if err != nil {
		n.t.Fatal(err)
	}
	return q
}

// bodies lists what is in a queue, in whatever state.
func (n *node) bodies(name string) (all []string) {
	n.t.Helper()
	after := int64(0)
	for {
		page, err := n.admin.Peek(n.t.Context(), name, after, adminapi.MaxPeek)
		if err != nil {
			var p *adminapi.Problem
			if errors.As(err, &p) && p.Code == adminapi.CodeNotFound && strings.Contains(name, "-dlq") {
				return all // an implicit one that was never needed
			}
			n.t.Fatal(err)
		}
		if len(page) == 0 {
			return all
		}
		for _, m := range page {
			all = append(all, string(m.Body))
			after = m.Sequence
		}
	}
}

// until waits for what is true sooner or later.
func (n *node) until(what string, ok func() bool) {
	n.t.Helper()
	until(n.t, 2*time.Minute, what, ok)
}
