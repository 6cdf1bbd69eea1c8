package blame

import (
	"time"

	"github.com/bezoar-dev/bezoar"
)

// lead makes ticket i the one that unproven copies wait for, or one of those
// that need not wait: the lead has been streaming its answer for a while. An
// answer may still kill its worker late, so copies join in waves that double.
func (b *Book) lead(i uint32) {
	tk := &b.tickets[i]
	old, ok := b.leaders[tk.work.Fingerprint]
	if ok {
		first := &b.tickets[old]
		if first.room > 0 {
			first.room--
			return
		}
		first.leads = false
		tk.wave = min(first.wave+1, 15)
		tk.room = 1<<tk.wave - 1
	}
	tk.leads = true
	b.leaders[tk.work.Fingerprint] = i
}

// mustWait reports whether unproven work must wait for a copy that goes first.
func (b *Book) mustWait(now int64, fp bezoar.Fingerprint) bool {
	i, ok := b.leaders[fp]
	return ok && b.tickets[i].room == 0 && !b.begunLongAgo(now, i)
}

// begunGrace is how long an answer must have been streaming before copies stop
// waiting for its end: it has not killed its worker so far.
const begunGrace = time.Second

func (b *Book) begunLongAgo(now int64, i uint32) bool {
	at := b.tickets[i].begunAt
	return at != 0 && now-at >= int64(begunGrace)
}
