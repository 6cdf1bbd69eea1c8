package cli

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/bezoar-dev/bezoar/internal/control/adminapi"
	"github.com/bezoar-dev/bezoar/internal/outbox/cdc"
)

type outboxSlots struct {
	outboxAt
	Reset string `placeholder:"SLOT" help:"Restart the reader of this slot, if the slot is lost or belongs to another reader."`
	Yes   bool   `help:"With --reset: do it. Without --yes the command says what would be missing."`
}

// Help is shown below the flags.
func (outboxSlots) Help() string {
	return "If nobody reads a replication slot, PostgreSQL keeps its write-ahead log until the disk is full. The command lists the slots of the database's server, " +
		"what each holds back and why, and when that reaches a limit. Exit code 8: a person should act.\n\n" +
		"Use --reset if changes of tables are no longer captured because their slot is lost. The reader makes its slot again and goes on from now: " +
		"changes that it has not read become no events. Tables with copy: true are copied."
}

func (c *outboxSlots) Run(s *session) error {
	w, err := c.find(s)
	if err != nil {
		return err
	}
	if w.kind() != "postgres" {
		return exitf(exitUsage, "%s: replication slots are PostgreSQL's", w.title())
	}
	panel, err := cdc.NewPanel(cdc.PanelConfig{URL: w.database, Schema: w.schema})
	if err != nil {
		return &exitError{code: exitUsage, err: err}
	}
	if c.Yes && c.Reset == "" {
		return exitf(exitUsage, "--yes goes with --reset SLOT")
	}
	r, err := panel.Look(s)
	if err != nil {
		return outboxError(w, err)
	}
	if c.Reset != "" {
		return c.reset(s, w, r)
	}
	err = s.show(r, nil, func() { reportSlots(s, r) })
	n := 0
	for _, slot := range r.Slots {
		if slot.Alarm != "" {
			n++
		}
	}
	if n > 0 && err == nil {
		return exitf(exitUnhealthy, "%s", count(int64(n), "slot needs a person", "slots need a person"))
	}
	return err
}

// reset makes the reader of a slot start again.
func (c *outboxSlots) reset(s *session, w where, r *cdc.Report) error {
	var names []string
	var reader cdc.SlotReport
	for _, slot := range r.Slots {
		if slot.Health != "" { // a reader of this outbox has said so
			names = append(names, slot.Name)
		}
		if slot.Name == c.Reset {
			reader = slot
		}
	}
	if !slices.Contains(names, c.Reset) {
		err := exitf(exitNotFound, "%s: no reader of it has the slot %.80q", w.title(), c.Reset)
		if len(names) == 0 {
			return err
		}
		return hinted(err, "its readers have %s", strings.Join(names, ", "))
	}
	if !c.Yes {
		why := cmp.Or(reader.Alarm, reader.Reason)
		if why != "" {
			why = ": " + clean(why)
		}
		return hinted(exitf(exitUsage, "reset slot %s: its reader is %s%s", clean(c.Reset), reader.Health, why),
			"--yes does it: changes that it has not read become no events; this cannot be undone")
	}
	if err := (cdc.Config{URL: w.database, Slot: c.Reset, Publication: c.Reset}).Reset(s, w.schema); err != nil {
		return outboxError(w, err)
	}
	c.told(s, w, adminapi.OutboxDeed{Verb: "reset", Reason: "slot " + c.Reset})
	return s.show(map[string]string{"slot": c.Reset}, nil, func() {
		s.out.printf("slot %s is reset: a process with tables: in its settings goes on within seconds\n", clean(c.Reset))
	})
}

func reportSlots(s *session, r *cdc.Report) {
	free := "free disk unknown"
	if r.Free != nil {
		free = mebibytes(*r.Free) + " of disk free"
	}
	s.out.printf("WAL grows by %s a second, %s\n", mebibytes(int64(r.Rate)), free)
	if len(r.Slots) == 0 {
		s.out.printf("there is no replication slot\n")
		return
	}
	s.out.printf("\n")
	t := table{head: []string{"SLOT", "KIND", "DATABASE", "WAL", ">RETAINED", ">UNCONFIRMED", "FULL IN", "READER", "WHAT"}}
	for _, slot := range r.Slots {
		full, what := "", cell{clean(cmp.Or(slot.Reason, slot.HeldBy)), ""}
		if slot.LimitIn != nil {
			full = span(*slot.LimitIn)
		}
		if slot.Alarm != "" {
			what = cell{clean(slot.Alarm), red}
		}
		t.add(plain(slot.Name), plain(slot.Kind), plain(slot.Database), plain(slot.Status), plain(mebibytes(slot.Retained)), plain(mebibytes(slot.Behind)), plain(full),
			plain(cmp.Or(slot.Reader, "nobody")), what)
	}
	t.write(s.out, "")
}

func mebibytes(n int64) string { return fmt.Sprintf("%.1f MiB", float64(n)/(1<<20)) }
