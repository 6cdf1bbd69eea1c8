package sqs

import (
	"encoding/base64"
	"encoding/json"
	"errors"
	"strings"

	"github.com/bezoar-dev/bezoar/queue"
)

// handle is the content of a task's handle, in base64.
type handle struct {
	Task   string `json:"taskId"`
	Source string `json:"sourceArn"`
}

// named returns the existing queue that an ARN names.
func (c *call) named(arn, member string) (string, error) {
	name, ok := parseARN(arn)
	if !ok {
		return "", invalid(arn, member, "It is not an ARN of a queue.")
	}
	_, err := c.h.engine.Queue(c.ctx, name)
	if errors.Is(err, queue.ErrQueueNotFound) {
		return "", notFound.text("The resource that you specified for the %s parameter doesn't exist.", member)
	}
	return name, err
}

func (c *call) startMove() (err error) {
	if c.req.Source == "" {
		return absent("SourceArn")
	}
	in := queue.MoveInput{}
	if in.Source, err = c.named(c.req.Source, "SourceArn"); err != nil {
		return err
	}
	if c.req.Destination != "" {
		if in.Destination, err = c.named(c.req.Destination, "DestinationArn"); err != nil {
			return err
		}
	}
	rate := c.req.Rate.or(queue.MaxMoveRate)
	if rate < 1 || rate > queue.MaxMoveRate {
		return invalid(rate, "MaxNumberOfMessagesPerSecond", "Must be between 1 and %d, if provided.", queue.MaxMoveRate)
	}
	in.Rate = int(rate)
	t, err := c.h.engine.StartMove(c.ctx, in)
	if err != nil {
		return err
	}
	c.out.plain("TaskHandle", c.handle(t))
	return nil
}

func (c *call) handle(t queue.MoveTask) string {
	text, err := json.Marshal(handle{t.ID, c.arn(t.Source)})
	if err != nil {
		return "" // texts can be marshalled
	}
	return base64.StdEncoding.EncodeToString(text)
}

func (c *call) cancelMove() error {
	if c.req.Task == "" {
		return absent("TaskHandle")
	}
	var h handle
	text, err := base64.StdEncoding.DecodeString(c.req.Task)
	if err != nil || json.Unmarshal(text, &h) != nil || h.Task == "" {
		return parameter.text("Value for parameter TaskHandle is invalid.")
	}
	if _, err := c.named(h.Source, "SourceArn"); err != nil {
		return err
	}
	t, err := c.h.engine.CancelMove(c.ctx, h.Task)
	if err != nil {
		return err
	}
	c.out.number("ApproximateNumberOfMessagesMoved", t.Moved)
	return nil
}

func (c *call) listMoves() error {
	if c.req.Source == "" {
		return absent("SourceArn")
	}
	name, err := c.named(c.req.Source, "SourceArn")
	if err != nil {
		return err
	}
	limit := c.req.MaxResults.or(1)
	if limit < 1 || limit > maxEntries {
		return invalid(limit, "MaxResults", "Must be between 1 and %d, if provided.", maxEntries)
	}
	tasks, err := c.h.engine.Moves(c.ctx, name, int(limit))
	if err != nil {
		return err
	}
	// The member of the XML form is ListMessageMoveTasksResultEntry.
	const tag = "ListMessageMoveTasksResultEntry"
	c.out.list("Results")
	for _, t := range tasks {
		c.out.item(tag)
		c.task(t)
		c.out.endItem(tag)
	}
	c.out.endList()
	return nil
}

// whyFailed returns AWS's code if the destination is gone, otherwise the engine's words.
func (c *call) whyFailed(t queue.MoveTask) string {
	if t.Destination != "" {
		if _, err := c.h.engine.Queue(c.ctx, t.Destination); errors.Is(err, queue.ErrQueueNotFound) {
			return queueMissing.legacy
		}
	}
	return t.Failure
}

func (c *call) task(t queue.MoveTask) {
	e := &c.out
	e.number("ApproximateNumberOfMessagesMoved", t.Moved)
	e.number("ApproximateNumberOfMessagesToMove", t.ToMove)
	if t.Destination != "" {
		e.text("DestinationArn", c.arn(t.Destination))
	}
	if t.State == queue.MoveFailed {
		e.text("FailureReason", c.whyFailed(t))
	}
	if t.Rate != queue.MaxMoveRate {
		e.number("MaxNumberOfMessagesPerSecond", int64(t.Rate))
	}
	e.text("SourceArn", c.arn(t.Source))
	e.number("StartedTimestamp", t.Started.UnixMilli())
	e.plain("Status", strings.ToUpper(string(t.State)))
	if t.State == queue.MoveRunning { // nobody else can use it
		e.plain("TaskHandle", c.handle(t))
	}
}
