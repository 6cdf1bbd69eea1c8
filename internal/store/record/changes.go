package record

import (
	"fmt"
	"slices"

	"github.com/bezoar-dev/bezoar"
	"github.com/bezoar-dev/bezoar/internal/dispatch/ledger"
)

// What a row of a list of changes is.
const (
	ChangeRevision = "revision" // of the fleet, now
	ChangePut      = "put"
	ChangeEnd      = "end"
)

// Changes gathers what happened to the verdicts of a fleet from rows, those of a
// kind in the order of their revisions.
type Changes struct{ found ledger.Changes }

// Add takes one row.
func (c *Changes) Add(what string, revision int64, id, doc string) error {
	switch what {
	case ChangeRevision:
		c.found.Revision = revision
	case ChangePut:
		v, err := DecodeVerdict(doc)
		if err != nil {
			return err
		}
		c.found.Put = append(c.found.Put, v)
	case ChangeEnd:
		c.found.Deleted = append(c.found.Deleted, id)
	default:
		return fmt.Errorf("a change is %.20q", what)
	}
	return nil
}

// Since returns what was gathered. What was deleted and put again is there.
func (c *Changes) Since(since int64) ledger.Changes {
	out := c.found
	if out.All = since == 0; out.All {
		out.Deleted = nil
	}
	slices.Sort(out.Deleted)
	out.Deleted = slices.DeleteFunc(slices.Compact(out.Deleted), func(id string) bool {
		return slices.ContainsFunc(out.Put, func(v bezoar.Verdict) bool { return v.ID == id })
	})
	return out
}
