package sqs

import (
	"cmp"
	"errors"
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/bezoar-dev/bezoar/queue"
)

const (
	batchKind       = "SendMessageBatchRequestEntry"
	priorityName    = "BezoarPriority"
	traceHeader     = "AWSTraceHeader"
	maxGroupID      = 128
	illegalBody     = "Invalid characters found. Valid unicode characters are #x9 | #xA | #xD | #x20 to #xD7FF | #xE000 to #xFFFD | #x10000 to #x10FFFF"
	dedupWanted     = "The queue should either have ContentBasedDeduplication enabled or MessageDeduplicationId provided explicitly"
	notOfThisQueue  = "The request include parameter that is not valid for this queue type."
	maxDelaySeconds = int64(queue.MaxDelay / time.Second)
)

func (c *call) sendMessage() error {
	in, f := c.prepare(&c.req.message)
	if f != nil {
		return f
	}
	if text := c.r.Header.Get(outcomeHeader); text != "" {
		return c.setAside(in, text)
	}
	sent, err := c.h.engine.Send(c.ctx, c.queue.Name, in)
	if err != nil {
		return c.sendFault(err)
	}
	c.sent(&c.req.message, sent)
	return nil
}

// setAside creates a dead letter from a message that is sent with an outcome: a part of a message of this queue.
func (c *call) setAside(in queue.SendInput, text string) error {
	o, err := readOutcome([]byte(text))
	if err != nil {
		return err
	}
	results, err := c.h.engine.SetAside(c.ctx, c.queue.Name, []queue.PartInput{{
		Body: in.Body, Attributes: in.Attributes, Group: in.Group, Outcome: *o.queue(), Once: o.Once,
	}})
	if err == nil {
		err = results[0].Err
	}
	if err != nil {
		return c.sendFault(err)
	}
	c.sent(&c.req.message, results[0].Sent)
	return nil
}

func (c *call) sendMessageBatch() error {
	if err := c.batch(batchKind); err != nil {
		return err
	}
	entries := c.req.Entries
	faults := make([]*fault, len(entries))
	in, at := make([]queue.SendInput, 0, len(entries)), make([]int, 0, len(entries))
	total := 0
	for i := range entries {
		if f := c.wholeBatch(&entries[i]); f != nil {
			return f
		}
		total += size(&entries[i])
		one, f := c.prepare(&entries[i])
		if f != nil {
			faults[i] = f
			continue
		}
		in, at = append(in, one), append(at, i)
	}
	if total > queue.MaxBytes {
		return batchTooLong.text("Batch requests cannot be longer than %d bytes. You have sent %d bytes.", queue.MaxBytes, total)
	}
	sent := make([]queue.Sent, len(entries))
	if len(in) > 0 {
		results, err := c.h.engine.SendBatch(c.ctx, c.queue.Name, in)
		if err != nil {
			return err
		}
		for n, r := range results {
			sent[at[n]] = r.Sent
			if r.Err != nil {
				faults[at[n]] = c.sendFault(r.Err)
			}
		}
	}
	c.outcomes("SendMessageBatchResultEntry", faults, func(i int) { c.sent(&entries[i], sent[i]) })
	return nil
}

// sent encodes an acknowledged message.
func (c *call) sent(m *message, s queue.Sent) {
	if names := sortedNames(m.Typed, nil); len(names) > 0 {
		c.out.plain("MD5OfMessageAttributes", digestOf(m.Typed, names))
	}
	c.out.plain("MD5OfMessageBody", digest(m.Body))
	if names := sortedNames(m.System, nil); len(names) > 0 {
		c.out.plain("MD5OfMessageSystemAttributes", digestOf(m.System, names))
	}
	c.out.plain("MessageId", s.ID)
	if c.queue.Settings.FIFO {
		c.out.plain("SequenceNumber", sequence(s.Sequence))
	}
}

// sequence always has 20 digits, so that texts sort like numbers.
func sequence(n int64) string { return fmt.Sprintf("%020d", n) }

func (c *call) sendFault(err error) *fault {
	if errors.Is(err, queue.ErrTooLarge) {
		return parameter.text("One or more parameters are invalid. Reason: Message must be shorter than %d bytes.", c.queue.Settings.MaxBytes)
	}
	return c.faultOf(err)
}

// wholeBatch returns the fault for which AWS refuses the whole batch.
func (c *call) wholeBatch(m *message) *fault {
	if s := c.queue.Settings; s.FIFO {
		if m.Group == "" {
			return parameter.text("The request must contain the parameter MessageGroupId.")
		}
		if m.Dedup == "" && !s.ContentDedup {
			return parameter.text(dedupWanted)
		}
	}
	return nil
}

// size returns the bytes of a message as the limits count them.
func size(m *message) int {
	n := len(m.Body)
	for name, a := range m.Typed {
		n += len(name) + len(a.DataType) + len(a.String) + len(a.Binary)
	}
	return n
}

// prepare checks a message as AWS does, before the engine checks it with its own errors.
func (c *call) prepare(m *message) (queue.SendInput, *fault) {
	in := queue.SendInput{
		Body: m.Body, Attributes: m.Typed, System: m.System, Group: m.Group, Dedup: m.Dedup, Sender: c.sender,
	}
	in.Sender = cmp.Or(in.Sender, c.h.cfg.Account)
	switch {
	case len(m.Body) == 0:
		return in, absent("MessageBody")
	case !legal(m.Body):
		return in, contents.text(illegalBody)
	case m.Delay.set && (m.Delay.value < 0 || m.Delay.value > maxDelaySeconds):
		return in, invalid(m.Delay.value, "DelaySeconds", "DelaySeconds must be >= 0 and <= %d.", maxDelaySeconds)
	}
	if f := c.prepareFIFO(m, &in); f != nil {
		return in, f
	}
	if f := checkTyped(m.Typed); f != nil {
		return in, f
	}
	for name, a := range m.System {
		switch {
		case name != traceHeader:
			return in, parameter.text("Message system attribute name '%.100s' is invalid.", name)
		case a.DataType != "String" || a.String == "":
			return in, parameter.text("The data type of message system attribute '%s' must be String, and its value not be empty.", name)
		case !legal(a.String):
			return in, contents.text(illegalBody)
		}
	}
	f := c.priority(m.Typed, &in)
	return in, f
}

// prepareFIFO checks the members that depend on the kind of the queue.
func (c *call) prepareFIFO(m *message, in *queue.SendInput) *fault {
	s := &c.queue.Settings
	if m.Group != "" && !groupForm(m.Group) {
		return invalid(m.Group, "MessageGroupId", "MessageGroupId can only include alphanumeric and punctuation characters. 1 to %d in length.", maxGroupID)
	}
	if m.Dedup != "" && !groupForm(m.Dedup) {
		return invalid(m.Dedup, "MessageDeduplicationId", "MessageDeduplicationId can only include alphanumeric and punctuation characters. 1 to %d in length.", maxGroupID)
	}
	if !s.FIFO {
		if m.Dedup != "" {
			return invalid(m.Dedup, "MessageDeduplicationId", notOfThisQueue)
		}
		if m.Delay.set {
			in.Delay = new(time.Duration(m.Delay.value) * time.Second)
		}
		return nil
	}
	switch {
	case m.Delay.set && m.Delay.value != 0:
		return invalid(m.Delay.value, "DelaySeconds", notOfThisQueue)
	case m.Group == "":
		return absent("MessageGroupId")
	case m.Dedup == "" && !s.ContentDedup:
		return parameter.text(dedupWanted)
	}
	return nil
}

func (c *call) priority(typed map[string]queue.Attribute, in *queue.SendInput) *fault {
	a, ok := typed[priorityName]
	if !ok {
		return nil
	}
	n, err := strconv.Atoi(a.String)
	switch {
	case err != nil || a.DataType != "Number" || n < 0 || n > queue.MaxPriority:
		return invalid(a.String, priorityName, "It must be a Number from 0 to %d.", queue.MaxPriority)
	case n > 0 && c.queue.Settings.FIFO:
		return invalid(a.String, priorityName, "FIFO queues keep the order of sending.")
	}
	in.Priority = n
	return nil
}

// groupForm accepts 1 to 128 visible ASCII characters.
func groupForm(s string) bool {
	return len(s) <= maxGroupID && !strings.ContainsFunc(s, func(r rune) bool { return r <= ' ' || r > '~' })
}

func checkTyped(typed map[string]queue.Attribute) *fault {
	if text := queue.AttributesFault(typed); text != "" {
		return parameter.text("%s", text)
	}
	for _, a := range typed {
		if !legal(a.String) {
			return contents.text(illegalBody)
		}
	}
	return nil
}
