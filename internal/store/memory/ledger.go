package memory

import (
	"cmp"
	"container/heap"
	"context"
	"fmt"
	"strings"
	"sync"

	"github.com/bezoar-dev/bezoar"
	"github.com/bezoar-dev/bezoar/internal/dispatch/ledger"
	"github.com/bezoar-dev/bezoar/internal/sorted"
	"github.com/bezoar-dev/bezoar/internal/store/record"
)

type ledgerStore struct {
	maxLetters int

	mu        sync.Mutex // guards the fields below; never held while waiting
	verdicts  map[string]bezoar.Verdict
	histories map[string]*history // by fleet
	byID      map[string]*entry
	byWork    map[workKey]*entry
	oldest    lettersByLast
}

var _ ledger.Store = (*ledgerStore)(nil)

// workKey identifies letters that are copies of each other.
type workKey struct {
	fleet string
	key   bezoar.Fingerprint
}

type entry struct {
	letter bezoar.Letter
	at     int // index in the heap
}

func newLedgerStore(maxLetters int) *ledgerStore {
	return &ledgerStore{
		maxLetters: maxLetters,
		verdicts:   make(map[string]bezoar.Verdict),
		histories:  make(map[string]*history),
		byID:       make(map[string]*entry),
		byWork:     make(map[workKey]*entry),
	}
}

func (s *ledgerStore) PutVerdict(ctx context.Context, v bezoar.Verdict) error {
	v, err := record.Verdict(v)
	if err != nil {
		return err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if err := ctx.Err(); err != nil {
		return err
	}
	if old, ok := s.verdicts[v.ID]; ok && old.Fleet != v.Fleet {
		delete(s.historyOf(old.Fleet).put, v.ID)
	}
	s.verdicts[v.ID] = v
	s.historyOf(v.Fleet).noted(v.ID)
	return nil
}

func (s *ledgerStore) DeleteVerdict(ctx context.Context, id string) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if err := ctx.Err(); err != nil {
		return err
	}
	v, ok := s.verdicts[id]
	if !ok {
		return fmt.Errorf("delete verdict %.80q: %w", id, ledger.ErrNotFound)
	}
	delete(s.verdicts, id)
	s.historyOf(v.Fleet).ended(id)
	return nil
}

func (s *ledgerStore) Verdicts(ctx context.Context, fleet string) ([]bezoar.Verdict, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	var found []bezoar.Verdict
	for _, v := range s.verdicts {
		if fleet == "" || v.Fleet == fleet {
			found = append(found, record.CloneVerdict(v))
		}
	}
	sorted.Func(found, func(a, b bezoar.Verdict) int {
		return cmp.Or(a.Since.Compare(b.Since), strings.Compare(a.ID, b.ID))
	})
	return found, nil
}

func (s *ledgerStore) PutLetter(ctx context.Context, l bezoar.Letter) (bezoar.Letter, error) {
	l, err := record.Letter(l)
	if err != nil {
		return bezoar.Letter{}, err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if err := ctx.Err(); err != nil {
		return bezoar.Letter{}, err
	}
	key := workKey{l.Fleet, l.Key()}
	if e, ok := s.byWork[key]; ok {
		old := &e.letter
		old.Copies += l.Copies
		old.Last, old.Verdict, old.Class, old.Reason, old.Evidence = l.Last, l.Verdict, l.Class, l.Reason, l.Evidence
		heap.Fix(&s.oldest, e.at)
		return record.CloneLetter(*old), nil
	}
	if _, ok := s.byID[l.ID]; ok {
		return bezoar.Letter{}, fmt.Errorf("keep letter %s: the ID belongs to a letter of other work", l.ID)
	}
	for len(s.byID) >= s.maxLetters {
		s.remove(s.oldest[0])
	}
	e := &entry{letter: l}
	s.byID[l.ID], s.byWork[key] = e, e
	heap.Push(&s.oldest, e)
	return record.CloneLetter(l), nil
}

func (s *ledgerStore) Letters(ctx context.Context, q ledger.LetterQuery) ([]bezoar.Letter, error) {
	q, err := record.Query(q)
	if err != nil {
		return nil, err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	var found []*entry
	for _, e := range s.oldest {
		if (q.Fleet == "" || q.Fleet == e.letter.Fleet) &&
			(q.Fingerprint.IsZero() || q.Fingerprint == e.letter.Fingerprint) &&
			(q.Key.IsZero() || q.Key == e.letter.Key()) {
			found = append(found, e)
		}
	}
	sorted.Func(found, func(a, b *entry) int {
		return cmp.Or(b.letter.Last.Compare(a.letter.Last), strings.Compare(a.letter.ID, b.letter.ID))
	})
	found = found[min(q.Offset, len(found)):]
	found = found[:min(q.Limit, len(found))]
	letters := make([]bezoar.Letter, len(found))
	for i, e := range found {
		l := e.letter
		l.Request.Body = nil
		letters[i] = record.CloneLetter(l)
	}
	return letters, nil
}

func (s *ledgerStore) Letter(ctx context.Context, id string) (bezoar.Letter, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if err := ctx.Err(); err != nil {
		return bezoar.Letter{}, err
	}
	e, ok := s.byID[id]
	if !ok {
		return bezoar.Letter{}, fmt.Errorf("letter %.80q: %w", id, ledger.ErrNotFound)
	}
	return record.CloneLetter(e.letter), nil
}

func (s *ledgerStore) DeleteLetter(ctx context.Context, id string) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if err := ctx.Err(); err != nil {
		return err
	}
	e, ok := s.byID[id]
	if !ok {
		return fmt.Errorf("delete letter %.80q: %w", id, ledger.ErrNotFound)
	}
	s.remove(e)
	return nil
}

// remove removes e. The caller holds s.mu.
func (s *ledgerStore) remove(e *entry) {
	heap.Remove(&s.oldest, e.at)
	delete(s.byID, e.letter.ID)
	delete(s.byWork, workKey{e.letter.Fleet, e.letter.Key()})
}

// lettersByLast is a heap; its top is the letter to evict next.
type lettersByLast []*entry

func (h lettersByLast) Len() int { return len(h) }

func (h lettersByLast) Less(i, j int) bool {
	a, b := &h[i].letter, &h[j].letter
	return cmp.Or(a.Last.Compare(b.Last), strings.Compare(b.ID, a.ID)) < 0
}

func (h lettersByLast) Swap(i, j int) {
	h[i], h[j] = h[j], h[i]
	h[i].at, h[j].at = i, j
}

func (h *lettersByLast) Push(x any) {
	e := x.(*entry)
	e.at = len(*h)
	*h = append(*h, e)
}

func (h *lettersByLast) Pop() any {
	last := len(*h) - 1
	e := (*h)[last]
	(*h)[last] = nil
	*h = (*h)[:last]
	return e
}
