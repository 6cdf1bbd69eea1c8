package console_test

import (
	"cmp"
	"context"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/bezoar-dev/bezoar/internal/control/admin"
	"github.com/bezoar-dev/bezoar/internal/control/adminapi"
	"github.com/bezoar-dev/bezoar/internal/control/console"
	"github.com/bezoar-dev/bezoar/internal/test/browsertest"
)

func serveOutboxes(t *testing.T, list func() []adminapi.Outbox) string {
	t.Helper()
	page, err := console.New()
	if err != nil {
		t.Fatal(err)
	}
	cfg := admin.Config{Address: "127.0.0.1:0", Page: page, Outboxes: func(context.Context) []adminapi.Outbox { return list() }}
	api, err := admin.New(cfg, newStory(), new(admin.Hub))
	if err != nil {
		t.Fatal(err)
	}
	srv := httptest.NewServer(api.Handler())
	t.Cleanup(func() { srv.CloseClientConnections(); srv.Close() })
	return srv.URL
}

// The page shows what waits, who delivers it and what needs a person. What
// applications write is text in it.
func TestOutboxesInPage(t *testing.T) {
	t.Parallel()
	now := time.Now()
	shop := adminapi.Outbox{
		Name: "shop", Database: "postgres", Relay: adminapi.OutboxRelay{Owner: evil, Epoch: 12, Until: now.Add(time.Minute), Alive: true, Here: true},
		Topics: []adminapi.OutboxTopic{
			{Topic: "orders.paid", Ready: 12_345, Retrying: 1, Parked: 2, Behind: 7, Oldest: now.Add(-time.Hour), Sink: "queue:orders"},
			{Topic: evilTask, Ready: 1, Oldest: now},
		},
		Flights: []adminapi.OutboxFlight{{Topic: "orders.paid", Events: 500}},
		Sinks:   []adminapi.OutboxSink{{Name: "queue:orders", Paused: true, Until: now.Add(time.Second), Reason: evil}},
		Alarms:  []adminapi.OutboxAlarm{{Kind: "parked", What: "2 events are parked", Since: now}},
		Slots:   []adminapi.OutboxSlot{{Name: "bezoar_shop", State: "degraded", Retained: 3 << 30, LimitIn: adminapi.Duration(3 * time.Hour), HeldBy: evil}},
	}
	gone := adminapi.Outbox{Name: "gone", Database: "mysql", Topics: []adminapi.OutboxTopic{}, Flights: []adminapi.OutboxFlight{}, Error: "connection refused"}
	var mended atomic.Bool
	browser := browsertest.Start(t)
	p := browser.Open(serveOutboxes(t, func() []adminapi.Outbox {
		if mended.Load() {
			one := shop
			one.Topics, one.Alarms = nil, nil
			one.Topics = []adminapi.OutboxTopic{}
			return []adminapi.Outbox{one}
		}
		return []adminapi.Outbox{gone, shop}
	})+"/outbox", browsertest.Look{})
	p.Wait(`document.querySelectorAll("#outboxes section").length === 2`)
	for _, want := range []string{"orders.paid", "12\u202f345", "500", evilTask, "2 parked events by what failed", "2 events are parked", "this process", "paused", "3\u202f072 MiB", "3h0m0s"} {
		if got := p.Text(`[data-outbox="shop"]`); !strings.Contains(got, want) {
			t.Errorf("the page does not say %q:\n%s", want, got)
		}
	}
	if got := p.Text(`[data-outbox="gone"]`); !strings.Contains(got, "does not answer") || !strings.Contains(got, "connection refused") {
		t.Errorf("an outbox that is away reads %q", got)
	}
	var link string
	if p.Eval(`document.querySelector('[data-outbox="shop"] td a').getAttribute("href")`, &link); link != "queues?view=groups&queue=outbox%3Ashop" {
		t.Errorf("the letters are at %q", link)
	}
	keep(p, "outbox")
	for _, look := range []browsertest.Look{{Width: 390, Height: 800, Phone: true}, {Dark: true}} {
		p.See(look)
		noWider(t, p, cmp.Or(look.Width, 1200))
	}
	mended.Store(true)
	p.Wait(`document.querySelectorAll("#outboxes section").length === 1 && document.querySelector("#outboxes").innerText.includes("Nothing waits")`)
	if problems := p.Problems(); len(problems) > 0 {
		t.Errorf("the page complains: %s", strings.Join(problems, "\n"))
	}
	var title string
	if p.Eval("document.title", &title); title != "Bezoar: outboxes" {
		t.Errorf("the title is %q: an attacker's script has run", title)
	}
}

// Without an outbox the page says how to have one.
func TestNoOutboxInPage(t *testing.T) {
	t.Parallel()
	p := browsertest.Start(t).Open(serveOutboxes(t, func() []adminapi.Outbox { return []adminapi.Outbox{} })+"/outbox", browsertest.Look{})
	p.Wait(`!document.querySelector("#empty").hidden`)
	if problems := p.Problems(); len(problems) > 0 {
		t.Errorf("the page complains: %s", strings.Join(problems, "\n"))
	}
}
