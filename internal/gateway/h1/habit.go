package h1

import "time"

// habit is what a worker does with connections after its answers. Some servers, such as uWSGI's HTTP socket, close every
// connection without saying so. A request that is sent on such a connection in that moment is lost.
type habit uint8

const (
	unknown habit = iota
	keeps         // a connection was open some time after its answer
	closes        // connections were closed soon after their answers
)

const (
	settled    = 20 * time.Millisecond  // a worker that closes connections has closed one by then
	soon       = 100 * time.Millisecond // no worker's idle time is shorter
	onceIdle   = time.Second            // of a connection that a request that cannot be repeated may have; usual idle times are 2 s and more
	closesFor  = 5 * time.Second        // then it is unknown again: many short connections use up the ports
	mostClosed = 10                     // connections that a worker that keeps them may close soon
)

// habits is what a pool knows about its worker, guarded by the pool's mutex.
type habits struct {
	habit  habit
	closed int       // connections closed soon after their answers
	until  time.Time // closes holds until then
}

// sawOpen records that a connection was still open some time after its answer.
func (h *habits) sawOpen(idle time.Duration) {
	if h.habit == unknown && idle >= settled {
		h.habit = keeps
	}
}

// sawClosed records that the worker has closed a connection within idle.
func (h *habits) sawClosed(idle time.Duration, now time.Time) {
	if idle >= soon || idle < 0 {
		return
	}
	if h.closed++; h.habit == unknown || h.habit == keeps && h.closed >= mostClosed {
		h.habit, h.until = closes, now.Add(closesFor)
	}
}

// oldest puts the oldest idle connection behind all others if it has been idle long enough to show what the worker does. It
// closes one that has expired.
func (p *Pool) oldest(now time.Time) bool {
	c := p.idle[0]
	switch idle := now.Sub(c.since); {
	case idle > p.cfg.IdleTimeout:
		p.drop(1)
		return false
	case idle < settled:
		return false
	}
	p.idle[copy(p.idle, p.idle[1:])] = c
	return true
}

// learn records how an idle connection was found.
func (p *Pool) learn(c *Conn, seen liveness, now time.Time) {
	p.mu.Lock()
	defer p.mu.Unlock()
	switch seen {
	case quiet:
		p.sawOpen(now.Sub(c.since))
	case ended, dead:
		p.sawClosed(now.Sub(c.since), now)
	case talking: // says nothing of this
	}
}

// mayKeep reports whether a connection may be kept for a later request.
func (h *habits) mayKeep(now time.Time) bool {
	if h.habit != closes {
		return true
	}
	if now.Before(h.until) {
		return false
	}
	*h = habits{}
	return true
}
