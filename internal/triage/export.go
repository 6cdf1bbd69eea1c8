package triage

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"io"

	"github.com/bezoar-dev/bezoar/queue"
)

// exportPage is how many letters are listed at once. One at a time is held
// whole.
const exportPage = 200

// Export writes the letters of a selection to w, one JSON document a line, with
// body and all evidence, and returns how many it wrote. It writes what was there
// when it began and still is when its turn comes. Memory does not grow with the
// number of letters.
func (svc *Service) Export(ctx context.Context, who Actor, w io.Writer, s queue.Selection) (int64, error) {
	buffered := bufio.NewWriterSize(w, 64<<10)
	n, err := svc.export(ctx, buffered, s)
	err = wrap(errors.Join(err, buffered.Flush()), "export letters")
	note := Detail{Actual: &n}
	note.Selection, note.More = noted(s)
	svc.audit(ctx, who, "letters.export", s.Queue, note, err)
	return n, err
}

func (svc *Service) export(ctx context.Context, w io.Writer, s queue.Selection) (written int64, err error) {
	if err := svc.known(s); err != nil {
		return 0, err
	}
	out := json.NewEncoder(w)
	out.SetEscapeHTML(false)
	for _, store := range svc.stores(s) {
		frozen := s
		n, last, err := store.CountLetters(ctx, s)
		if err != nil {
			return written, err
		}
		if n == 0 {
			continue
		}
		frozen.Last = last
		for after := int64(0); ; {
			page, err := store.Letters(ctx, frozen, after, exportPage)
			if err != nil {
				return written, err
			}
			if len(page) == 0 {
				break
			}
			for _, l := range page {
				after = l.Sequence
				whole, err := store.Letter(ctx, l.ID)
				if errors.Is(err, queue.ErrLetterNotFound) {
					continue
				}
				if err != nil {
					return written, err
				}
				if err := out.Encode(svc.whole(whole)); err != nil {
					return written, err
				}
				written++
			}
		}
	}
	return written, nil
}
