package triage

import (
	"cmp"
	"context"
	"encoding/json"
	"strings"
	"time"

	"github.com/bezoar-dev/bezoar/queue"
)

// Detail is what the log keeps of one action beside who, when, on what, and why
// it was refused.
type Detail struct {
	Selection   *queue.Selection `json:"selection,omitempty"` // with at most maxNoted groups and ids
	More        int              `json:"more,omitempty"`      // groups, ids and attributes beyond
	Plan        string           `json:"plan,omitempty"`
	Tasks       []string         `json:"tasks,omitempty"`
	Planned     *int64           `json:"planned,omitempty"` // letters
	Actual      *int64           `json:"actual,omitempty"`
	FailedAgain *int64           `json:"failed_again,omitempty"`
	Options     *Options         `json:"options,omitempty"`
	Outcome     string           `json:"outcome,omitempty"`
	Pardoned    int              `json:"pardoned,omitempty"` // payloads, before a redrive
	Into        string           `json:"into,omitempty"`     // the id of the message that replaced a letter
}

// maxNoted bounds the groups and the ids that one entry names.
const maxNoted = 20

// noted bounds what an entry keeps of a selection.
func noted(s queue.Selection) (*queue.Selection, int) {
	more := max(0, len(s.Groups)-maxNoted) + max(0, len(s.IDs)-maxNoted)
	s.Groups, s.IDs = s.Groups[:min(len(s.Groups), maxNoted)], s.IDs[:min(len(s.IDs), maxNoted)]
	return &s, more
}

// audit writes down what somebody did, or tried to. It does so even when the
// caller has hung up, and a log that fails is not hidden from the operator.
func (svc *Service) audit(ctx context.Context, who Actor, action, object string, detail Detail, failed error) {
	const patience = 10 * time.Second
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), patience)
	defer cancel()
	raw, err := json.Marshal(detail)
	if err != nil || len(raw) > 16<<10 {
		raw = nil // groups and attributes of a kilobyte each
		if detail.Selection != nil {
			detail.More += len(detail.Selection.Groups) + len(detail.Selection.IDs)
			detail.More += len(detail.Selection.Attributes)
			detail.Selection.Groups, detail.Selection.IDs, detail.Selection.Attributes = nil, nil, nil
			raw, _ = json.Marshal(detail)
		}
	}
	e := queue.AuditEntry{Actor: bound(string(who), 256), Action: bound(action, 100), Object: bound(object, 256), Detail: raw}
	e.Actor = cmp.Or(e.Actor, "unknown")
	if failed != nil {
		e.Error = bound(failed.Error(), 1024)
	}
	if _, err := svc.config.Queue.Audit(ctx, e); err != nil {
		svc.config.Log.Error("the audit log could not be written", "actor", e.Actor, "action", action, "object", e.Object,
			"detail", string(raw), "outcome", e.Error, "err", err)
	}
}

// AuditLog lists what was done, the newest first, from below the entry number
// before (0: from the newest on).
func (svc *Service) AuditLog(ctx context.Context, before int64, limit int) ([]queue.AuditEntry, error) {
	limit, err := within(limit, MaxLetters)
	if err != nil {
		return nil, wrap(err, "list the audit log")
	}
	entries, err := svc.config.Queue.AuditLog(ctx, before, limit)
	return entries, wrap(err, "list the audit log")
}

// bound cuts a text to what every store can keep.
func bound(s string, most int) string {
	s = strings.ReplaceAll(strings.ToValidUTF8(s, "\uFFFD"), "\x00", "\uFFFD")
	if len(s) > most {
		s = strings.ToValidUTF8(s[:most], "")
	}
	return s
}
