package cli

import (
	"context"
	"os"
	"os/signal"
	"slices"
	"strings"
	"syscall"
	"time"
)

// signals are channels that tell a command about signals.
type signals struct {
	leaving chan struct{} // closed by the first SIGINT or SIGTERM
	hup     chan struct{} // has a value for each SIGHUP that was not handled yet
}

func (t signals) stops() bool {
	select {
	case <-t.leaving:
		return true
	default:
		return false
	}
}

// early returns a channel that gets SIGHUP from now on if the command serves, else nil. Otherwise a SIGHUP could end a
// process that has just started.
func early(args []string) chan os.Signal {
	i := slices.IndexFunc(args, func(a string) bool { return !strings.HasPrefix(a, "-") })
	if i < 0 || args[i] != "serve" && args[i] != "run" {
		return nil
	}
	sigs := make(chan os.Signal, 4)
	signal.Notify(sigs, syscall.SIGHUP)
	return sigs
}

// heed returns a context that ends delay after the first SIGINT or SIGTERM, or with the second. A signal after that ends
// the process at once. The caller must call stop, which waits.
func (s *session) heed(delay time.Duration) (ctx context.Context, told signals, stop func()) {
	ctx, cancel := context.WithCancel(s)
	told = signals{leaving: make(chan struct{}), hup: make(chan struct{}, 1)}
	sigs := s.early
	if sigs == nil {
		sigs = make(chan os.Signal, 4)
	}
	signal.Notify(sigs, syscall.SIGINT, syscall.SIGTERM, syscall.SIGHUP)
	// A closed output must not stop serving. SIGPIPE is caught and not read. It is not ignored, because the workers would
	// inherit that.
	gone := make(chan os.Signal, 1)
	signal.Notify(gone, syscall.SIGPIPE)
	done, ended := make(chan struct{}), make(chan struct{})
	go func() {
		defer close(ended)
		s.obey(sigs, done, told, delay, cancel)
	}()
	return ctx, told, func() {
		signal.Stop(sigs)
		signal.Stop(gone)
		close(done)
		<-ended
		cancel()
	}
}

// obey handles signals until done.
func (s *session) obey(sigs <-chan os.Signal, done <-chan struct{}, told signals, delay time.Duration, cancel context.CancelFunc) {
	leaving, stopping := false, false
	var over <-chan time.Time // end of the delay
	for {
		select {
		case <-done:
			return
		case <-over:
			over, stopping = nil, true
			s.say("bezoar: stopping; a second signal stops it at once")
			cancel()
		case sig := <-sigs:
			switch {
			case sig == syscall.SIGHUP:
				select {
				case told.hup <- struct{}{}:
				default: // one waits already
				}
			case stopping:
				s.say("bezoar: stopped at once")
				s.Exit(exitInterrupted)
			case leaving || delay == 0:
				if !leaving {
					close(told.leaving)
				}
				over, leaving, stopping = nil, true, true
				s.say("bezoar: stopping; a second signal stops it at once")
				cancel()
			default:
				leaving, over = true, time.After(delay)
				s.say("bezoar: stopping in %v, /readyz says 503; a second signal stops it now", delay)
				close(told.leaving)
			}
		}
	}
}
