package h1

import (
	"runtime"
	"sync/atomic"
	"time"
)

// Crowd lets goroutines that reach a step of an exchange shortly after each other do it together: each first yields to
// others, and then all do the step one right after the other. Peers wake up once for many of them, and the same code runs
// many times in a row. At full load that saves a quarter of the CPU time. At low load it would only wake up idle
// processors, so then it does nothing. The zero value is ready.
type Crowd struct {
	last atomic.Int64 // when the last one came, in Unix nanoseconds; the lowest byte is who
}

// closely is how soon after each other exchanges must come to be a crowd.
const closely = 100 * time.Microsecond

// dense records that a connection has come, and reports whether another one came just before. Connections with the same who
// count as one.
func (c *Crowd) dense(now time.Time, who uint8) bool {
	at := now.UnixNano()
	last := c.last.Swap(at&^0xff | int64(who))
	return at-last < int64(closely) && uint8(last) != who
}

// Pass yields to others in a crowd. who is a number that differs between most connections.
func (c *Crowd) Pass(now time.Time, who uint8) {
	if c.dense(now, who) {
		runtime.Gosched()
	}
}
