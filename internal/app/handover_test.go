package app_test

import (
	"context"
	"fmt"
	"net"
	"net/http"
	"net/http/httptest"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/bezoar-dev/bezoar/internal/app"
	"github.com/bezoar-dev/bezoar/internal/control/config"
	"github.com/bezoar-dev/bezoar/internal/state/handover"
)

// predecessor has a socket, which it hands over as soon as it is asked, and keeps.
func predecessor(t *testing.T, dir string) (ln net.Listener, handed <-chan struct{}) {
	t.Helper()
	before := &handover.Sockets{}
	ln, err := before.Listen(handover.HTTP, "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { ln.Close() })
	offer, err := before.Offer(dir)
	if err != nil {
		t.Fatal(err)
	}
	done := make(chan struct{})
	go func() {
		defer close(done)
		next, err := offer.Await(t.Context())
		if next != nil {
			next.Release()
			_, err = next.Serves(t.Context(), patience)
		}
		if err != nil {
			t.Error(err)
		}
	}()
	t.Cleanup(func() { <-done })
	return ln, done
}

// Who waits since before the process began waits for the first worker as well, and
// gets no 503 for that there is none yet.
func TestWhoWaitedForTheProcessWaitsForAWorker(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	var looks atomic.Int64
	worker := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path == "/healthz" && looks.Add(1) < 13 { // longer than callers otherwise wait for a first worker
			w.WriteHeader(http.StatusServiceUnavailable)
		}
	}))
	t.Cleanup(worker.Close)

	ln, handed := predecessor(t, dir)
	answered := make(chan int, 1)
	go func() {
		status := 0
		if resp, err := http.Get("http://" + ln.Addr().String() + "/"); err == nil {
			status = resp.StatusCode
			resp.Body.Close()
		}
		answered <- status
	}()
	n := serveWith(t, fmt.Sprintf(`
listen: 127.0.0.1:0
admin: 127.0.0.1:0
store: "memory:"
state_dir: %q
fleets: {app: {workers: [%q], health: {path: /healthz, interval: 100ms, timeout: 100ms}}}
routes: [{match: {path: /*}, fleet: app}]
`, dir, worker.URL), app.Options{TakeOver: true})
	<-handed
	ln.Close()
	if got := n.app.Addr(); got != ln.Addr().String() {
		t.Errorf("it serves on %s, not on %s", got, ln.Addr())
	}
	if status := <-answered; status != http.StatusOK {
		t.Errorf("who waited got %d", status)
	}
}

// One that is replaced before it has a worker leaves the callers to the next.
func TestWhoIsReplacedTooSoonTakesNobody(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	ln, _ := predecessor(t, dir)
	c, err := net.Dial("tcp", ln.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	started := make(chan struct{})
	n := serveWith(t, fmt.Sprintf(`
listen: 127.0.0.1:0
admin: 127.0.0.1:0
store: "memory:"
state_dir: %q
fleets: {app: {workers: ["http://127.0.0.1:1"]}}
routes: [{match: {path: /*}, fleet: app}]
`, dir), app.Options{TakeOver: true, Started: func(*app.App) { close(started) }})
	<-started
	n.stop()
	if err := ln.(*net.TCPListener).SetDeadline(time.Now().Add(patience)); err != nil {
		t.Fatal(err)
	}
	next, err := ln.Accept()
	if err != nil {
		t.Fatalf("who waited was taken: %v", err)
	}
	next.Close()
}

// What is wrong with the files of the one that follows is known before the one
// that runs ends.
func TestABadSuccessorTakesNothing(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	before := &handover.Sockets{}
	offer, err := before.Offer(dir)
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	took := make(chan *handover.Successor, 1)
	go func() {
		next, err := offer.Await(ctx)
		if err != nil {
			t.Error(err)
		}
		took <- next
	}()
	taken, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer taken.Close()
	const route = "\nroutes: [{match: {path: /*}, fleet: f}]"
	for want, more := range map[string]string{
		"tls:": "tls: {cert: /none, key: /none}", "admin_token_file:": "admin_token_file: /none", "access_keys.a.secret_file:": "access_keys: {a: {secret_file: /none}}",
		"sqs_tls:": "sqs_tls: {cert: /none, key: /none}", "queues.jobs.schema:": "queues: {jobs: {schema: /none}}", "BEZOAR_TEST_NONE": `alarms: {a: {depth_above: 0, webhook: "http://h/", secret_env: BEZOAR_TEST_NONE}}`,
		"fleets.f.tls:": `fleets: {f: {workers: ["https://127.0.0.1:1"], tls: {ca: /none}}}` + route, "fleets.f.user:": "fleets: {f: {command: [./x], user: bezoar-test-nobody}}" + route,
		"hints:": "fleets: {f: {command: [./x]}}\nroutes: [{match: {path: /*}, fleet: f, guard: {query: elasticsearch, hints: /none}}]",
		"admin:": "admin: " + taken.Addr().String(), "state directory": `state_dir: ""`,
	} {
		text := "listen: 127.0.0.1:0\nsqs: 127.0.0.1:0\nstore: \"memory:\"\n" + more + "\n"
		if !strings.HasPrefix(more, "state_dir") {
			text += fmt.Sprintf("state_dir: %q\n", dir)
		}
		if !strings.HasPrefix(more, "admin:") {
			text += "admin: 127.0.0.1:0\n"
		}
		cfg, err := config.Parse("test.yaml", []byte(text))
		if err != nil {
			t.Fatal(err)
		}
		if _, err := app.New(t.Context(), cfg, app.Options{TakeOver: true}); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: it has taken over, or says %v", more, err)
		}
	}
	if before.Outlive() {
		t.Error("the sockets are gone")
	}
	if c, err := net.Dial("unix", filepath.Join(dir, "takeover.sock")); err != nil {
		t.Error("nobody can take over any more")
	} else {
		c.Close()
	}
	cancel()
	if <-took != nil {
		t.Error("it would have ended")
	}
}
