package sqs

import (
	"encoding/json"
	"errors"
	"time"

	"github.com/bezoar-dev/bezoar"
	"github.com/bezoar-dev/bezoar/queue"
)

const (
	notAvailable  = "Message does not exist or is not available for visibility timeout change"
	outcomeHeader = "X-Bezoar-Outcome"
)

func (c *call) deleteMessage() error {
	r, f := receipt(c.req.Receipt)
	if f != nil {
		return f
	}
	if f := c.deleteFault(c.req.Receipt, c.h.engine.Delete(c.ctx, c.queue.Name, r)); f != nil {
		return f
	}
	return nil
}

func (c *call) deleteMessageBatch() error {
	if err := c.batch("DeleteMessageBatchRequestEntry"); err != nil {
		return err
	}
	faults := make([]*fault, len(c.req.Entries))
	receipts, at := c.receipts(faults)
	if len(receipts) > 0 {
		results, err := c.h.engine.DeleteBatch(c.ctx, c.queue.Name, receipts)
		if err != nil {
			return err
		}
		for n, err := range results {
			faults[at[n]] = c.deleteFault(c.req.Entries[at[n]].Receipt, err)
		}
	}
	c.outcomes("DeleteMessageBatchResultEntry", faults, nil)
	return nil
}

// deleteFault returns the answer to a deletion. As on AWS, in a standard queue it succeeds for a message that was received
// again or is gone; in a FIFO queue the lease must still be valid.
func (c *call) deleteFault(handle string, err error) *fault {
	switch {
	case err == nil || errors.Is(err, queue.ErrMessageGone):
		return nil
	case errors.Is(err, queue.ErrReceiptStale) && !c.queue.Settings.FIFO:
		return nil
	case errors.Is(err, queue.ErrReceiptStale) || errors.Is(err, queue.ErrReceiptExpired):
		return invalid(handle, "ReceiptHandle", "The receipt handle has expired.")
	}
	return c.faultOf(err)
}

func (c *call) changeVisibility() error {
	m := &c.req.message
	r, f := receipt(m.Receipt)
	if f != nil {
		return f
	}
	if header := c.r.Header.Get(outcomeHeader); header != "" && len(m.Outcome) == 0 {
		m.Outcome = []byte(header)
	}
	if f := c.checkVisibility(m); f != nil {
		return f
	}
	var err error
	if len(m.Outcome) > 0 {
		var in queue.ReleaseInput
		var reject bool
		if in, reject, err = releaseInput(r, m); err == nil && reject {
			err = c.h.engine.Reject(c.ctx, c.queue.Name, r, *in.Outcome)
		} else if err == nil {
			err = c.h.engine.Release(c.ctx, c.queue.Name, in)
		}
	} else {
		err = c.h.engine.ChangeVisibility(c.ctx, c.queue.Name, r, seconds(m.Visibility))
	}
	if over(err) {
		return invalid(m.Receipt, "ReceiptHandle", notAvailable+".")
	}
	return c.visibilityError(m, err)
}

func seconds(n number) time.Duration { return time.Duration(n.value) * time.Second }

func (c *call) changeVisibilityBatch() error {
	if err := c.batch("ChangeMessageVisibilityBatchRequestEntry"); err != nil {
		return err
	}
	entries := c.req.Entries
	faults := make([]*fault, len(entries))
	var changes []queue.VisibilityChange
	var releases []queue.ReleaseInput
	var changed, released []int // the entry of each
	receipts, at := c.receipts(faults)
	for n, i := range at {
		m := &entries[i]
		if f := c.checkVisibility(m); f != nil {
			faults[i] = f
			continue
		}
		if len(m.Outcome) == 0 {
			changes, changed = append(changes, queue.VisibilityChange{Receipt: receipts[n], Visibility: seconds(m.Visibility)}), append(changed, i)
			continue
		}
		in, reject, err := releaseInput(receipts[n], m)
		if err != nil {
			faults[i] = c.faultOf(err)
			continue
		}
		if reject {
			c.settled(faults, []int{i}, []error{c.h.engine.Reject(c.ctx, c.queue.Name, in.Receipt, *in.Outcome)})
			continue
		}
		releases, released = append(releases, in), append(released, i)
	}
	if len(changes) > 0 {
		results, err := c.h.engine.ChangeVisibilityBatch(c.ctx, c.queue.Name, changes)
		if err != nil {
			return err
		}
		c.settled(faults, changed, results)
	}
	if len(releases) > 0 {
		results, err := c.h.engine.ReleaseBatch(c.ctx, c.queue.Name, releases)
		if err != nil {
			return err
		}
		c.settled(faults, released, results)
	}
	c.outcomes("ChangeMessageVisibilityBatchResultEntry", faults, nil)
	return nil
}

func (c *call) settled(faults []*fault, at []int, results []error) {
	for n, err := range results {
		switch i := at[n]; {
		case err == nil:
		case over(err): // a separate code here, as on AWS
			faults[i] = receiptInvalid.text(notAvailable)
		default:
			faults[i] = c.faultOf(c.visibilityError(&c.req.Entries[i], err))
		}
	}
}

// over reports whether the delivery has already ended.
func over(err error) bool {
	return errors.Is(err, queue.ErrMessageGone) || errors.Is(err, queue.ErrReceiptStale) || errors.Is(err, queue.ErrReceiptExpired)
}

func (c *call) checkVisibility(m *message) *fault {
	switch v := m.Visibility; {
	case !v.set && len(m.Outcome) == 0:
		return absent("VisibilityTimeout")
	case v.value < 0 || v.value > maxVisibilitySeconds:
		return invalid(v.value, "VisibilityTimeout", "Must be between 0 and %d, if provided.", maxVisibilitySeconds)
	}
	return nil
}

func (c *call) visibilityError(m *message, err error) error {
	if errors.Is(err, queue.ErrVisibilityTotal) {
		return invalid(m.Visibility.value, "VisibilityTimeout", "Total VisibilityTimeout for the message is beyond the limit [%d seconds].", maxVisibilitySeconds)
	}
	return err
}

// outcome is a worker's report of the end of a delivery.
type outcome struct {
	Class      *bezoar.Class `json:"class"`
	Failure    string        `json:"failure"`
	Reason     string        `json:"reason"`
	RetryAfter wait          `json:"retry_after"`
	Downstream string        `json:"downstream"`
	Detail     string        `json:"detail"`
	Stderr     string        `json:"stderr"`
	Holding    int           `json:"holding"` // how many messages the worker had when it died
	Weak       bool          `json:"weak"`    // nobody knows what it died of
	Reject     bool          `json:"reject"`  // it is a dead letter at once
	Once       string        `json:"once"`    // of a part: see queue.PartInput
}

// wait is a duration in seconds, or a text for parseDuration.
type wait time.Duration

func (w *wait) UnmarshalJSON(text []byte) error {
	var s string
	if json.Unmarshal(text, &s) != nil {
		var seconds float64
		if err := json.Unmarshal(text, &seconds); err != nil {
			return err
		}
		if seconds < 0 {
			return errors.New("it is negative")
		}
		*w = wait(min(seconds, float64(maxVisibilitySeconds)) * float64(time.Second))
		return nil
	}
	d, err := parseDuration(s)
	*w = wait(d)
	return err
}

// releaseInput returns the input that ends a delivery with the worker's outcome. VisibilityTimeout is the requested delay.
func releaseInput(r queue.Receipt, m *message) (in queue.ReleaseInput, reject bool, err error) {
	o, err := readOutcome(m.Outcome)
	if err != nil {
		return in, false, err
	}
	return queue.ReleaseInput{
		Receipt: r, Delay: seconds(m.Visibility), RetryAfter: time.Duration(o.RetryAfter), Downstream: o.Downstream,
		Outcome: o.queue(), Holding: min(o.Holding, queue.MaxInFlight), Weak: o.Weak,
	}, o.Reject, nil
}

func (o *outcome) queue() *queue.Outcome {
	return &queue.Outcome{Class: *o.Class, Failure: o.Failure, Reason: o.Reason, Detail: o.Detail, Stderr: o.Stderr}
}

func readOutcome(text []byte) (o outcome, err error) {
	bad := func(format string, args ...any) (outcome, error) {
		return o, invalid(string(text), "BezoarOutcome", format, args...)
	}
	if err := json.Unmarshal(text, &o); err != nil {
		return bad("%v.", err)
	}
	switch {
	case o.Class == nil:
		return bad("It has no class.")
	case *o.Class == bezoar.Done:
		return bad("A message that is done is deleted.")
	}
	return o, nil
}
