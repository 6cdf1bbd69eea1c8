package triage

import (
	"context"
	"fmt"

	"github.com/bezoar-dev/bezoar/queue"
)

// Edit is a changed letter on its way back.
type Edit struct {
	// Version is that of the letter as it was read: if it has changed since,
	// nothing happens.
	Version string `json:"version"`
	// Body replaces the letter's; nil keeps it.
	Body *Body `json:"body,omitempty"`
	// Attributes replace the letter's; nil keeps them, and Masked keeps one.
	Attributes  map[string]Attribute `json:"attributes,omitempty"`
	Destination string               `json:"destination,omitempty"` // "": the queue it came from
	Reason      string               `json:"reason,omitempty"`
}

// Edited is what became of it.
type Edited struct {
	Letter      string `json:"letter"`      // now in the trash
	ID          string `json:"id"`          // of the message in its place
	Destination string `json:"destination"` // where that is
}

// EditLetter sends a changed letter back in one transaction: the new message is
// there, with its lineage, and the letter in the trash, or nothing happened.
// queue.ErrConflict if the letter was received, moved or replaced since it was
// read; queue.ErrSchema if the destination's schema refuses the body.
func (svc *Service) EditLetter(ctx context.Context, who Actor, id string, e Edit) (Edited, error) {
	out, err := svc.edit(ctx, id, e)
	err = wrap(err, "edit letter %.100q", id)
	note := Detail{Options: &Options{Destination: e.Destination, Reason: bound(e.Reason, maxReason)}, Into: out.ID}
	svc.audit(ctx, who, "letter.edit", bound(id, 100), note, err)
	return out, err
}

func (svc *Service) edit(ctx context.Context, id string, e Edit) (Edited, error) {
	m, source, err := svc.find(ctx, id)
	switch {
	case err != nil:
		return Edited{}, err
	case source != nil && !editable(source):
		return Edited{}, fmt.Errorf("letters of %q cannot be edited: %w", source.Name(), ErrUnsupported)
	case m.Queue == queue.TrashQueue:
		return Edited{}, invalid("what is in the trash has to be restored first")
	case e.Version == "":
		return Edited{}, invalid("Version: is missing: read the letter first")
	case e.Version != versionOf(m):
		return Edited{}, fmt.Errorf("version %.40q is not that of the letter, %s: %w", e.Version, versionOf(m), queue.ErrConflict)
	}
	in, err := resend(m, e)
	if err != nil {
		return Edited{}, err
	}
	if source != nil {
		return editThere(ctx, source, m, in)
	}
	sent, err := svc.config.Queue.Resend(ctx, id, in)
	if err != nil {
		return Edited{}, err
	}
	return Edited{Letter: id, ID: sent.ID, Destination: in.Destination}, nil
}

func editable(s Source) bool { _, ok := s.(Editor); return ok }

func editThere(ctx context.Context, s Source, m queue.Death, in queue.ResendInput) (Edited, error) {
	if in.Destination != s.Name() {
		return Edited{}, fmt.Errorf("Destination: letters of %q go back to where they came from: %w", s.Name(), ErrUnsupported)
	}
	id, err := s.(Editor).Edit(ctx, m, in.Body, in.Attributes)
	return Edited{Letter: m.ID, ID: id, Destination: s.Name()}, err
}

func resend(m queue.Death, e Edit) (queue.ResendInput, error) {
	in := queue.ResendInput{Receipt: m.Receipt, Body: m.Body, Attributes: m.Attributes, Destination: e.Destination}
	if in.Destination == "" && m.Letter != nil {
		in.Destination = m.Letter.Origin
	}
	var err error
	if e.Body != nil {
		if in.Body, err = e.Body.bytes(); err != nil {
			return in, err
		}
	}
	if e.Attributes != nil {
		in.Attributes, err = unmask(e.Attributes, m.Attributes)
	}
	return in, err
}
