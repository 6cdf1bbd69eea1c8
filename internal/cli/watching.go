package cli

import (
	"encoding/json"
	"errors"
	"time"

	"github.com/bezoar-dev/bezoar/internal/control/adminapi"
)

// watching is for commands that can ask a running gateway again and again.
type watching struct {
	Watch bool          `short:"w" help:"Ask again until interrupted."`
	Every time.Duration `default:"2s" placeholder:"TIME" help:"Interval of --watch (default 2s)."`
}

// check finds what is wrong with the flags.
func (w *watching) check() error {
	if w.Every < 100*time.Millisecond {
		return exitf(exitUsage, "--every %v: want 100ms or more", w.Every)
	}
	return nil
}

// ask calls look, with --watch until the session ends or the gateway refuses. One
// that was there and does not answer for a while may be starting again.
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
			s.say("bezoar: %s", spoken(err))
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

// json writes an answer as a document: with --watch in a line of its own.
func (w *watching) json(s *session, answer any) error {
	if w.Watch {
		return json.NewEncoder(s.Stdout).Encode(answer)
	}
	return s.out.json(answer)
}

// clear makes room on a terminal for what comes in place of the answer before.
func (w *watching) clear(s *session) {
	if w.Watch && s.out.width != nil {
		s.out.printf("\x1b[H\x1b[2J")
	}
}
