package app_test

import (
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strconv"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/bezoar-dev/bezoar/internal/app"
	"github.com/bezoar-dev/bezoar/internal/control/adminapi"
	"github.com/bezoar-dev/bezoar/internal/triage"
	"github.com/bezoar-dev/bezoar/internal/triage/alarm"
	"github.com/bezoar-dev/bezoar/internal/triage/tell"
	"github.com/bezoar-dev/bezoar/queue"
)

// An alarm tells its webhook once that it fires, and once that it is over. The
// body is signed.
func TestAlarmsFireOnceAndResolve(t *testing.T) {
	t.Setenv("BEZOAR_APP_TEST_HOOK", "a-secret-of-the-hook")
	events := make(chan alarm.Event, 100)
	hook := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		body, err := io.ReadAll(r.Body)
		if err != nil {
			t.Error(err)
		}
		stamp, signature, _ := strings.Cut(r.Header.Get(tell.SignatureHeader), ",")
		seconds, err := strconv.ParseInt(strings.TrimPrefix(stamp, "t="), 10, 64)
		if err != nil || signature != "v1="+tell.Sign("a-secret-of-the-hook", time.Unix(seconds, 0), body) {
			t.Errorf("signature %q of %s", r.Header.Get(tell.SignatureHeader), body)
		}
		var e alarm.Event
		if err := json.Unmarshal(body, &e); err != nil {
			t.Error(err)
		}
		events <- e
	}))
	defer hook.Close()
	var ahead atomic.Int64 // of the alarms' clock
	now := func() time.Time { return time.Now().Add(time.Duration(ahead.Load())) }
	dir := t.TempDir()
	n := serveWith(t, head(sqliteIn(dir), dir)+fmt.Sprintf(`queues:
  jobs: {retry: {base: 1ms, cap: 1ms}}
alarms:
  any-dead: {queue: jobs-dlq, depth_above: 0, webhook: %q, secret_env: BEZOAR_APP_TEST_HOOK}
  many-dead: {depth_above: 1000, webhook: %q, secret_env: BEZOAR_APP_TEST_HOOK}
`, hook.URL, hook.URL), app.Options{Alarms: alarm.Config{Every: 20 * time.Millisecond, Now: now}})
	next := func() alarm.Event {
		t.Helper()
		select {
		case e := <-events:
			return e
		case <-time.After(time.Minute):
			t.Fatal("the webhook hears nothing")
		}
		panic("unreachable")
	}
	looks := func() { // two more looks at all alarms have ended
		t.Helper()
		before := time.Now()
		n.until("the alarms have looked", func() bool {
			all, err := n.admin.Alarms(t.Context())
			if err != nil || len(all) == 0 {
				return false // they have just begun
			}
			for _, a := range all {
				if !a.Looked.Add(-time.Duration(ahead.Load())).After(before.Add(50 * time.Millisecond)) {
					return false
				}
			}
			return true
		})
	}
	die := func(body string) {
		t.Helper()
		n.sendMessage("jobs", body)
		for range 2 {
			n.report("jobs", n.receiveOne("jobs"), `{"class":"invalid","failure":"parse","reason":"no such field"}`)
		}
	}
	looks()
	die(`{"letter":"number 1"}`)
	if e := next(); e.Alarm != "any-dead" || e.Status != alarm.Firing || e.Value != 1 || len(e.Groups) != 1 || !strings.Contains(e.Groups[0].Reason, "no such field") {
		t.Errorf("heard %+v", e)
	}
	die(`{"letter":"number 2"}`)
	n.until("that it was told is written down", func() bool { return alarms(t, n)[0].Told == 1 })
	looks()
	for _, a := range alarms(t, n) {
		if firing := a.Name == "any-dead"; a.Firing != firing || firing && (a.Value != 2 || a.Told != 1) || a.Failure != "" {
			t.Errorf("stands at %+v", a)
		}
	}
	// All letters go, and it stays calm for long enough.
	order := adminapi.Order{Verb: triage.Discard, Selection: queue.Selection{Queue: "jobs-dlq"}, Expect: 2}
	if _, err := n.admin.Do(t.Context(), order); err != nil {
		t.Fatal(err)
	}
	n.until("the letters are gone", func() bool { return len(n.bodies("jobs-dlq")) == 0 })
	looks()
	ahead.Store(int64(2 * time.Minute))
	if e := next(); e.Alarm != "any-dead" || e.Status != alarm.Resolved {
		t.Errorf("heard %+v", e)
	}
	looks()
	select {
	case e := <-events:
		t.Errorf("heard once more: %+v", e)
	default:
	}
}

func alarms(t *testing.T, n *node) []adminapi.Alarm {
	t.Helper()
	all, err := n.admin.Alarms(t.Context())
	if err != nil || len(all) != 2 || all[0].Name != "any-dead" {
		t.Fatalf("alarms: %+v, %v", all, err)
	}
	return all
}
