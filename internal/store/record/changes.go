package record

import (
	"fmt"
	"slices"

	"github.com/bezoar-dev/bezoar"
	"github.com/bezoar-dev/bezoar/internal/dispatch/ledger"
)

// Kinds of rows in a list of changes.
const (
	ChangeRevision = "revision" // current revision of the fleet
	ChangePut      = "put"
	ChangeEnd      = "end"
)

// Changes collects the changes of a fleet's verdicts from rows. Rows of one kind must be in
// the order of their revisions.
type Changes struct{ found ledger.Changes }

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
		return fmt.Errorf("unknown kind of change %.20q", what)
	}
	return nil
}

// Since returns the collected changes. A verdict that was deleted and put again counts as
// present.
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
