package cli

import (
	"cmp"
	"maps"
	"strconv"
	"time"

	"github.com/bezoar-dev/bezoar/internal/control/adminapi"
)

type queueSet struct {
	remote
	Name       string            `arg:"" help:"The queue's name."`
	Visibility *time.Duration    `placeholder:"TIME" help:"Time for which a received message is hidden from others, 0s to 12h."`
	Delay      *time.Duration    `placeholder:"TIME" help:"Time before a sent message can be received, 0s to 15m."`
	Retention  *time.Duration    `placeholder:"TIME" help:"Time after which a message is deleted, 1m to 336h."`
	Receives   *int              `name:"max-receives" placeholder:"N" help:"How often a message may be received before it is set aside, 1 to 1000."`
	DeadLetter *string           `placeholder:"QUEUE" help:"The queue for messages that were received too often; created if it does not exist. An empty QUEUE: none is named, and messages are set aside by verdict only."`
	Attributes map[string]string `name:"attribute" short:"a" mapsep:"none" placeholder:"NAME=VALUE" help:"An attribute by its SQS name, such as BezoarRetryBase=2s. May be repeated."`
}

// Help is shown below the flags.
func (*queueSet) Help() string {
	return "Settings that you do not name stay. The change holds at once, for all nodes. A queue that the settings file names gets the file's settings again when Bezoar starts: change the file as well."
}

func (c *queueSet) Run(s *session, api *adminapi.Client) error {
	set := map[string]string{}
	maps.Copy(set, c.Attributes)
	for name, d := range map[string]*time.Duration{"VisibilityTimeout": c.Visibility, "DelaySeconds": c.Delay, "MessageRetentionPeriod": c.Retention} {
		if d == nil {
			continue
		}
		if *d != d.Truncate(time.Second) {
			return exitf(exitUsage, "%s %v: want whole seconds", name, *d)
		}
		set[name] = strconv.Itoa(int(d.Seconds()))
	}
	if len(set) == 0 && c.Receives == nil && c.DeadLetter == nil {
		return hinted(exitf(exitUsage, "nothing is changed"), "bezoar queue set --help lists what can be changed")
	}
	if err := c.redrive(s, api, set); err != nil {
		return err
	}
	q, err := api.SetQueue(s, c.Name, adminapi.SetQueue{Attributes: set})
	return s.show(q, err, func() { reportQueue(s, q) })
}

// redrive adds the dead-letter queue and the number of receives. Values that are not given stay.
func (c *queueSet) redrive(s *session, api *adminapi.Client, set map[string]string) error {
	switch {
	case c.Receives == nil && c.DeadLetter == nil:
		return nil
	case c.DeadLetter != nil && *c.DeadLetter == "" && c.Receives != nil:
		return exitf(exitUsage, "--max-receives %d: name the queue for them with --dead-letter", *c.Receives)
	case c.DeadLetter != nil && *c.DeadLetter == "":
		set[redrivePolicy] = ""
		return nil
	}
	q, err := api.Queue(s, c.Name)
	if err != nil {
		return err
	}
	to, receives := q.DeadLetter, cmp.Or(q.Receives, defaultReceives)
	if c.DeadLetter != nil {
		to = *c.DeadLetter
	}
	if c.Receives != nil {
		receives = *c.Receives
	}
	if err := makeDeadLetter(s, api, to); err != nil {
		return err
	}
	set[redrivePolicy] = redriveTo(to, receives)
	return nil
}
