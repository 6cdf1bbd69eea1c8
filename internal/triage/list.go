package triage

import (
	"context"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/bezoar-dev/bezoar/internal/sorted"
	"github.com/bezoar-dev/bezoar/queue"
)

// The bounds of lists.
const (
	MaxGroups  = 1000 // of one call
	MaxLetters = 1000 // of one page
)

// Groups counts letters by what failed, the newest death first. Limit is 1 to
// MaxGroups, 0 means 100.
func (svc *Service) Groups(ctx context.Context, s queue.Selection, limit int) ([]queue.Group, error) {
	limit, err := within(limit, MaxGroups)
	if err != nil {
		return nil, wrap(err, "group letters")
	}
	if err := svc.known(s); err != nil {
		return nil, wrap(err, "group letters")
	}
	var all []queue.Group
	for _, store := range svc.stores(s) {
		groups, err := store.Groups(ctx, s, limit)
		if err != nil {
			return nil, wrap(err, "group letters")
		}
		all = append(all, groups...)
	}
	sorted.StableFunc(all, func(a, b queue.Group) int { return b.Last.Compare(a.Last) })
	return all[:min(limit, len(all))], nil
}

// Count says how many letters there are.
func (svc *Service) Count(ctx context.Context, s queue.Selection) (int64, error) {
	if err := svc.known(s); err != nil {
		return 0, wrap(err, "count letters")
	}
	var all int64
	for _, store := range svc.stores(s) {
		n, _, err := store.CountLetters(ctx, s)
		if err != nil {
			return 0, wrap(err, "count letters")
		}
		all += n
	}
	return all, nil
}

// Page is part of a list.
type Page struct {
	Letters []Letter `json:"letters"`
	Next    string   `json:"next,omitempty"` // for the next call; "": that was all
	// Unread says which letters may be missing or out of date, and why.
	Unread []string `json:"unread,omitempty"`
}

// Letters lists letters without bodies, attributes and attempts, the newest
// death first, from where a Page's Next says on. Limit is 1 to MaxLetters, 0
// means 100.
func (svc *Service) Letters(ctx context.Context, s queue.Selection, next string, limit int) (Page, error) {
	fail := func(err error) (Page, error) { return Page{}, wrap(err, "list letters") }
	limit, err := within(limit, MaxLetters)
	if err != nil {
		return fail(err)
	}
	if err := svc.known(s); err != nil {
		return fail(err)
	}
	at, err := parsePlace(next)
	if err != nil {
		return fail(err)
	}
	var lists []list
	var unread []string
	for _, store := range svc.stores(s) {
		letters, err := store.first(ctx, s, at[store.name()], limit+1)
		if err != nil {
			return fail(err)
		}
		lists = append(lists, list{store.name(), letters})
		if d, ok := store.source.(Distant); ok {
			if err := d.Unread(); err != nil {
				unread = append(unread, fmt.Sprintf("%s: %v", store.name(), err))
			}
		}
	}
	page := merge(lists, at, limit)
	page.Unread = unread
	return page, nil
}

// list is the letters of one store, in its order.
type list struct {
	store   string
	letters []queue.Death
}

// merge takes the newest of the first letters of all lists, again and again.
// How far it has come in each store is noted in at.
func merge(lists []list, at place, limit int) Page {
	p := Page{Letters: []Letter{}}
	for {
		newest := -1
		for i, l := range lists {
			if len(l.letters) > 0 && (newest < 0 || died(l.letters[0]).After(died(lists[newest].letters[0]))) {
				newest = i
			}
		}
		if newest < 0 {
			return p
		}
		if len(p.Letters) == limit {
			p.Next = at.String()
			return p
		}
		l := &lists[newest]
		at[l.store] = l.letters[0].Sequence
		p.Letters = append(p.Letters, outline(l.letters[0]))
		l.letters = l.letters[1:]
	}
}

func died(m queue.Death) time.Time {
	if m.Letter == nil {
		return time.Time{}
	}
	return m.Letter.Died
}

// place is how far a list has come in each store.
type place map[string]int64

// String returns the opaque form that parsePlace reads.
func (p place) String() string {
	raw, err := json.Marshal(p)
	if err != nil {
		panic(fmt.Sprintf("triage: encode a map of numbers: %v", err))
	}
	return base64.RawURLEncoding.EncodeToString(raw)
}

func parsePlace(s string) (place, error) {
	const most = 16 << 10
	p := place{}
	if s == "" {
		return p, nil
	}
	if len(s) > most {
		return nil, invalid("Next: is longer than %d bytes", most)
	}
	raw, err := base64.RawURLEncoding.DecodeString(s)
	if err == nil {
		err = json.Unmarshal(raw, &p)
	}
	for _, at := range p {
		if at < 0 {
			err = ErrInvalid
		}
	}
	if err != nil || p == nil {
		return nil, invalid("Next: %.40q did not come from a list", s)
	}
	return p, nil
}

// Letter returns one letter with all there is but secrets.
func (svc *Service) Letter(ctx context.Context, id string) (Letter, error) {
	m, _, err := svc.find(ctx, id)
	if err != nil {
		return Letter{}, wrap(err, "show letter %.100q", id)
	}
	return svc.whole(m), nil
}

// find looks for a letter wherever it may be.
func (svc *Service) find(ctx context.Context, id string) (queue.Death, Source, error) {
	for _, store := range svc.stores(queue.Selection{}) {
		m, err := store.Letter(ctx, id)
		if errors.Is(err, queue.ErrLetterNotFound) {
			continue
		}
		return m, store.source, err
	}
	return queue.Death{}, nil, queue.ErrLetterNotFound
}

// known refuses a source that is not there: it must not look empty. It refuses to look
// for what is masked, since the log would keep what somebody looked for.
func (svc *Service) known(s queue.Selection) error {
	for name := range s.Attributes {
		if svc.secret.Secret(name) {
			return invalid("Selection.Attributes: the values of %.100q are secrets, and cannot be looked for", name)
		}
	}
	if strings.Contains(s.Queue, ":") && svc.source(s.Queue) == nil {
		return fmt.Errorf("%.100q: %w", s.Queue, queue.ErrQueueNotFound)
	}
	return nil
}

func within(limit, most int) (int, error) {
	if limit < 0 || limit > most {
		return 0, invalid("limit: %d is not within 0 to %d", limit, most)
	}
	if limit == 0 {
		return 100, nil
	}
	return limit, nil
}
