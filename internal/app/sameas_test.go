package app_test

import (
	"fmt"
	"os"
	"strings"
	"testing"

	"github.com/bezoar-dev/bezoar"
	"github.com/bezoar-dev/bezoar/internal/control/adminapi"
	"github.com/bezoar-dev/bezoar/queue"
)

// What has killed a fleet's workers as a request is suspect as a message: it is
// delivered alone.
func TestABodyThatKilledTheFleetIsASuspectMessage(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	n := serve(t, head(sqliteIn(dir), dir)+fmt.Sprintf(`listen: 127.0.0.1:0
fleets:
  app: {command: [%q], replicas: 3, env: {%s: worker}}
routes:
  - {match: {path: /*}, fleet: app, retry: {replay: all}}
queues:
  jobs: {same_as: app}
  others: {}
`, os.Getenv(workVar), roleVar))
	n.until("the workers serve", func() bool {
		fleets, err := n.admin.Fleets(t.Context())
		return err == nil && len(fleets) == 1 && fleets[0].State == "ok"
	})
	const body = `{"item":"crash"}`
	for range 2 {
		n.ask("POST", "/orders", "application/json", strings.NewReader(body))
	}
	var known []adminapi.Payload
	n.until("the queue has heard of it", func() bool {
		all, err := n.admin.Payloads(t.Context(), "jobs")
		known = all
		return err == nil && len(known) == 1
	})
	if p := known[0]; p.State != "suspect" || p.Class != bezoar.Crash || !strings.Contains(p.Reason, "convicted as a request to fleet app") {
		t.Errorf("the queue knows %+v", p)
	}
	if other, err := n.admin.Payloads(t.Context(), "others"); err != nil || len(other) != 0 {
		t.Errorf("a queue that is other work knows %+v, %v", other, err)
	}
	for i := range 3 {
		n.sendMessage("jobs", fmt.Sprintf(`{"item":"good %d"}`, i))
	}
	n.sendMessage("jobs", ` {"item": "crash"} `) // the same in canonical form
	for i := range 3 {
		n.sendMessage("jobs", fmt.Sprintf(`{"item":"better %d"}`, i))
	}
	alone := 0
	for left := 7; left > 0; {
		got, err := n.app.Queues().Receive(t.Context(), "jobs", queue.ReceiveInput{Max: 10, Worker: "w"})
		if err != nil {
			t.Fatal(err)
		}
		for _, m := range got {
			if strings.Contains(string(m.Body), "crash") {
				if alone++; len(got) != 1 || !m.Alone {
					t.Errorf("the suspect came with %d others", len(got)-1)
				}
			}
			if err := n.app.Queues().Delete(t.Context(), "jobs", m.Receipt); err != nil {
				t.Fatal(err)
			}
			left--
		}
	}
	if alone != 1 {
		t.Errorf("the suspect came %d times", alone)
	}
}
