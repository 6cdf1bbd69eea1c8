package cli

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"os"
	"time"

	"github.com/bezoar-dev/bezoar/internal/control/adminapi"
)

type queueSend struct {
	remote
	Name       string            `arg:"" help:"The queue's name."`
	Bodies     []string          `arg:"" optional:"" name:"body" help:"The messages' bodies; - for stdin as one message."`
	File       string            `short:"f" placeholder:"FILE" help:"Send this file's content as one message."`
	Lines      bool              `help:"Send every line of stdin, or of the file, as a message."`
	Delay      *time.Duration    `placeholder:"TIME" help:"Time until the messages can be received, up to 15m (default: the queue's)."`
	Group      string            `placeholder:"ID" help:"The message group; FIFO queues need one."`
	Dedup      string            `placeholder:"ID" help:"The deduplication id of one message to a FIFO queue."`
	Priority   int               `placeholder:"N" help:"Priority from 0 to 9, higher first."`
	Attributes map[string]string `name:"attribute" short:"a" mapsep:"none" placeholder:"NAME=VALUE" help:"A message attribute. May be repeated."`
}

// maxLine bounds one message that is read.
const maxLine = 1 << 20

func (c *queueSend) Run(s *session, api *adminapi.Client) error {
	if p, ok := c.Attributes["BezoarPriority"]; ok { // a client of SQS sends it as a Number
		return hinted(exitf(exitUsage, "--attribute BezoarPriority sets no priority"), "--priority %s sets it", clean(p))
	}
	out := sender{s: s, api: api, cmd: c}
	err := c.each(s, out.add)
	return errors.Join(err, out.finish(err == nil))
}

// each calls do for each body.
func (c *queueSend) each(s *session, do func([]byte) error) error {
	if n := len(c.Bodies); n > 0 && (c.File != "" || c.Lines && !(n == 1 && c.Bodies[0] == "-")) || n == 0 && c.File == "" && !c.Lines {
		return exitf(exitUsage, "give bodies as arguments, or --file FILE, or --lines for lines of stdin")
	}
	in := s.Stdin
	if c.File != "" {
		f, err := os.Open(c.File)
		if err != nil {
			return fmt.Errorf("read the message: %w", err)
		}
		defer f.Close()
		in = f
	}
	if c.Lines {
		lines := bufio.NewScanner(in)
		lines.Buffer(nil, maxLine)
		for n := 1; lines.Scan(); n++ {
			if len(lines.Bytes()) == 0 {
				continue
			}
			if err := do(append([]byte(nil), lines.Bytes()...)); err != nil {
				return fmt.Errorf("line %d: %w", n, err)
			}
		}
		return lines.Err()
	}
	if c.File != "" {
		return whole(in, maxLine, do)
	}
	for _, body := range c.Bodies {
		if body == "-" {
			if err := whole(in, maxLine, do); err != nil {
				return err
			}
			continue
		}
		if err := do([]byte(body)); err != nil {
			return err
		}
	}
	return nil
}

// whole reads at most most bytes.
func whole(in io.Reader, most int, do func([]byte) error) error {
	body, err := io.ReadAll(io.LimitReader(in, int64(most)+1))
	if err != nil {
		return fmt.Errorf("read the message: %w", err)
	}
	if len(body) > most {
		return exitf(exitFailure, "the message is longer than %d bytes", most)
	}
	return do(body)
}

// sender sends messages in batches.
type sender struct {
	s    *session
	api  *adminapi.Client
	cmd  *queueSend
	next []adminapi.Send
	size int
	sent []adminapi.Sent
	bad  int
}

// batchBytes keeps a call well below the API's limit, because bodies travel as base64.
const batchBytes = adminapi.MaxMessageText / 4

func (o *sender) add(body []byte) error {
	m := adminapi.Send{Body: body, Group: o.cmd.Group, Dedup: o.cmd.Dedup, Priority: o.cmd.Priority, Attributes: o.cmd.Attributes}
	if d := o.cmd.Delay; d != nil {
		delay := adminapi.Duration(*d)
		m.Delay = &delay
	}
	if len(o.next) == adminapi.MaxSendBatch || len(o.next) > 0 && o.size+len(body) > batchBytes {
		if err := o.flush(); err != nil {
			return err
		}
	}
	o.next, o.size = append(o.next, m), o.size+len(body)
	return nil
}

func (o *sender) flush() error {
	if len(o.next) == 0 {
		return nil
	}
	sent, err := o.api.Send(o.s, o.cmd.Name, o.next)
	if err != nil {
		return err
	}
	o.next, o.size = nil, 0
	for _, r := range sent {
		o.sent = append(o.sent, r)
		switch {
		case r.Error != "":
			o.bad++
			o.s.complain(errors.New(r.Error), o.s.json)
		case !o.s.json:
			o.s.out.printf("%s\n", clean(r.ID))
		}
	}
	return nil
}

func (o *sender) finish(whole bool) error {
	var err error
	if whole {
		err = o.flush()
	}
	if o.s.json {
		sent := o.sent
		if sent == nil {
			sent = []adminapi.Sent{}
		}
		err = errors.Join(err, o.s.out.json(adminapi.SentBatch{Sent: sent}))
	}
	switch {
	case o.bad == 0:
		return err
	case o.bad < len(o.sent):
		return errors.Join(err, exitf(exitPartly, "%d of %d messages were not sent", o.bad, len(o.sent)))
	}
	return errors.Join(err, exitf(exitFailure, "no message was sent"))
}
