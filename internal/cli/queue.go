package cli

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/bezoar-dev/bezoar/internal/control/adminapi"
)

type queueCmd struct {
	Ls       queueLs       `cmd:"" help:"List queues and what they hold."`
	Show     queueShow     `cmd:"" help:"Show one queue with its attributes."`
	Create   queueCreate   `cmd:"" help:"Create a queue."`
	Set      queueSet      `cmd:"" help:"Change settings of a queue."`
	Send     queueSend     `cmd:"" help:"Send messages: the arguments, a file, or lines of stdin."`
	Peek     queuePeek     `cmd:"" help:"Look at messages without receiving any."`
	Edit     queueEdit     `cmd:"" help:"Change one message that waits in a queue."`
	Delete   queueDelete   `cmd:"" help:"Delete one message of a queue."`
	Purge    queuePurge    `cmd:"" help:"Delete all messages of a queue."`
	Rm       queueRm       `cmd:"" help:"Delete a queue and all that is in it."`
	Payloads queuePayloads `cmd:"" help:"List the payloads that are suspected or refused in a queue."`
	Pardon   queuePardon   `cmd:"" help:"Forget the verdicts on payloads."`
	Pause    queuePause    `cmd:"" help:"Hold queues back: nothing is received from them until they are resumed."`
	Resume   queueResume   `cmd:"" help:"Resume a queue that was paused, by you or because of an outage."`
}

type queueLs struct {
	remote
	Prefix string `arg:"" optional:"" help:"Only names that begin with this."`
}

func (c *queueLs) Run(s *session, api *adminapi.Client) error {
	queues, err := api.Queues(s, c.Prefix)
	return s.list(adminapi.Queues{Queues: queues}, len(queues), err, listing{
		none: "no queues",
		head: []string{"NAME", ">VISIBLE", ">IN FLIGHT", ">DELAYED", ">OLDEST", "DEAD LETTERS TO", "STATE"},
		row: func(_ time.Time, i int) []cell {
			q := queues[i]
			return []cell{plain(q.Name), number(q.Visible), number(q.InFlight), number(q.Delayed), plain(oldest(q)), plain(deadLetters(q)), queueState(q)}
		},
	})
}

func number(n int64) cell { return plain(strconv.FormatInt(n, 10)) }

func oldest(q adminapi.Queue) string {
	if q.Oldest == 0 {
		return "–"
	}
	return span(time.Duration(q.Oldest))
}

func deadLetters(q adminapi.Queue) string {
	switch {
	case q.Receives > 0:
		return fmt.Sprintf("%s after %d", q.DeadLetter, q.Receives)
	case q.Implicit:
		return q.DeadLetter + " by verdict"
	}
	return q.DeadLetter
}

func queueState(q adminapi.Queue) cell {
	c := plain(q.State)
	c.style = yellow
	if q.State == "ok" {
		c.style = green
	}
	return c
}

type queueShow struct {
	remote
	Name string `arg:"" help:"The queue's name."`
}

func (c *queueShow) Run(s *session, api *adminapi.Client) error {
	q, err := api.Queue(s, c.Name)
	return s.show(q, err, func() { reportQueue(s, q) })
}

func reportQueue(s *session, q adminapi.Queue) {
	state := queueState(q)
	s.out.printf("%s  %s\n\n", s.out.paint(bold, clean(q.Name)), s.out.paint(state.style, clean(q.State)))
	s.out.printf("  %d visible, %d in flight, %d delayed", q.Visible, q.InFlight, q.Delayed)
	if q.Oldest > 0 {
		s.out.printf("; the oldest is %s old", oldest(q))
	}
	s.out.printf("\n")
	s.out.printf("  dead letters to %s, made %s\n\n", clean(deadLetters(q)), clock(s.now(), q.Created))
	for _, name := range slices.Sorted(maps.Keys(q.Attributes)) {
		s.out.printf("  %s %s\n", s.out.paint(dim, clean(name)+":"), clean(q.Attributes[name]))
	}
	for _, name := range slices.Sorted(maps.Keys(q.Tags)) {
		s.out.printf("  %s %s\n", s.out.paint(dim, "tag "+clean(name)+":"), clean(q.Tags[name]))
	}
}

type queueCreate struct {
	remote
	Name       string            `arg:"" help:"1 to 80 letters, digits, - and _. The name of a FIFO queue ends in .fifo."`
	Attributes map[string]string `name:"attribute" short:"a" mapsep:"none" placeholder:"NAME=VALUE" help:"An attribute by its SQS name, such as VisibilityTimeout=60 or BezoarRetryBase=2s. May be repeated."`
	DeadLetter string            `placeholder:"QUEUE" help:"The queue for messages that were received too often; created if it does not exist."`
	Receives   int               `name:"max-receives" placeholder:"N" help:"How often a message may be received, 1 to 1000 (default 5 with --dead-letter)."`
	Tags       map[string]string `name:"tag" mapsep:"none" placeholder:"KEY=VALUE" help:"A tag. May be repeated."`
}

func (c *queueCreate) Run(s *session, api *adminapi.Client) error {
	in := adminapi.CreateQueue{Name: c.Name, Attributes: c.Attributes, Tags: c.Tags}
	if in.Attributes == nil {
		in.Attributes = map[string]string{}
	}
	if strings.HasSuffix(c.Name, ".fifo") {
		in.Attributes["FifoQueue"] = "true"
	}
	if c.Receives != 0 && c.DeadLetter == "" {
		return exitf(exitUsage, "--max-receives %d: name the queue for them with --dead-letter", c.Receives)
	}
	if c.DeadLetter != "" {
		in.Attributes[redrivePolicy] = redriveTo(c.DeadLetter, cmp.Or(c.Receives, defaultReceives))
	}
	if err := makeDeadLetter(s, api, c.DeadLetter); err != nil {
		return err
	}
	q, err := api.CreateQueue(s, in)
	return s.show(q, err, func() { s.out.printf("%s\n", clean(q.Name)) })
}

// redrivePolicy is the attribute that names the dead-letter queue and the number of receives.
const redrivePolicy = "RedrivePolicy"

// defaultReceives is the default number of receives.
const defaultReceives = 5

func redriveTo(queue string, receives int) string {
	return fmt.Sprintf(`{"deadLetterTargetArn":%q,"maxReceiveCount":%d}`, "arn:aws:sqs:us-east-1:000000000000:"+queue, receives)
}

// makeDeadLetter makes the named dead-letter queue if it does not exist.
func makeDeadLetter(s *session, api *adminapi.Client, name string) error {
	if name == "" {
		return nil
	}
	_, err := api.Queue(s, name)
	if codeOf(err) != exitNotFound {
		return err
	}
	made := adminapi.CreateQueue{Name: name, Attributes: map[string]string{"MessageRetentionPeriod": "1209600"}}
	if strings.HasSuffix(name, ".fifo") {
		made.Attributes["FifoQueue"] = "true"
	}
	_, err = api.CreateQueue(s, made)
	return err
}

type queuePeek struct {
	remote
	Name  string `arg:"" help:"The queue's name."`
	Limit int    `default:"10" placeholder:"N" help:"At most this many, up to 256 (default ${default})."`
	After int64  `placeholder:"SEQUENCE" help:"Only messages sent after the one with this sequence number."`
	Body  bool   `help:"Write only the first message's body to stdout, unchanged."`
}

func (c *queuePeek) Run(s *session, api *adminapi.Client) error {
	if c.Limit < 1 || c.Limit > adminapi.MaxPeek || c.After < 0 {
		return exitf(exitUsage, "--limit %d --after %d: want 1 to %d, and 0 or more", c.Limit, c.After, adminapi.MaxPeek)
	}
	messages, err := api.Peek(s, c.Name, c.After, c.Limit)
	if c.Body && !s.json && len(messages) > 0 {
		_, err := s.Stdout.Write(messages[0].Body)
		return err
	}
	err = s.list(adminapi.Messages{Messages: messages}, len(messages), err, listing{
		none: "no messages",
		head: []string{">SEQUENCE", "ID", "STATE", ">RECEIVES", "SENT", ">BYTES", "BODY"},
		row: func(now time.Time, i int) []cell {
			m := messages[i]
			return []cell{
				number(m.Sequence), plain(m.ID), plain(m.State), number(int64(m.Receives)), plain(ago(now, m.Sent)), number(int64(len(m.Body))),
				plain(excerpt(m.Body)),
			}
		},
	})
	if err == nil && !s.json && len(messages) == c.Limit {
		s.say("perhaps more: --after %d", messages[len(messages)-1].Sequence)
	}
	return err
}

func excerpt(body []byte) string {
	const most = 200
	if len(body) > most {
		return string(body[:most]) + "…"
	}
	return string(body)
}

type queuePurge struct {
	remote
	Name string `arg:"" help:"The queue's name."`
	Yes  bool   `help:"Delete. Without --yes the command only says what would be deleted."`
}

func (c *queuePurge) Run(s *session) error {
	return c.remote.destroy(s, c.Name, c.Yes, "purge", func(api *adminapi.Client) error { return api.Purge(s, c.Name) })
}

type queueRm struct {
	remote
	Name string `arg:"" help:"The queue's name."`
	Yes  bool   `help:"Delete. Without --yes the command only says what would be deleted."`
}

func (c *queueRm) Run(s *session) error {
	return c.remote.destroy(s, c.Name, c.Yes, "delete", func(api *adminapi.Client) error { return api.DeleteQueue(s, c.Name) })
}

// destroy does something irreversible, once it is confirmed.
func (r remote) destroy(s *session, name string, yes bool, verb string, do func(*adminapi.Client) error) error {
	api, err := r.client(s)
	if err != nil {
		return err
	}
	defer api.Close()
	q, err := api.Queue(s, name)
	if err != nil {
		return err
	}
	n := q.Visible + q.InFlight + q.Delayed
	if !yes {
		return hinted(exitf(exitUsage, "%s queue %s: it holds %s", verb, clean(name), count(n, "message", "messages")), "--yes does it; this cannot be undone")
	}
	return s.show(map[string]any{"queue": name, "messages": n}, do(api), func() {
		s.out.printf("%sd %s: %s\n", verb, clean(name), count(n, "message", "messages"))
	})
}
