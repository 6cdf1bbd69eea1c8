package cli

import (
	"cmp"
	"fmt"

	"github.com/bezoar-dev/bezoar/internal/outbox/cdc"
)

type outboxSlots struct{ outboxAt }

// Help says what is alarming.
func (outboxSlots) Help() string {
	return "A replication slot that nobody reads has PostgreSQL keep its write-ahead log until the disk is full. The command names the slots of the database's server, " +
		"what each holds back and why, and when that reaches a limit. Exit code 8: a person should act."
}

// Run shows the slots.
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
	r, err := panel.Look(s)
	if err != nil {
		return outboxError(w, err)
	}
	if s.json {
		err = s.out.json(r)
	} else {
		reportSlots(s, r)
	}
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
