package cli

import (
	"encoding/json"
	"errors"
	"time"

	"github.com/bezoar-dev/bezoar/internal/control/adminapi"
)

// watching is for commands that can repeat a question to a running gateway.
type watching struct {
	Watch bool          `short:"w" help:"Ask again until interrupted."`
	Every time.Duration `default:"2s" placeholder:"TIME" help:"Interval of --watch (default 2s)."`
}

// check returns an error for invalid flags.
func (w *watching) check() error {
	if w.Every < 100*time.Millisecond {
		return exitf(exitUsage, "--every is %v, want 100ms or more", w.Every)
	}
	return nil
}

// ask calls look. With --watch it repeats that until the session ends or the gateway refuses. A gateway that does not
// answer for a while may be restarting, so ask goes on.
func (w *watching) ask(s *session, look func() error) error {
	tick := time.NewTicker(w.Every)
	defer tick.Stop()
	seen := false
	for {
		err := look()
		_, refused := errors.AsType[*adminapi.Problem](err)
		_, ours := errors.AsType[*exitError](err)
		switch {
		case !w.Watch, err != nil && (!seen || refused || ours || s.Err() != nil):
			return err
		case err != nil:
			s.complain(err, s.json)
		default:
			seen = true
		}
		select {
		case <-tick.C:
		case <-s.Done():
			return s.Err()
		}
	}
}

// json writes an answer as a document; with --watch as one line.
func (w *watching) json(s *session, answer any) error {
	if w.Watch {
		return json.NewEncoder(s.Stdout).Encode(answer)
	}
	return s.out.json(answer)
}

// clear clears the terminal for the next answer.
func (w *watching) clear(s *session) {
	if w.Watch && s.out.width != nil {
		s.out.printf("\x1b[H\x1b[2J")
	}
}
