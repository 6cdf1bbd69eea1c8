package stale

import (
	"slices"
	"time"
)

const (
	// maxFields and maxHead bound the header of an answer.
	maxFields = 256
	maxHead   = 64 << 10
	perField  = 32 // memory of a Field in addition to its text
	// firstPiece is how much a recorder reserves first, if no length was given.
	firstPiece = 4 << 10
)

// Recorder copies an answer while it passes. Commit keeps it, if it is complete. Until then it counts against a quarter of
// MaxBytes for all recorders. The zero Recorder copies nothing. It is not safe for concurrent use.
type Recorder struct {
	cache  *Cache // nil: it copies nothing more
	key    [16]byte
	is     *kept
	body   []byte
	length int64 // the given length; -1: none
	why    Reason
}

// Record starts to copy an answer, without a.Body. It copies the header, so the caller's buffers are free. An answer that
// may not be kept, or whose copy is younger than Config.Refresh, costs nothing more. End it with Commit or Discard.
func (c *Cache) Record(key [16]byte, a Answer, now time.Time) Recorder {
	if c.fresh(key, now) {
		return Recorder{why: Older}
	}
	return c.record(key, a)
}

func (c *Cache) record(key [16]byte, a Answer) Recorder {
	head, why := c.judge(a)
	if why == Kept && head.length > int64(c.config.MaxEntry) {
		why = TooLarge
	}
	if why != Kept {
		return c.refuse(why)
	}
	fields, size := clone(a.Header)
	return Recorder{cache: c, key: key, length: head.length, is: &kept{
		answer: Answer{Status: a.Status, Header: fields}, age: head.age, limit: head.limit, size: overhead + size,
	}}
}

func (c *Cache) refuse(why Reason) Recorder {
	c.refused[why].Add(1)
	return Recorder{why: why}
}

// Write takes the next piece of the body. It always succeeds.
func (r *Recorder) Write(p []byte) (int, error) {
	if r.cache == nil || len(p) == 0 {
		return len(p), nil
	}
	all := len(r.body) + len(p)
	switch {
	case r.length >= 0 && int64(all) > r.length:
		r.giveUp(Partial)
	case all > r.cache.config.MaxEntry:
		r.giveUp(TooLarge)
	case all > cap(r.body) && !r.grow(all):
		r.giveUp(Busy)
	default:
		r.body = append(r.body, p...)
	}
	return len(p), nil
}

// grow makes room for all bytes, unless other recorders use the memory.
func (r *Recorder) grow(all int) bool {
	c := r.cache
	want := min(max(2*cap(r.body), all, firstPiece), c.config.MaxEntry)
	if r.length >= 0 {
		want = int(r.length)
	}
	more := int64(want - cap(r.body))
	if c.recording.Add(more) > max(c.config.MaxBytes/4, int64(c.config.MaxEntry)) {
		c.recording.Add(-more)
		return false
	}
	body := make([]byte, len(r.body), want)
	copy(body, r.body)
	r.body = body
	return true
}

// Commit keeps the answer, whose body is complete, or returns why not.
func (r *Recorder) Commit(now time.Time) Reason {
	c := r.cache
	if c == nil {
		if r.why == Kept {
			return Older
		}
		return r.why
	}
	if r.length >= 0 && int64(len(r.body)) != r.length {
		r.giveUp(Partial)
		return Partial
	}
	body := r.body
	if len(body) < cap(body) {
		body = slices.Clone(body)[:len(body):len(body)]
	}
	is := r.is
	is.answer.Body, is.at = body, now
	is.size += int64(len(body))
	r.Discard()
	why := TooLarge
	if is.size <= c.config.MaxBytes {
		why = c.insert(r.key, is)
	}
	if why != Kept {
		c.refused[why].Add(1)
	}
	r.why = why
	return why
}

// Discard drops the copy; after Commit it does nothing.
func (r *Recorder) Discard() {
	if r.cache != nil {
		r.cache.recording.Add(-int64(cap(r.body)))
		r.cache, r.body, r.is = nil, nil, nil
	}
}

func (r *Recorder) giveUp(why Reason) {
	r.cache.refused[why].Add(1)
	r.Discard()
	r.why = why
}
