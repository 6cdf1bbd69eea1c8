package cli

import (
	"errors"
	"testing"
	"time"

	"github.com/bezoar-dev/bezoar/internal/control/adminapi"
	"github.com/bezoar-dev/bezoar/outbox"
)

// Faults are said in words, and no pause lasts until a time that is over.
func TestWordsOfAnOutbox(t *testing.T) {
	for want, f := range map[string]outbox.Finding{
		"number 5 of the key is missing":                   {Kind: "gap", Sequence: 6, Expected: 5},
		"numbers 5 to 8 of the key are missing":            {Kind: "gap", Sequence: 9, Expected: 5},
		"number 4 occurs again":                            {Kind: "gap", Sequence: 4, Expected: 5},
		"number 5 of the key is delivered before number 4": {Kind: "inversion", Sequence: 5, Expected: 5},
		"the event waits, and its row was deleted":         {Kind: "missing"},
	} {
		if got := inWords(f); got != want {
			t.Errorf("%+v is %q, want %q", f, got, want)
		}
	}
	now := time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)
	if got := pausedFor(now, now.Add(-time.Second)); got != "is being tried again" {
		t.Errorf("a pause that is over: %q", got)
	}
	if got := pausedFor(now, now.Add(time.Minute)); got != "until 03:05:05" {
		t.Errorf("a pause: %q", got)
	}
	for name, want := range map[string]string{unnamed: "outbox: x", "shop": "outbox shop: x"} {
		if got := outboxError(where{name: name}, errors.New("x")).Error(); got != want {
			t.Errorf("outbox %q: %q", name, got)
		}
	}
}

// What a former relay has written down is not said of the one that took over.
func TestNotesOfAFormerRelay(t *testing.T) {
	now := time.Now()
	stats := outbox.Stats{Epoch: 6, Leader: true, Sinks: []outbox.SinkStats{{Name: "a", Paused: true}}}
	for epoch, want := range map[int64]int{6: 1, 7: 0} {
		o := adminapi.NewOutbox("shop", "postgres", outbox.Status{Now: now, Lease: outbox.Lease{Owner: "x", Epoch: epoch, Until: now.Add(time.Second)}})
		noted(&o, stats)
		if len(o.Sinks) != want || o.Relay.Here {
			t.Errorf("epoch %d: %+v", epoch, o)
		}
	}
}
