package sqs

import (
	"context"
	"errors"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/bezoar-dev/bezoar/queue"
)

const (
	// workerHeader names the receiver, in place of its connection. A worker with a name records its work and reports its
	// own death, so the end of its connections has no meaning.
	workerHeader = "X-Bezoar-Worker"
	// missedHeader cancels that: the worker has not found the records of its earlier life, and its next life may not find
	// them either.
	missedHeader = "X-Bezoar-Missed"
	// lifeHeader distinguishes the lives of the worker.
	lifeHeader           = "X-Bezoar-Life"
	maxVisibilitySeconds = int64(queue.MaxVisibility / time.Second)
	maxWaitSeconds       = int64(queue.MaxWait / time.Second)
)

func (c *call) receive() error {
	r := &c.req
	limit := r.MaxMessages.or(1)
	switch {
	case limit < 1 || limit > maxEntries:
		return invalid(limit, "MaxNumberOfMessages", "Must be between 1 and 10, if provided.")
	case r.Wait.set && (r.Wait.value < 0 || r.Wait.value > maxWaitSeconds):
		return invalid(r.Wait.value, "WaitTimeSeconds", "Must be >= 0 and <= 20, if provided.")
	case r.Visibility.set && (r.Visibility.value < 0 || r.Visibility.value > maxVisibilitySeconds):
		return invalid(r.Visibility.value, "VisibilityTimeout", "Must be >= 0 and <= %d, if provided.", maxVisibilitySeconds)
	case r.AttemptID != "" && !groupForm(r.AttemptID):
		return invalid(r.AttemptID, "ReceiveRequestAttemptId", "ReceiveRequestAttemptId can only include alphanumeric and punctuation characters. 1 to %d in length.", maxGroupID)
	case r.AttemptID != "" && !c.queue.Settings.FIFO:
		return invalid(r.AttemptID, "ReceiveRequestAttemptId", notOfThisQueue)
	}
	in := queue.ReceiveInput{Max: int(limit), Worker: c.r.RemoteAddr, Attempt: r.AttemptID}
	if name := c.r.Header.Get(workerHeader); name != "" {
		in.Worker, in.Life, c.byName = name, c.r.Header.Get(lifeHeader), c.r.Header.Get(missedHeader) == ""
		if !c.byName {
			named(c.ctx, name)
		}
	}
	ofKind(c.ctx, c.kind())
	if r.Visibility.set {
		in.Visibility = new(time.Duration(r.Visibility.value) * time.Second)
	}
	messages, err := c.take(in)
	if err != nil {
		return err
	}
	c.messages(messages)
	return nil
}

// take receives messages. It stops waiting, without messages, when the server drains.
func (c *call) take(in queue.ReceiveInput) ([]queue.Message, error) {
	wait := c.queue.Settings.Wait
	if c.req.Wait.set {
		wait = time.Duration(c.req.Wait.value) * time.Second
	}
	if c.h.drain.Err() != nil {
		wait = 0
	}
	in.Wait = &wait
	ctx := c.ctx
	if wait > 0 {
		var cancel context.CancelFunc
		ctx, cancel = context.WithCancel(ctx)
		defer cancel()
		defer context.AfterFunc(c.h.drain, cancel)()
	}
	messages, err := c.h.engine.Receive(ctx, c.queue.Name, in)
	if err != nil && c.h.drain.Err() != nil && c.ctx.Err() == nil && errors.Is(err, context.Canceled) {
		return nil, nil
	}
	for i := range messages {
		c.given = append(c.given, messages[i].Receipt)
	}
	return messages, err
}

// messages encodes received messages; without any, the member is omitted.
func (c *call) messages(all []queue.Message) {
	if len(all) == 0 {
		return
	}
	typed := newFilter(c.req.FilterNames)
	system := systemNames(c.req.Names, c.req.SystemNames)
	c.out.list("Messages")
	for i := range all {
		c.out.item("Message")
		c.message(&all[i], typed, system)
		c.out.endItem("Message")
	}
	c.out.endList()
}

func (c *call) message(m *queue.Message, typed filter, system []string) {
	e := &c.out
	e.plain("MessageId", m.ID)
	e.plain("ReceiptHandle", m.Receipt.String())
	body := m.Body
	if !legal(body) { // sent over another protocol; the transmitted text is checked
		body = []byte(strings.Map(func(r rune) rune {
			if r < ' ' && r != '\t' && r != '\n' && r != '\r' || r == 0xfffe || r == 0xffff {
				return 0xfffd
			}
			return r
		}, strings.ToValidUTF8(string(body), "\ufffd")))
	}
	e.plain("MD5OfBody", digest(body))
	e.bytes("Body", body)
	if len(system) > 0 {
		open := false
		for _, name := range system {
			value := c.systemAttribute(m, name)
			if value == "" {
				continue
			}
			if !open {
				e.table("Attributes")
				open = true
			}
			e.pair("Attribute", "Name", name, value)
		}
		if open {
			e.endTable()
		}
	}
	if len(typed.names) == 0 || len(m.Attributes) == 0 {
		return
	}
	names := sortedNames(m.Attributes, typed.wants)
	if len(names) == 0 {
		return
	}
	e.plain("MD5OfMessageAttributes", digestOf(m.Attributes, names))
	e.table("MessageAttributes")
	for _, name := range names {
		e.attribute(name, m.Attributes[name])
	}
	e.endTable()
}

// allSystem returns the system attributes of All.
func allSystem() []string {
	return []string{
		"SenderId", "SentTimestamp", "ApproximateReceiveCount", "ApproximateFirstReceiveTimestamp",
		"SequenceNumber", "MessageDeduplicationId", "MessageGroupId", traceHeader, "DeadLetterQueueSourceArn",
	}
}

// systemNames joins the two members that request system attributes. The older one is still in use.
func systemNames(older, newer []string) []string {
	if len(older) == 0 {
		older, newer = newer, nil
	}
	if len(older) == 0 {
		return nil
	}
	var names []string
	for _, list := range [][]string{older, newer} {
		for _, name := range list {
			if name == "All" {
				for _, one := range allSystem() {
					if !slices.Contains(names, one) {
						names = append(names, one)
					}
				}
			} else if !slices.Contains(names, name) {
				names = append(names, name)
			}
		}
	}
	return names
}

// systemAttribute returns a system attribute of a message, or "". The reason of a dead letter is returned only if requested
// by name.
func (c *call) systemAttribute(m *queue.Message, name string) string {
	fifo := c.queue.Settings.FIFO
	switch name {
	case "SenderId":
		return m.Sender
	case "SentTimestamp":
		return millis(m.Sent)
	case "ApproximateReceiveCount":
		n := m.Receives
		if m.Letter != nil { // the count continues in the dead-letter queue
			n += m.Letter.Receives
		}
		return strconv.Itoa(n)
	case "ApproximateFirstReceiveTimestamp":
		return millis(m.FirstReceived)
	case "SequenceNumber":
		return ifTrue(fifo, sequence(m.Sequence))
	case "MessageDeduplicationId":
		return ifTrue(fifo, m.Dedup)
	case "MessageGroupId":
		return m.Group
	case traceHeader:
		return m.System[traceHeader].String
	case "BezoarAlone":
		return ifTrue(m.Alone, "true")
	}
	if m.Letter == nil {
		return ""
	}
	switch name {
	case "DeadLetterQueueSourceArn":
		return c.arn(m.Letter.Origin)
	case "BezoarClass":
		return m.Letter.Class.String()
	case "BezoarFailure":
		return m.Letter.Failure
	case "BezoarReason":
		return m.Letter.Reason
	}
	return ""
}

func millis(t time.Time) string {
	if t.IsZero() {
		return ""
	}
	return strconv.FormatInt(t.UnixMilli(), 10)
}

// filter selects attributes by name: All, .*, or prefix.* or a whole name.
type filter struct {
	names []string
	all   bool
}

func newFilter(names []string) filter {
	f := filter{names: names}
	for _, n := range names {
		f.all = f.all || n == "All" || n == ".*"
	}
	return f
}

func (f filter) wants(name string) bool {
	return f.all || slices.ContainsFunc(f.names, func(n string) bool {
		prefix, ok := strings.CutSuffix(n, ".*")
		return n == name || ok && strings.HasPrefix(name, prefix)
	})
}
