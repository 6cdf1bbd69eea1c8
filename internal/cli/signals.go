package cli

import (
	"context"
	"os"
	"os/signal"
	"syscall"
)

// heed returns a context that ends with the first SIGINT or SIGTERM, and a
// channel with a value for every SIGHUP that is not served yet. A second
// signal ends the process at once. stop must be called, and waits.
func (s *session) heed() (ctx context.Context, hup <-chan struct{}, stop func()) {
	ctx, cancel := context.WithCancel(s)
	sigs := make(chan os.Signal, 4)
	signal.Notify(sigs, syscall.SIGINT, syscall.SIGTERM, syscall.SIGHUP)
	// Who reads our output may go, which is no reason to stop serving. Not
	// ignored, or the workers would ignore it, too: asked for and not listened to.
	gone := make(chan os.Signal, 1)
	signal.Notify(gone, syscall.SIGPIPE)
	asked := make(chan struct{}, 1)
	done, ended := make(chan struct{}), make(chan struct{})
	go func() {
		defer close(ended)
		stopping := false
		for {
			select {
			case <-done:
				return
			case sig := <-sigs:
				switch {
				case sig == syscall.SIGHUP:
					select {
					case asked <- struct{}{}:
					default: // one is waiting already
					}
				case stopping:
					s.say("bezoar: stopped at once")
					s.Exit(exitInterrupted)
				default:
					stopping = true
					s.say("bezoar: stopping; once more stops at once")
					cancel()
				}
			}
		}
	}()
	return ctx, asked, func() {
		signal.Stop(sigs)
		signal.Stop(gone)
		close(done)
		<-ended
		cancel()
	}
}
