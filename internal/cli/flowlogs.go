package cli

import (
	"bufio"
	"errors"
	"io"
	"slices"

	"github.com/bezoar-dev/bezoar/internal/flow/flowapi"
)

type flowLogsCmd struct {
	place
	Attempt int    `short:"a" placeholder:"N" help:"The attempt, from 1 (default: the last one)."`
	Follow  bool   `short:"f" help:"Go on until the attempt has ended."`
	ID      string `arg:"" name:"run" help:"The run: its ID, the beginning of it, or last."`
	Task    string `arg:"" help:"The task, or TASK[INDEX] for one of its instances."`
}

// Run prints a log. The task wrote the text, so a terminal gets no control characters of it; elsewhere it is printed
// unchanged.
func (c *flowLogsCmd) Run(s *session) error {
	task, index, err := instanceOf(c.Task)
	if err != nil {
		return err
	}
	flows, _, done, err := c.open(s)
	if err != nil {
		return err
	}
	defer done()
	id, err := s.resolveRun(flows, c.ID)
	if err != nil {
		return err
	}
	at, err := c.attempt(s, flows, id, task, index)
	if err != nil {
		return err
	}
	if s.json {
		return s.out.json(at)
	}
	log, err := flows.Logs(s, id, at.Token, 0, c.Follow)
	if err != nil {
		return err
	}
	defer log.Close()
	return s.copyLog(log)
}

// attempt finds the attempt whose log is printed.
func (c *flowLogsCmd) attempt(s *session, flows flowapi.Flows, id, task string, index *int) (flowapi.Attempt, error) {
	q := flowapi.AttemptQuery{Task: task, Index: index, Limit: flowapi.MaxPage}
	var all []flowapi.Attempt
	for {
		page, err := flows.Attempts(s, id, q)
		if err != nil {
			return flowapi.Attempt{}, err
		}
		all = append(all, page...)
		if len(page) < q.Limit {
			break
		}
		q.After = page[len(page)-1].Token
	}
	if c.Attempt > 0 {
		all = slices.DeleteFunc(all, func(a flowapi.Attempt) bool { return a.N != c.Attempt })
	}
	if len(all) == 0 {
		return flowapi.Attempt{}, hinted(exitf(exitNotFound, "run %s has no such attempt of %s", id, clean(c.Task)), "bezoar flow show %s lists its tasks", id)
	}
	return all[len(all)-1], nil
}

// copyLog prints a log as it comes.
func (s *session) copyLog(log io.Reader) error {
	if s.out.width == nil {
		_, err := io.Copy(s.Stdout, log)
		return err
	}
	const longest = 1 << 20
	lines := bufio.NewReaderSize(log, longest)
	for {
		line, err := lines.ReadSlice('\n')
		if text := string(line); text != "" {
			end := ""
			if text[len(text)-1] == '\n' {
				text, end = text[:len(text)-1], "\n"
			}
			s.out.printf("%s%s", clean(text), end)
		}
		switch {
		case errors.Is(err, io.EOF):
			return nil
		case errors.Is(err, bufio.ErrBufferFull):
		case err != nil:
			return err
		}
	}
}
