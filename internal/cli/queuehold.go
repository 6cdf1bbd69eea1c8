package cli

import (
	"strconv"
	"time"

	"github.com/bezoar-dev/bezoar"
	"github.com/bezoar-dev/bezoar/internal/control/adminapi"
	"github.com/bezoar-dev/bezoar/queue"
)

type queuePayloads struct {
	remote
	Name string `arg:"" help:"The queue's name."`
}

func (c *queuePayloads) Run(s *session, api *adminapi.Client) error {
	payloads, err := api.Payloads(s, c.Name)
	return s.list(adminapi.Payloads{Payloads: payloads}, len(payloads), err, listing{
		none: "no payload is suspected or quarantined",
		head: []string{"PAYLOAD", "STATE", ">DEATHS", "SINCE", "UNTIL", "CLASS", "REASON"},
		row: func(now time.Time, i int) []cell {
			p := payloads[i]
			state := plain(p.State)
			if p.State == "quarantined" {
				state.style = red
			}
			return []cell{
				plain(p.Payload.String()), state, plain(strconv.FormatFloat(p.Strikes, 'g', 3, 64)), plain(ago(now, p.Since)), plain(until(now, p.Until)),
				plain(p.Class.String()), plain(p.Reason),
			}
		},
	})
}

type queuePardon struct {
	remote
	Name     string   `arg:"" help:"The queue's name."`
	Payloads []string `arg:"" optional:"" name:"payload" help:"The payloads, as queue payloads lists them."`
	Group    []string `short:"g" sep:"none" placeholder:"GROUP" help:"The payloads of all dead letters of this failure group (ID or unique prefix) that came from the queue. May be repeated."`
}

func (c *queuePardon) Run(s *session, api *adminapi.Client) error {
	switch {
	case len(c.Group) > 0 && len(c.Payloads) > 0, len(c.Group)+len(c.Payloads) == 0:
		return exitf(exitUsage, "name payloads, or a group of dead letters with --group")
	case len(c.Group) > 0:
		return c.group(s, api)
	}
	return s.forEach(c.Payloads, "pardoned", func(given string) (string, error) {
		payload, err := bezoar.ParseFingerprint(given)
		if err != nil {
			return "", &exitError{code: exitUsage, err: err}
		}
		return given, api.Pardon(s, c.Name, payload)
	})
}

// group pardons the payloads of dead letters.
func (c *queuePardon) group(s *session, api *adminapi.Client) error {
	sel, err := picked{Group: c.Group}.selection(s, api)
	if err != nil {
		return err
	}
	sel.Origin = c.Name
	n, err := api.PardonLetters(s, sel)
	return s.show(adminapi.Pardoned{Payloads: n}, err, func() { s.out.printf("%s pardoned\n", count(int64(n), "payload", "payloads")) })
}

type queuePause struct {
	remote
	Names  []string      `arg:"" name:"name" help:"The queues' names."`
	For    time.Duration `placeholder:"TIME" help:"Resume after this long (default: only queue resume does)."`
	Reason string        `placeholder:"TEXT" help:"Reason, shown to people who ask why nothing is received."`
}

func (c *queuePause) Run(s *session, api *adminapi.Client) error {
	if c.For < 0 {
		return exitf(exitUsage, "--for is %v, want more than 0", c.For)
	}
	p := queue.Pause{Reason: c.Reason}
	if c.For > 0 {
		p.Until = s.now().Add(c.For)
	}
	return s.forEach(c.Names, "paused", func(name string) (string, error) { return name, api.Pause(s, name, p) })
}

type queueResume struct {
	remote
	Names []string `arg:"" name:"name" help:"The queues' names."`
}

func (c *queueResume) Run(s *session, api *adminapi.Client) error {
	return s.forEach(c.Names, "resumed", func(name string) (string, error) { return name, api.Resume(s, name) })
}
