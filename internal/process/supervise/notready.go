package supervise

import (
	"fmt"
	"net/netip"
	"strings"
	"time"

	"github.com/bezoar-dev/bezoar/internal/process/probe"
	"github.com/bezoar-dev/bezoar/internal/process/proc"
)

// tellAfter is how long a worker may take to become ready before the log says what is missing.
const tellAfter = 2 * time.Second

const noPort = "it listens on no port"

// tellNotReady logs why a slow worker is not ready, unless told says the same, and returns the reason. last is the newest
// check; nil if there was none.
func (s *Supervisor) tellNotReady(l *life, last *probe.Result, told string) string {
	h, why := s.settingsFor(l).Health, ""
	wants := "it must listen at " + l.addr
	if h.Path != "" {
		wants += " and answer GET " + h.Path + " with 2xx or 3xx"
	}
	switch {
	case last == nil:
		why = "its health check has not been answered yet"
	case last.Outcome == probe.Answered:
		why = "its health check " + last.String()
	default:
		sockets := proc.Sockets(proc.Family{Group: l.pid, Variable: envLife + "=" + l.mark})
		if why = notListening(l.port, probe.ListeningBy(sockets)); why == noPort {
			if paths := probe.UnixListeningBy(sockets); len(paths) > 0 {
				why = fmt.Sprintf("it listens on the Unix socket %s, and on no port", strings.Join(paths, ", "))
			}
		}
	}
	if why == told {
		return told
	}
	if w := s.find(l.worker); w != nil {
		w.note(func(st *WorkerStatus) { st.LastError = "not ready yet: " + why })
	}
	s.log.Warn("worker is not ready yet", "worker", l.worker, "pid", l.pid, "why", why, "wants", wants,
		"waits", h.StartTimeout, "stderr", strings.TrimPrefix(saying(l.tail.lines()), "; "))
	return why
}

// notListening says where a worker listens instead of at its port.
func notListening(port int, at []netip.AddrPort) string {
	if len(at) == 0 {
		return noPort
	}
	places := probe.Places(at)
	for _, a := range at {
		if int(a.Port()) != port {
			continue
		}
		if a.Addr().IsUnspecified() || a.Addr() == netip.AddrFrom4([4]byte{127, 0, 0, 1}) {
			return "it listens at " + places + ", and does not answer"
		}
		return fmt.Sprintf("it listens at %s, and not at 127.0.0.1", places)
	}
	return fmt.Sprintf("it listens at %s, and not on the port %d of $PORT or {port}", places, port)
}
