package app_test

import (
	"strings"
	"testing"
	"time"

	"github.com/bezoar-dev/bezoar"
	"github.com/bezoar-dev/bezoar/internal/control/adminapi"
	"github.com/bezoar-dev/bezoar/queue"
)

// What operators do is written down, and what they tried as well.
func TestOperatorsAreWrittenDown(t *testing.T) {
	t.Parallel()
	r, _ := steered(t)
	ctx := t.Context()
	must := func(err error) {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
	}
	_, err := r.admin.CreateQueue(ctx, adminapi.CreateQueue{Name: "jobs"})
	must(err)
	_, err = r.admin.Send(ctx, "jobs", []adminapi.Send{{Body: []byte("a")}, {Body: []byte("b")}})
	must(err)
	must(r.admin.Purge(ctx, "jobs"))
	must(r.admin.Pause(ctx, "jobs", queue.Pause{Reason: "a migration", Until: time.Now().Add(time.Hour)}))
	must(r.admin.Resume(ctx, "jobs"))
	payload := bezoar.Fingerprint{1}
	must(r.admin.Pardon(ctx, "jobs", payload))
	must(r.admin.DeleteQueue(ctx, "jobs"))
	wantProblem(t, r.admin.Purge(ctx, "jobs"), adminapi.CodeNotFound)
	v, err := r.admin.Add(ctx, adminapi.Add{Request: &adminapi.AddRequest{Method: "GET", Target: "/pill"}, For: adminapi.Duration(time.Hour), Reason: "seen elsewhere"})
	must(err)
	must(r.admin.Release(ctx, v.ID))
	_, err = r.admin.Restart(ctx, "app")
	must(err)
	wantProblem(t, r.admin.Discard(ctx, "dl-none"), adminapi.CodeNotFound)
	_, err = r.admin.Redrive(ctx, "dl-none")
	wantProblem(t, err, adminapi.CodeNotFound)
	r.audited("queue.create queue jobs", "queue.purge queue jobs", "queue.pause queue jobs", "queue.resume queue jobs", "queue.pardon payload "+payload.String()+" of queue jobs",
		"queue.delete queue jobs", "quarantine.add verdict "+v.ID, "quarantine.release verdict "+v.ID, "fleet.restart fleet app",
		"letter.discard letter dl-none", "letter.redrive letter dl-none")
	entries, err := r.admin.Audit(ctx, 0, 100)
	must(err)
	for _, e := range entries {
		detail := string(e.Detail)
		switch e.Action {
		case "queue.purge":
			if held := strings.Contains(detail, `"messages":2`); held == (e.Error != "") {
				t.Errorf("a purge: %s %s", detail, e.Error)
			}
		case "queue.pause":
			if !strings.Contains(detail, "a migration") || !strings.Contains(detail, `"for":"1h0m0s"`) {
				t.Errorf("a pause: %s", detail)
			}
		case "quarantine.add":
			if !strings.Contains(detail, `"work":"GET /pill"`) || !strings.Contains(detail, `"for":"1h0m0s"`) || !strings.Contains(detail, "seen elsewhere") {
				t.Errorf("an order: %s", detail)
			}
		case "quarantine.release":
			if !strings.Contains(detail, `"work":"GET /pill"`) {
				t.Errorf("a release does not say of what: %s", detail)
			}
		case "letter.discard", "letter.redrive":
			if e.Error == "" {
				t.Errorf("%s of nothing has no error", e.Action)
			}
		}
	}
}
