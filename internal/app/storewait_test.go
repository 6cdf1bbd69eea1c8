package app_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/http"
	"net/http/httptest"
	"net/url"
	"os"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/bezoar-dev/bezoar/internal/app"
	"github.com/bezoar-dev/bezoar/internal/control/adminapi"
	"github.com/bezoar-dev/bezoar/internal/control/config"
)

// starting is a Bezoar on its way, perhaps still waiting for its store.
type starting struct {
	t    *testing.T
	log  syncBuffer
	end  context.CancelFunc
	node chan *app.App // has it once it is there
	done chan error
}

func begin(t *testing.T, cfg config.Config, leave <-chan struct{}) *starting {
	t.Helper()
	ctx, cancel := context.WithCancel(t.Context())
	s := &starting{t: t, end: cancel, node: make(chan *app.App, 1), done: make(chan error, 1)}
	go func() {
		s.done <- app.Run(ctx, cfg, app.Options{
			Log: slog.New(slog.NewJSONHandler(&s.log, nil)), Leave: leave,
			Started: func(a *app.App) { s.node <- a },
		})
	}()
	t.Cleanup(func() {
		cancel()
		<-s.done
		if t.Failed() {
			t.Log(s.log.String())
		}
	})
	return s
}

// ended is how it has ended.
func (s *starting) ended() error {
	s.t.Helper()
	select {
	case err := <-s.done:
		s.done <- err
		return err
	case <-time.After(time.Minute):
		s.t.Fatal("it goes on")
		return nil
	}
}

// waits returns where the admin API will be, once the log says that the store
// is waited for.
func (s *starting) waits() (admin string) {
	s.t.Helper()
	until(s.t, time.Minute, "it waits for the store", func() bool {
		for line := range strings.Lines(s.log.String()) {
			var e struct{ Msg, Admin string }
			if json.Unmarshal([]byte(line), &e) == nil && strings.HasPrefix(e.Msg, "the store does not answer") {
				admin = e.Admin
			}
		}
		return admin != ""
	})
	return admin
}

func ask(t *testing.T, address string) (status int, text string) {
	t.Helper()
	resp, err := http.Get(address)
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	body, err := io.ReadAll(resp.Body)
	if err != nil {
		t.Fatal(err)
	}
	return resp.StatusCode, string(body)
}

func waiting(t *testing.T, store, worker, wait string) config.Config {
	t.Helper()
	cfg, err := config.Parse("test.yaml", fmt.Appendf(nil, `
listen: 127.0.0.1:0
admin: 127.0.0.1:0
store: %q
store_wait: %s
state_dir: %q
fleets: {app: {workers: [%q]}}
routes: [{match: {path: /*}, fleet: app, retry: {attempts: 1}}]
`, store, wait, t.TempDir(), worker))
	if err != nil {
		t.Fatal(err)
	}
	return cfg
}

// A node that starts while its PostgreSQL is away waits, says so to whoever
// asks, and when it serves it knows what was quarantined.
func TestStartWaitsForItsStore(t *testing.T) {
	t.Parallel()
	server := os.Getenv("BEZOAR_TEST_POSTGRES")
	if server == "" {
		t.Skip("no PostgreSQL: run make test, or export BEZOAR_TEST_POSTGRES=$(scripts/postgres start)")
	}
	var pills atomic.Int64
	worker := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		if r.URL.Path == "/pill" {
			pills.Add(1)
		}
	}))
	defer worker.Close()
	w, through := newWire(t, newDatabase(t, server))
	cfg := waiting(t, through, worker.URL, "5m")

	before := begin(t, cfg, nil)
	admin, err := adminapi.New(adminapi.Config{Address: (<-before.node).AdminAddr(), Actor: "test"})
	if err != nil {
		t.Fatal(err)
	}
	defer admin.Close()
	if _, err := admin.Add(t.Context(), adminapi.Add{
		Request: &adminapi.AddRequest{Method: "GET", Target: "/pill"}, For: adminapi.Duration(time.Hour),
	}); err != nil {
		t.Fatal(err)
	}
	before.end()
	if err := before.ended(); err != nil {
		t.Fatal(err)
	}

	w.set(true)
	s := begin(t, cfg, nil)
	at := "http://" + s.waits()
	if status, text := ask(t, at+"/livez"); status != http.StatusOK {
		t.Errorf("livez says %d %q", status, text)
	}
	for _, path := range []string{"/readyz", "/healthz", "/api/v1/fleets", "/"} {
		if status, text := ask(t, at+path); status != http.StatusServiceUnavailable || text != "not ready: store unreachable\n" {
			t.Errorf("%s says %d %q", path, status, text)
		}
	}
	w.set(false)
	a := <-s.node
	if "http://"+a.AdminAddr() != at {
		t.Errorf("the admin API is at %s, was waiting at %s", a.AdminAddr(), at)
	}
	until(t, time.Minute, "it is ready", func() bool { status, _ := ask(t, at+"/readyz"); return status == http.StatusOK })
	if status, text := ask(t, "http://"+a.Addr()+"/pill"); status != http.StatusServiceUnavailable || pills.Load() != 0 {
		t.Errorf("what is quarantined is answered %d %q, and %d workers had it", status, text, pills.Load())
	}
	if status, _ := ask(t, "http://"+a.Addr()+"/good"); status != http.StatusOK {
		t.Errorf("what is not is answered %d", status)
	}
	http.DefaultClient.CloseIdleConnections()
}

// What waiting cannot mend ends it at once.
func TestAWrongPasswordIsNotWaitedFor(t *testing.T) {
	t.Parallel()
	server := os.Getenv("BEZOAR_TEST_POSTGRES")
	if server == "" {
		t.Skip("no PostgreSQL: run make test, or export BEZOAR_TEST_POSTGRES=$(scripts/postgres start)")
	}
	u, err := url.Parse(server)
	if err != nil {
		t.Fatal(err)
	}
	u.User = url.UserPassword(u.User.Username(), "wrong")
	s := begin(t, waiting(t, u.String(), "http://127.0.0.1:1", "24h"), nil)
	if err := s.ended(); err == nil || !strings.Contains(err.Error(), "does not let this user in") {
		t.Errorf("it ended with %v", err)
	}
}

// nobody is an address where every connection ends at once.
func nobody(t *testing.T) string {
	t.Helper()
	ln, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		for {
			c, err := ln.Accept()
			if err != nil {
				return
			}
			c.Close()
		}
	}()
	t.Cleanup(func() { ln.Close(); <-ended })
	return "postgres://app:hunter2@" + ln.Addr().String() + "/db?sslmode=disable"
}

func TestAStoreThatDoesNotComeEndsTheStart(t *testing.T) {
	t.Parallel()
	for wait, want := range map[string]string{"400ms": "waited 400ms for the store (store_wait)", "0s": "open the postgres store"} {
		s := begin(t, waiting(t, nobody(t), "http://127.0.0.1:1", wait), nil)
		err := s.ended()
		if err == nil || !strings.Contains(err.Error(), want) || !strings.Contains(err.Error(), "cannot be reached") {
			t.Fatalf("after %s: %v", wait, err)
		}
		if all := err.Error() + s.log.String(); strings.Contains(all, "hunter2") {
			t.Errorf("the password is told: %s", all)
		}
		if waited := strings.Contains(s.log.String(), "serves nothing until"); waited != (wait != "0s") {
			t.Errorf("after %s the log is %q", wait, s.log.String())
		}
	}
}

func TestTheWaitForTheStoreCanBeEnded(t *testing.T) {
	t.Parallel()
	leave := make(chan struct{})
	s := begin(t, waiting(t, nobody(t), "http://127.0.0.1:1", "24h"), leave)
	admin := s.waits()
	silent, err := net.Dial("tcp", admin) // holds nothing up
	if err != nil {
		t.Fatal(err)
	}
	defer silent.Close()
	close(leave)
	if err := s.ended(); !errors.Is(err, context.Canceled) {
		t.Errorf("told to leave, it ended with %v", err)
	}
	if resp, err := http.Get("http://" + admin + "/livez"); err == nil {
		resp.Body.Close()
		if resp.StatusCode == http.StatusOK {
			t.Error("the admin address still answers")
		}
	}
	s = begin(t, waiting(t, nobody(t), "http://127.0.0.1:1", "24h"), nil)
	s.waits()
	s.end()
	if err := s.ended(); !errors.Is(err, context.Canceled) {
		t.Errorf("stopped, it ended with %v", err)
	}
}
