package triage

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/bezoar-dev/bezoar/queue"
)

// The bounds of a plan.
const (
	PlanFor       = time.Hour // how long it may be executed
	MaxSample     = 5
	maxPlanGroups = 50
	maxParts      = 50             // queues
	usedFor       = 24 * time.Hour // how long a used plan is remembered
)

// Plan is what would be done: which letters exactly, and how.
type Plan struct {
	ID           string          `json:"id"`
	Verb         Verb            `json:"verb"`
	Selection    queue.Selection `json:"selection"` // as it was given
	Options      Options         `json:"options"`   // with the defaults filled in
	Count        int64           `json:"count"`     // letters
	Parts        []Part          `json:"parts"`
	Groups       []queue.Group   `json:"groups"`             // at most maxPlanGroups
	Others       int64           `json:"others,omitempty"`   // letters in other groups
	Destinations []string        `json:"destinations"`       // of a redrive: of the newest letter of each group
	Warnings     []string        `json:"warnings,omitempty"` // what will not go as hoped; the first 1,024 letters of a queue are looked at
	Sample       []Letter        `json:"sample,omitempty"`   // at most MaxSample, the newest
	Actor        Actor           `json:"actor"`
	Made         time.Time       `json:"made"`
	Expires      time.Time       `json:"expires"`
	Used         bool            `json:"used,omitempty"`
	Tasks        []string        `json:"tasks,omitempty"` // that execute it
}

// Part is the letters of a plan that one task moves: those of the plan's
// selection that are in one queue, up to the one that came last.
type Part struct {
	Queue string `json:"queue"`
	Last  int64  `json:"last"`
	Count int64  `json:"count"`
}

func (p Part) of(s queue.Selection) queue.Selection {
	s.Queue, s.Last = p.Queue, p.Last
	return s
}

// Plan says what v would do to the letters of s, and keeps that for PlanFor.
// Nothing is moved.
func (svc *Service) Plan(ctx context.Context, who Actor, v Verb, s queue.Selection, o Options) (Plan, error) {
	p, err := svc.plan(ctx, who, v, s, o)
	if err == nil {
		_, err = svc.putPlan(ctx, p, 0, PlanFor)
	}
	note := svc.planned(p, s, o)
	if err != nil {
		err = wrap(err, "plan to %s", v)
		svc.audit(ctx, who, string(v)+".plan", s.Queue, note, err)
		return Plan{}, err
	}
	svc.audit(ctx, who, string(v)+".plan", p.ID, note, nil)
	return p, nil
}

func (svc *Service) planned(p Plan, s queue.Selection, o Options) Detail {
	note := Detail{Options: &o, Plan: p.ID}
	note.Selection, note.More = noted(s)
	if p.Count > 0 {
		note.Options, note.Planned = &p.Options, &p.Count
	}
	return note
}

// plan freezes and describes a selection.
func (svc *Service) plan(ctx context.Context, who Actor, v Verb, s queue.Selection, o Options) (Plan, error) {
	p := Plan{ID: newID("plan"), Verb: v, Actor: who, Groups: []queue.Group{}, Destinations: []string{}}
	s, err := v.check(s, o)
	if err != nil {
		return p, err
	}
	if err := svc.known(s); err != nil {
		return p, err
	}
	s.Unreplaced = v == Restore && len(s.IDs) == 0
	p.Selection, p.Options = s, Options{Destination: o.Destination, Pardon: o.Pardon}
	if o.Destination != "" {
		p.Destinations = append(p.Destinations, o.Destination)
	}
	for _, store := range svc.stores(s) {
		parts, err := svc.parts(ctx, store, s)
		if err != nil {
			return p, err
		}
		for _, part := range parts {
			if err := svc.suits(ctx, part, o); err != nil {
				return p, err
			}
			if err := svc.describe(ctx, &p, store, part); err != nil {
				return p, err
			}
			p.Parts, p.Count = append(p.Parts, part), p.Count+part.Count
		}
	}
	if v == Redrive {
		p.Warnings = append(p.Warnings, svc.pauses(ctx, p.Destinations...)...)
	}
	out, err := svc.leftOut(ctx, s)
	if err != nil {
		return p, err
	}
	if out > 0 {
		p.Warnings = append(p.Warnings, fmt.Sprintf("%d more of these letters stay in the trash, since edited copies took their places: name them by their ids to restore them", out))
	}
	if p.Count == 0 {
		return p, fmt.Errorf("%w: the selection matches no letter%s", ErrNothing, but(p.Warnings))
	}
	t := o.task(v, p.Count)
	p.Options = Options{Destination: o.Destination, Rate: t.Rate, Canary: t.Canary, HaltAbove: t.HaltAbove, Reason: o.Reason, Pardon: o.Pardon}
	p.Made = svc.config.Now()
	p.Expires = p.Made.Add(PlanFor)
	return p, nil
}

func but(warnings []string) string {
	if len(warnings) == 0 {
		return ""
	}
	return "; " + strings.Join(warnings, "; ")
}

// leftOut counts the letters that a selection would pick if edited copies had
// not taken their places.
func (svc *Service) leftOut(ctx context.Context, s queue.Selection) (int64, error) {
	if !s.Unreplaced {
		return 0, nil
	}
	some, _, err := svc.config.Queue.CountLetters(ctx, s)
	if err != nil {
		return 0, err
	}
	s.Unreplaced = false
	all, _, err := svc.config.Queue.CountLetters(ctx, s)
	return max(all-some, 0), err
}

// parts freezes what a selection picks in one store, a part for each queue.
func (svc *Service) parts(ctx context.Context, store namedStore, s queue.Selection) (parts []Part, err error) {
	n, last, err := store.CountLetters(ctx, s)
	if err != nil || n == 0 {
		return nil, err
	}
	s.Last = last
	if store.source != nil {
		s.Queue = store.name()
	}
	if s.Queue != "" {
		return []Part{{s.Queue, last, n}}, nil
	}
	groups, err := store.Groups(ctx, s, MaxGroups)
	if err != nil {
		return nil, err
	}
	var names []string
	for _, g := range groups {
		if !slices.Contains(names, g.Queue) {
			names = append(names, g.Queue)
		}
	}
	rest := n
	for _, name := range names {
		part := Part{Queue: name, Last: last}
		if part.Count, _, err = store.CountLetters(ctx, part.of(s)); err != nil {
			return nil, err
		}
		if part.Count > 0 {
			parts, rest = append(parts, part), rest-part.Count
		}
	}
	if rest > 0 && len(groups) == MaxGroups || len(parts) > maxParts {
		return nil, invalid("Selection.Queue: the %d letters are in too many queues or groups: name one queue", n)
	}
	return parts, nil
}

// suits says whether the letters of a part can be moved like that.
func (svc *Service) suits(ctx context.Context, part Part, o Options) error {
	switch elsewhere := svc.source(part.Queue) != nil; {
	case o.Destination != "" && elsewhere:
		return fmt.Errorf("Destination: letters of %q go back to where they came from: %w", part.Queue, ErrUnsupported)
	case o.Pardon && elsewhere:
		return fmt.Errorf("Pardon: letters of %q have no payloads that a queue refuses: %w", part.Queue, ErrUnsupported)
	case o.Destination != "":
		_, err := svc.config.Queue.Queue(ctx, o.Destination)
		return wrap(err, "Destination")
	}
	return nil
}

// describe adds what people want to see of a part.
func (svc *Service) describe(ctx context.Context, p *Plan, s namedStore, part Part) error {
	groups, err := s.Groups(ctx, part.of(p.Selection), maxPlanGroups)
	if err != nil {
		return err
	}
	p.Others += part.Count
	for _, g := range groups[:min(len(groups), maxPlanGroups-len(p.Groups))] {
		g.Failure, g.Reason = bound(g.Failure, 120), bound(g.Reason, 120) // the key says the rest
		p.Groups, p.Others = append(p.Groups, g), p.Others-g.Count
		if p.Verb == Redrive && p.Options.Destination == "" && !slices.Contains(p.Destinations, g.Origin) {
			p.Destinations = append(p.Destinations, g.Origin)
		}
	}
	if err := svc.warn(ctx, p, s, part); err != nil {
		return err
	}
	letters, err := s.Letters(ctx, part.of(p.Selection), 0, MaxSample)
	if err != nil {
		return err
	}
	for _, l := range letters[:min(len(letters), MaxSample-len(p.Sample))] {
		p.Sample = append(p.Sample, outline(l))
	}
	return nil
}

func planKey(id string) string { return "plan/" + id }

// putPlan keeps a plan without its sample, which has no bound of its own.
func (svc *Service) putPlan(ctx context.Context, p Plan, version int64, ttl time.Duration) (int64, error) {
	p.Sample = nil
	doc, err := json.Marshal(p)
	if err != nil {
		return 0, err
	}
	const most = 64 << 10
	if len(doc) > most && len(p.Groups) > 0 {
		p.Groups = nil // what is shown gives way to what is done
		return svc.putPlan(ctx, p, version, ttl)
	}
	m, err := svc.Marks().PutMark(ctx, queue.Mark{Key: planKey(p.ID), Version: version, Doc: doc, TTL: ttl})
	return m.Version, err
}

// PlanByID returns a plan that was made, without its sample.
func (svc *Service) PlanByID(ctx context.Context, id string) (Plan, error) {
	p, _, err := svc.getPlan(ctx, id)
	return p, wrap(err, "show plan %.64q", id)
}

func (svc *Service) getPlan(ctx context.Context, id string) (p Plan, version int64, err error) {
	if !isID("plan", id) {
		return p, 0, ErrPlanNotFound
	}
	m, err := svc.mark(ctx, planKey(id))
	if err != nil {
		return p, 0, err
	}
	if m == nil {
		return p, 0, ErrPlanNotFound
	}
	return p, m.Version, json.Unmarshal(m.Doc, &p)
}

// mark returns one mark, or nil.
func (svc *Service) mark(ctx context.Context, key string) (*queue.Mark, error) {
	marks, err := svc.Marks().Marks(ctx, key)
	if err != nil {
		return nil, err
	}
	for _, m := range marks {
		if m.Key == key {
			return &m, nil
		}
	}
	return nil, nil
}

// usePlan marks a plan as used; of many who try, one does.
func (svc *Service) usePlan(ctx context.Context, id string) (Plan, int64, error) {
	p, version, err := svc.getPlan(ctx, id)
	if err != nil {
		return p, 0, err
	}
	if p.Used {
		return p, 0, ErrPlanUsed
	}
	if err := svc.unchanged(ctx, p); err != nil {
		return p, 0, err
	}
	p.Used = true
	version, err = svc.putPlan(ctx, p, version, usedFor)
	if errors.Is(err, queue.ErrConflict) {
		return p, 0, ErrPlanUsed
	}
	return p, version, err
}

// unchanged wants every part of a plan to have as many letters as it had.
func (svc *Service) unchanged(ctx context.Context, p Plan) error {
	var now int64
	changed := false
	for _, part := range p.Parts {
		s := part.of(p.Selection)
		if err := svc.known(s); err != nil {
			return err // the source is not configured any more
		}
		n, _, err := svc.stores(s)[0].CountLetters(ctx, s)
		if err != nil {
			return err
		}
		now, changed = now+n, changed || n != part.Count
	}
	if changed {
		return &ChangedError{Planned: p.Count, Now: now}
	}
	return nil
}
