package app

import (
	"cmp"
	"context"
	"strings"
	"sync"
	"time"

	"github.com/bezoar-dev/bezoar/internal/control/adminapi"
	"github.com/bezoar-dev/bezoar/internal/control/config"
	"github.com/bezoar-dev/bezoar/internal/outbox/cdc"
	"github.com/bezoar-dev/bezoar/outbox"
)

// slotOf names a slot of an outbox. All databases of a server share the names of slots.
func slotOf(id outbox.Identity, what string) string {
	digits := strings.ReplaceAll(id.ID, "-", "")
	return "bezoar_" + digits[:min(len(digits), 16)] + "_" + what
}

// reader returns the settings that the readers of an outbox's database share.
func (r *outboxRun) reader(id outbox.Identity, what string) cdc.Config {
	slot := slotOf(id, what)
	return cdc.Config{URL: r.database, Slot: slot, Publication: slot, Log: r.app.log.With("outbox", r.name)}
}

// feed returns a feed that is faster than polling; nil: none.
func (r *outboxRun) feed(id outbox.Identity) (outbox.Feed, error) {
	if r.cfg.Relay != "cdc" {
		return nil, nil //nolint:nilnil // the settings want none
	}
	return cdc.NewFeed(cdc.FeedConfig{Config: r.reader(id, "feed"), Schema: r.cfg.Schema})
}

// capture returns the reader that turns changes of tables into events; nil: none.
func (r *outboxRun) capture(id outbox.Identity) (*cdc.Capture, error) {
	if len(r.cfg.Tables) == 0 {
		return nil, nil //nolint:nilnil // the settings want none
	}
	return cdc.NewCapture(cdc.CaptureConfig{
		Config: r.reader(id, "tables"), Schema: r.cfg.Schema, Tables: tablesOf(r.cfg.Tables), CopyOnLoss: r.cfg.CopyOnLoss,
	})
}

func tablesOf(in []config.OutboxTable) []cdc.Table {
	out := make([]cdc.Table, 0, len(in))
	for _, t := range in {
		out = append(out, cdc.Table{Name: t.Table, Topic: t.Topic, Key: t.Key, Type: t.Type, Omit: t.Omit, Copy: t.Copy})
	}
	return out
}

// lookAtSlots is how often the slots are read.
const lookAtSlots = 5 * time.Second

// watchSlots reads the slots until ctx ends.
func (r *outboxRun) watchSlots(ctx context.Context, panel *cdc.Panel) {
	tick := time.NewTicker(lookAtSlots)
	defer tick.Stop()
	for {
		asking, cancel := context.WithTimeout(ctx, lookAtSlots)
		report, err := panel.Look(asking)
		cancel()
		if err == nil { // otherwise the relay reports the database's error
			r.mu.Lock()
			r.slots = report
			r.mu.Unlock()
		}
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
		}
	}
}

// slotAlarms returns the alarms for the slots, and for tables that are not captured.
func slotAlarms(report *cdc.Report, tables *cdc.Capture) (all []outbox.Alarm) {
	if report == nil {
		return nil
	}
	seen := map[string]bool{}
	for _, s := range report.Slots {
		if seen[s.Name] = true; s.Alarm != "" {
			all = append(all, outbox.Alarm{Kind: "slot", What: "slot " + s.Name + ": " + s.Alarm, Since: report.At})
		}
	}
	if tables == nil {
		return all
	}
	if st := tables.Status(); !seen[st.Slot] && (st.Health == cdc.Broken || st.Health == cdc.Failing) {
		all = append(all, outbox.Alarm{Kind: "tables", What: "changes of tables are not captured: " + st.Reason, Since: st.Since})
	}
	return all
}

func (r *outboxRun) slotList() (all []adminapi.OutboxSlot) {
	r.mu.Lock()
	report := r.slots
	r.mu.Unlock()
	if report == nil {
		return nil
	}
	for _, s := range report.Slots {
		one := adminapi.OutboxSlot{
			Name: s.Name, State: "ok", Reader: s.Reader, Retained: s.Retained, Unconfirmed: s.Behind, HeldBy: s.HeldBy,
			Why: cmp.Or(s.Alarm, s.Reason),
		}
		if s.LimitIn != nil {
			one.LimitIn = adminapi.Duration(*s.LimitIn)
		}
		switch {
		case s.Alarm != "":
			one.State = "down"
		case s.Health == cdc.Failing, s.Health == cdc.Stalled, s.Health == cdc.Full, s.Health == cdc.Stopped:
			one.State, one.Why = "degraded", cmp.Or(one.Why, string(s.Health))
		}
		all = append(all, one)
	}
	return all
}

// dropSlots drops slots that the settings no longer need: a slot that nobody reads makes the server keep its log until the
// disk is full.
func (r *outboxRun) dropSlots(ctx context.Context, id outbox.Identity) {
	for what, wanted := range map[string]bool{"feed": r.cfg.Relay == "cdc", "tables": len(r.cfg.Tables) > 0} {
		if wanted {
			continue
		}
		c := r.reader(id, what)
		if err := c.Drop(ctx, r.cfg.Schema); err != nil && ctx.Err() == nil {
			r.app.log.Warn("an unused replication slot could not be dropped", "outbox", r.name, "slot", c.Slot, "err", err)
		}
	}
}

// beside runs what accompanies a relay with relay: cdc. It returns a function that ends it.
func (r *outboxRun) beside(ctx context.Context, id outbox.Identity) (end func(), err error) {
	if r.kind() == "postgres" {
		r.dropSlots(ctx, id)
	}
	if r.cfg.Relay != "cdc" {
		return func() {}, nil
	}
	panel, err := cdc.NewPanel(cdc.PanelConfig{URL: r.database, Schema: r.cfg.Schema})
	if err != nil {
		return nil, err
	}
	capture, err := r.capture(id)
	if err != nil {
		return nil, err
	}
	r.captures(capture)
	ctx, cancel := context.WithCancel(ctx)
	var wg sync.WaitGroup
	wg.Go(func() { r.watchSlots(ctx, panel) })
	if capture != nil {
		wg.Go(func() {
			if err := capture.Run(ctx); err != nil && ctx.Err() == nil { // the slots' alarms report it as well
				r.app.log.Error("changes of tables are no longer captured", "outbox", r.name, "err", err)
			}
		})
	}
	return func() { cancel(); wg.Wait(); r.captures(nil) }, nil
}

func (r *outboxRun) captures(c *cdc.Capture) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.tables = c
}
