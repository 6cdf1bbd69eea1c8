package alarm

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/bezoar-dev/bezoar/internal/triage"
	"github.com/bezoar-dev/bezoar/internal/triage/tell"
)

func alarms(t *testing.T, c Config) *Alarms {
	t.Helper()
	c.Letters = &triage.Service{} // is not asked
	a, err := New(c)
	if err != nil {
		t.Fatal(err)
	}
	return a
}

func event() Event {
	return Event{ID: "e1", Alarm: "any", Status: Firing, Kind: Depth, Queue: "*", Text: "three", Value: 3, At: time.Unix(1, 0).UTC()}
}

func TestAWebhookIsSigned(t *testing.T) {
	a := alarms(t, Config{})
	got := make(chan error, 1)
	server := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, req *http.Request) {
		body, err := io.ReadAll(req.Body)
		if err != nil {
			got <- err
			return
		}
		seconds, mac, ok := strings.Cut(strings.TrimPrefix(req.Header.Get(tell.SignatureHeader), "t="), ",v1=")
		at, err := strconv.ParseInt(seconds, 10, 64)
		var e Event
		switch {
		case err != nil || !ok || time.Since(time.Unix(at, 0)).Abs() > time.Minute:
			got <- fmt.Errorf("the signature is %q", req.Header.Get(tell.SignatureHeader))
		case mac != tell.Sign("hunter2", time.Unix(at, 0), body) || mac == tell.Sign("other", time.Unix(at, 0), body):
			got <- fmt.Errorf("the signature is wrong")
		case json.Unmarshal(body, &e) != nil || e.ID != "e1" || req.Header.Get(tell.EventHeader) != "e1" || req.Header.Get("Content-Type") != "application/json":
			got <- fmt.Errorf("the request is %s with %v", body, req.Header)
		default:
			got <- nil
		}
	}))
	defer server.Close()
	if err := a.deliver(t.Context(), Rule{Name: "any", Webhook: server.URL + "/T0/x", Secret: "hunter2"}, event()); err != nil {
		t.Fatal(err)
	}
	if err := <-got; err != nil {
		t.Error(err)
	}
}

func TestAWebhookIsTriedUntilItAnswers(t *testing.T) {
	for name, c := range map[string]struct {
		answers []int // the last one again and again
		tries   int32
		fails   string
	}{
		"at once":       {[]int{204}, 1, ""},
		"busy":          {[]int{503, 429, 200}, 3, ""},
		"refuses":       {[]int{401}, 1, "401"},
		"is elsewhere":  {[]int{307}, 1, "307"},
		"never answers": {[]int{500}, tell.Tries, "500"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			var tries atomic.Int32
			server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
				n := int(tries.Add(1))
				w.Header().Set("Location", "/elsewhere")
				w.WriteHeader(c.answers[min(n, len(c.answers))-1])
			}))
			defer server.Close()
			err := alarms(t, Config{}).deliver(t.Context(), Rule{Webhook: server.URL + "/secret"}, event())
			switch {
			case tries.Load() != c.tries:
				t.Errorf("tried %d times, want %d", tries.Load(), c.tries)
			case (err == nil) != (c.fails == ""):
				t.Errorf("the error is %v", err)
			case err != nil && (!strings.Contains(err.Error(), c.fails) || strings.Contains(err.Error(), "secret")):
				t.Errorf("the error is %v, want one that says %s and not the path", err, c.fails)
			}
		})
	}
}

// sh is a rule that runs a script in a folder of its own.
func sh(t *testing.T, script string) (Rule, string) {
	t.Helper()
	dir := t.TempDir()
	return Rule{Name: "any", Command: []string{"/bin/sh", "-c", "cd " + dir + " && " + script}}, dir
}

func TestACommandGetsTheEvent(t *testing.T) {
	environ := []string{
		"PATH=" + os.Getenv("PATH"), "KEEP=1", "BEZOAR_SECRET=hunter2", "HOOK=hunter2", "NOTIFY_SOCKET=/run/x", "LISTEN_FDS=1", "WATCHDOG_USEC=1",
	}
	a := alarms(t, Config{Environ: environ, Secrets: []string{"HOOK"}})
	r, dir := sh(t, "cat > event && env | sort > environ")
	if err := a.deliver(t.Context(), r, event()); err != nil {
		t.Fatal(err)
	}
	raw, err := os.ReadFile(filepath.Join(dir, "event"))
	var e Event
	if err != nil || json.Unmarshal(raw, &e) != nil || e.Text != "three" {
		t.Errorf("on stdin there was %s, %v", raw, err)
	}
	env, err := os.ReadFile(filepath.Join(dir, "environ"))
	if err != nil {
		t.Fatal(err)
	}
	lines := strings.Split(string(env), "\n")
	for _, want := range []string{"KEEP=1", "BEZOAR_ALARM=any", "BEZOAR_ALARM_STATUS=firing"} {
		if !slices.Contains(lines, want) {
			t.Errorf("the environment has no %s:\n%s", want, env)
		}
	}
	for _, not := range []string{"hunter2", "NOTIFY_SOCKET", "LISTEN_FDS", "WATCHDOG_USEC"} {
		if bytes.Contains(env, []byte(not)) {
			t.Errorf("the environment has %s:\n%s", not, env)
		}
	}
}

func TestACommandThatFailsSaysWhy(t *testing.T) {
	a := alarms(t, Config{})
	r, _ := sh(t, "head -c 5000 /dev/zero | tr '\\0' x >&2; echo no pager >&2; exit 3")
	err := a.deliver(t.Context(), r, event())
	if err == nil || !strings.Contains(err.Error(), "exit status 3") || !strings.HasSuffix(err.Error(), "no pager") || len(err.Error()) > 1024+200 {
		t.Errorf("the error is %v", err)
	}
	if err := a.deliver(t.Context(), Rule{Command: []string{"/nowhere/x"}}, event()); err == nil || !strings.Contains(err.Error(), "/nowhere/x") {
		t.Errorf("the error is %v", err)
	}
	// It does not have to read what it gets.
	big := event()
	big.Text = strings.Repeat("x", 1<<20)
	if r, _ := sh(t, "exit 0"); a.deliver(t.Context(), r, big) != nil {
		t.Error("a command that reads nothing failed")
	}
}

// When its time is up, and when its leader has ended, nothing of a command's
// group is left: a grandchild held a pipe, and its end is seen.
func TestNothingOfACommandIsLeft(t *testing.T) {
	for name, c := range map[string]struct {
		script string
		killed bool
	}{
		"is killed":     {"exec 3> pipe; sleep 1000 & wait", true},
		"left a child":  {"exec 3> pipe; sleep 1000 2> /dev/null & exit 0", false},
		"holds stderr":  {"exec 3> pipe; sleep 1000 & exit 0", false},
		"ignores TERM":  {"trap '' TERM; exec 3> pipe; sleep 1000", true},
		"does not read": {"exec 3> pipe; while :; do sleep 1; done", true},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			r, dir := sh(t, c.script)
			pipe := filepath.Join(dir, "pipe")
			if err := syscall.Mkfifo(pipe, 0o600); err != nil {
				t.Fatal(err)
			}
			ctx, cancel := context.WithCancel(t.Context())
			defer cancel()
			ended := make(chan error, 1)
			a := alarms(t, Config{Environ: os.Environ()})
			go func() { ended <- a.deliver(ctx, r, event()) }()
			held, err := os.Open(pipe) // returns when the other end is open, too
			if err != nil {
				t.Fatal(err)
			}
			defer held.Close()
			if c.killed {
				cancel()
			}
			if err := <-ended; (err != nil) != c.killed {
				t.Errorf("the command ended with %v", err)
			}
			if _, err := io.ReadAll(held); err != nil {
				t.Fatal(err)
			}
		})
	}
}
