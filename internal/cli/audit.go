package cli

import (
	"cmp"
	"time"

	"github.com/bezoar-dev/bezoar/internal/control/adminapi"
	"github.com/bezoar-dev/bezoar/internal/triage"
)

type auditCmd struct {
	remote
	Limit  int   `default:"50" placeholder:"N" help:"At most this many, up to 1000 (default ${default})."`
	Before int64 `placeholder:"N" help:"Only entries with a lower number."`
}

func (c *auditCmd) Run(s *session, api *adminapi.Client) error {
	if c.Limit < 1 || c.Limit > triage.MaxLetters || c.Before < 0 {
		return exitf(exitUsage, "--limit %d --before %d: want 1 to %d, and 0 or more", c.Limit, c.Before, triage.MaxLetters)
	}
	entries, err := api.Audit(s, c.Before, c.Limit)
	return s.list(adminapi.Audit{Entries: entries}, len(entries), err, listing{
		none: "the audit log has no such entries",
		head: []string{">N", "WHEN", "WHO", "DID", "TO", "OUTCOME"},
		row: func(now time.Time, i int) []cell {
			e := entries[i]
			return []cell{number(e.Number), plain(clock(now, e.At)), plain(e.Actor), plain(e.Action), plain(e.Object), plain(cmp.Or(e.Error, "ok"))}
		},
	})
}
