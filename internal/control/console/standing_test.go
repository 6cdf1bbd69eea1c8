package console_test

import (
	"context"
	"strings"
	"testing"

	"github.com/bezoar-dev/bezoar"
	"github.com/bezoar-dev/bezoar/internal/control/admin"
	"github.com/bezoar-dev/bezoar/internal/control/adminapi"
	"github.com/bezoar-dev/bezoar/internal/test/browsertest"
	"github.com/bezoar-dev/bezoar/queue"
)

// shelved is a server's queues, as far as the first page asks for them.
type shelved struct {
	noQueueCalls
	queues []adminapi.Queue
}

// noQueueCalls are those that the first page does not make.
type noQueueCalls interface{ admin.Queues }

func (s shelved) Queues(context.Context, queue.ListQuery) (adminapi.Queues, error) {
	return adminapi.Queues{Queues: s.queues}, nil
}

func TestTheFirstPageShowsTheWorstFirst(t *testing.T) {
	t.Parallel()
	s := newStory() // its fleet, shop, is degraded
	calm := adminapi.Fleet{Name: "aaa", State: "ok", Managed: true, Workers: []adminapi.Worker{{Name: "aaa-0", State: "ready"}}, Lane: adminapi.Lane{Open: true}}
	s.others = []adminapi.Fleet{calm}
	s.letters = nil
	s.queues = &shelved{queues: []adminapi.Queue{
		{Name: "mails", State: "paused: 5 of 5 distinct payloads failed alike", DeadLetter: "mails-dlq", Visible: 7},
		{Name: "orders", State: "ok", DeadLetter: "orders-dlq", Visible: 3},
		{Name: "orders-dlq", State: "ok", DeadLetter: "orders-dlq-dlq", Implicit: true, Visible: 1500},
	}}
	s.alarms = []adminapi.Alarm{{Name: "calm", Kind: "depth", Queue: "*", Limit: 9999}, {Name: "too many", Kind: "depth", Queue: "orders-dlq", Firing: true, Value: 1500, Limit: 100}}
	p := browsertest.Start(t).Open(serve(t, s, new(admin.Hub), ""), browsertest.Look{})
	p.Wait(`document.querySelectorAll("#standing-rows tr").length === 7`)
	var got []string
	p.Eval(`[...document.querySelectorAll("#standing-rows tr")].map((r) => [...r.children].map((c) => c.textContent).join(" | "))`, &got)
	for i, want := range []string{
		"firing | alarm | too many | depth of orders-dlq: 1\u202f500, limit 100", "degraded | fleet | shop | 5 of 8 workers serve",
		"paused | queue | mails | 5 of 5 distinct payloads failed alike", "letters | queue | orders-dlq | 1\u202f500 dead letters",
		"ok | fleet | aaa | 1 of 1 workers serve", "ok | alarm | calm", "ok | queue | orders | 3 messages to deliver",
	} {
		if !strings.HasPrefix(got[i], want) {
			t.Errorf("line %d is %q, want %q", i, got[i], want)
		}
	}
	if got := p.Text("#standing-said"); got != "4 of 7 need a look" {
		t.Errorf("in short: %q", got)
	}
	if got := p.Text("#fleet-state"); !strings.HasPrefix(got, "shop: degraded") {
		t.Errorf("the picture shows %q, not the fleet that is worst", got)
	}
	if got := p.Text("#queue-letters"); got != "Queues hold 1\u202f500 dead letters" {
		t.Errorf("of dead letters in queues it says %q", got)
	}
	keep(p, "standing")
	s.restartInPage(t, p)
	p.See(browsertest.Look{Width: 360, Height: 780, Phone: true})
	noWider(t, p, 360)
	clean(t, p)
}

// restartInPage looks at another fleet and restarts it, at the second attempt.
func (s *story) restartInPage(t *testing.T, p *browsertest.Page) {
	t.Helper()
	p.Click(`button[aria-label="Show fleet aaa"]`)
	p.Wait(`document.querySelector("#fleet-state").textContent.startsWith("aaa: ok") && document.querySelectorAll(".tile").length === 1`)
	p.Click("#restart")
	p.Wait(`document.querySelector("#ask").open && document.activeElement.id === "ask-no"`)
	if got := p.Text("#ask"); !strings.Contains(got, "Every worker of aaa is replaced") {
		t.Errorf("it asks %q", got)
	}
	p.Press("Enter")
	p.Wait(`!document.querySelector("#ask").open`)
	p.Click("#restart")
	p.Wait(`document.querySelector("#ask").open`)
	p.Click("#ask-yes")
	p.Wait(`!document.querySelector("#ask").open`)
	if name := <-s.restarted; name != "aaa" {
		t.Errorf("%s was restarted", name)
	}
	if n := len(s.restarted); n != 0 {
		t.Errorf("it was restarted %d times too often", n)
	}
}

// warnInPage looks at the plan of a redrive of which a letter would come straight
// back.
func (r *rig) warnInPage(p *browsertest.Page) {
	r.t.Helper()
	s := queue.DefaultSettings()
	s.Quarantine.After = 1
	if _, err := r.CreateQueue(r.t.Context(), "pills", s, nil); err != nil {
		r.t.Fatal(err)
	}
	if _, err := r.Send(r.t.Context(), "pills", queue.SendInput{Body: []byte("a body that kills its worker")}); err != nil {
		r.t.Fatal(err)
	}
	got, err := r.Receive(r.t.Context(), "pills", queue.ReceiveInput{})
	if err != nil || len(got) != 1 {
		r.t.Fatalf("received %d messages: %v", len(got), err)
	}
	killed := queue.Outcome{Class: bezoar.Crash, Failure: "f"}
	if err := r.Release(r.t.Context(), "pills", queue.ReleaseInput{Receipt: got[0].Receipt, Outcome: &killed}); err != nil {
		r.t.Fatal(err)
	}
	p.Eval(`(() => { const a = document.createElement("a"); a.href = "?view=order&verb=redrive&queue=pills-dlq"; document.body.append(a); a.click(); a.remove(); })()`, nil)
	p.Wait(at("order"))
	p.Click("#order-plan")
	p.Wait(`document.querySelector("#plan").open && document.querySelector("#plan-warnings")`)
	if got := p.Text("#plan-warnings"); !strings.Contains(got, "▲ 1 of the letters") {
		r.t.Errorf("the plan warns: %q", got)
	}
	keep(p, "plan-warned")
	p.Press("Enter") // on Cancel
	p.Wait(`!document.querySelector("#plan").open`)
}
