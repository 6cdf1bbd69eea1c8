package lease

import (
	"fmt"

	"github.com/bezoar-dev/bezoar/queue"
)

// Amend changes the lease of a message that has not been received yet, as an operator asks. For a deletion, it reports
// whether that is permitted.
func (l *Lease) Amend(a queue.Amendment, id string, now int64) error {
	flies := l.Hold == Leased && l.Visible > now
	switch {
	case id != a.ID:
		return fmt.Errorf("message %.64q: %w", a.ID, queue.ErrMessageGone)
	case l.Letter:
		return fmt.Errorf("message %s is a dead letter, to be edited and discarded as such: %w", id, queue.ErrInvalid)
	case flies && !(a.Delete && a.Force):
		return fmt.Errorf("message %s is in flight: %w", id, queue.ErrConflict)
	case a.Delete:
		return nil
	}
	if l.Receives > 0 { // its wait is over
		l.Visible = now
	}
	// The next generation, so that receipts of earlier deliveries do not delete it.
	*l = Lease{Generation: l.Generation + 1, Visible: l.Visible, Sent: l.Sent, Payload: a.Entry.Payload, Brief: queue.Brief(a.Entry.Body)}
	return nil
}
