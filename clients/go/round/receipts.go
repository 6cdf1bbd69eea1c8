package round

import (
	"errors"
	"fmt"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/sqs"
	"github.com/aws/aws-sdk-go-v2/service/sqs/types"
)

func (r *round) visibility() error {
	url, err := r.queue("visibility", nil)
	if err != nil {
		return err
	}
	if err := r.send(url, "x"); err != nil {
		return err
	}
	m, err := r.one(url, "x")
	if err != nil {
		return err
	}
	change := func(handle *string, seconds int32) error {
		_, err := r.c.ChangeMessageVisibility(r.ctx, &sqs.ChangeMessageVisibilityInput{QueueUrl: &url, ReceiptHandle: handle, VisibilityTimeout: seconds})
		return err
	}
	if err := errors.Join(r.none(url), change(m.ReceiptHandle, 600), r.none(url), change(m.ReceiptHandle, 0)); err != nil {
		return err
	}
	again, err := r.one(url, "x")
	if err != nil {
		return err
	}
	if err := same("receives", again.Attributes["ApproximateReceiveCount"], "2"); err != nil {
		return err
	}
	if *again.ReceiptHandle == *m.ReceiptHandle {
		return errors.New("the second receive has the handle of the first")
	}
	return wantCode(change(again.ReceiptHandle, 43201), "InvalidParameterValue")
}

func (r *round) visibilityBatch() error {
	url, err := r.queue("visibility-batch", nil)
	if err != nil {
		return err
	}
	if err := errors.Join(r.send(url, "a"), r.send(url, "b")); err != nil {
		return err
	}
	all, err := r.drain(url, "a", "b")
	if err != nil {
		return err
	}
	in := &sqs.ChangeMessageVisibilityBatchInput{QueueUrl: &url} // 1 s: the older SDK leaves 0 out
	for i, handle := range []*string{all[0].ReceiptHandle, all[1].ReceiptHandle, aws.String("garbage")} {
		in.Entries = append(in.Entries, types.ChangeMessageVisibilityBatchRequestEntry{Id: aws.String(fmt.Sprint(i)), ReceiptHandle: handle, VisibilityTimeout: 1})
	}
	out, err := r.c.ChangeMessageVisibilityBatch(r.ctx, in)
	if err != nil {
		return err
	}
	if len(out.Successful) != 2 || len(out.Failed) != 1 {
		return fmt.Errorf("%d changed and %d failed, want 2 and 1", len(out.Successful), len(out.Failed))
	}
	if err := same("failed entry", []string{*out.Failed[0].Id, *out.Failed[0].Code}, []string{"2", "ReceiptHandleIsInvalid"}); err != nil {
		return err
	}
	_, err = r.drain(url, "a", "b")
	return err
}

func (r *round) remove() error {
	url, err := r.queue("delete", map[string]string{"VisibilityTimeout": "1"})
	if err != nil {
		return err
	}
	if err := r.send(url, "x"); err != nil {
		return err
	}
	m, err := r.one(url, "x")
	if err != nil {
		return err
	}
	for range 2 { // the second time it is gone already
		if _, err := r.c.DeleteMessage(r.ctx, &sqs.DeleteMessageInput{QueueUrl: &url, ReceiptHandle: m.ReceiptHandle}); err != nil {
			return err
		}
	}
	got, err := r.receive(url, 2) // longer than it would be hidden
	if err != nil {
		return err
	}
	return same("bodies", bodiesOf(got), nil)
}

func (r *round) removeBatch() error {
	url, err := r.queue("delete-batch", nil)
	if err != nil {
		return err
	}
	if err := errors.Join(r.send(url, "a"), r.send(url, "b")); err != nil {
		return err
	}
	all, err := r.drain(url, "a", "b")
	if err != nil {
		return err
	}
	out, err := r.c.DeleteMessageBatch(r.ctx, &sqs.DeleteMessageBatchInput{QueueUrl: &url, Entries: []types.DeleteMessageBatchRequestEntry{
		{Id: aws.String("a"), ReceiptHandle: all[0].ReceiptHandle},
		{Id: aws.String("b"), ReceiptHandle: all[1].ReceiptHandle},
		{Id: aws.String("c"), ReceiptHandle: aws.String("garbage")},
	}})
	if err != nil {
		return err
	}
	if len(out.Successful) != 2 || len(out.Failed) != 1 {
		return fmt.Errorf("%d deleted and %d failed, want 2 and 1", len(out.Successful), len(out.Failed))
	}
	if err := same("failed entry", []string{*out.Failed[0].Id, *out.Failed[0].Code}, []string{"c", "ReceiptHandleIsInvalid"}); err != nil {
		return err
	}
	for _, name := range []types.QueueAttributeName{"ApproximateNumberOfMessages", "ApproximateNumberOfMessagesNotVisible"} {
		n, err := r.attribute(url, name)
		if err != nil {
			return err
		}
		if err := same(string(name), n, "0"); err != nil {
			return err
		}
	}
	return nil
}

func (r *round) handle() error {
	url, err := r.queue("handle", nil)
	if err != nil {
		return err
	}
	_, err = r.c.DeleteMessage(r.ctx, &sqs.DeleteMessageInput{QueueUrl: &url, ReceiptHandle: aws.String("garbage")})
	if err := wantType[*types.ReceiptHandleIsInvalid](err); err != nil {
		return err
	}
	_, err = r.c.ChangeMessageVisibility(r.ctx, &sqs.ChangeMessageVisibilityInput{QueueUrl: &url, ReceiptHandle: aws.String("garbage")})
	return wantType[*types.ReceiptHandleIsInvalid](err)
}

func (r *round) empty() error {
	url, err := r.queue("empty", nil)
	if err != nil {
		return err
	}
	began := time.Now()
	if err := r.none(url); err != nil {
		return err
	}
	if d := time.Since(began); d > 5*time.Second {
		return fmt.Errorf("took %v", d)
	}
	return nil
}

func (r *round) longPoll() error {
	url, err := r.queue("long-poll", nil)
	if err != nil {
		return err
	}
	sent := make(chan error, 1)
	time.AfterFunc(700*time.Millisecond, func() { sent <- r.send(url, "x") })
	began := time.Now()
	got, err := r.receive(url, 20)
	took := time.Since(began)
	if err := errors.Join(err, <-sent); err != nil {
		return err
	}
	if took < 500*time.Millisecond || took > 10*time.Second {
		return fmt.Errorf("returned after %v, want soon after the send at 0.7 s", took)
	}
	return same("bodies", bodiesOf(got), []string{"x"})
}

func (r *round) delay() error {
	url, err := r.queue("delay", nil)
	if err != nil {
		return err
	}
	began := time.Now()
	if _, err := r.c.SendMessage(r.ctx, &sqs.SendMessageInput{QueueUrl: &url, MessageBody: aws.String("x"), DelaySeconds: 2}); err != nil {
		return err
	}
	if err := r.none(url); err != nil {
		return err
	}
	n, err := r.attribute(url, "ApproximateNumberOfMessagesDelayed")
	if err != nil {
		return err
	}
	if err := same("delayed", n, "1"); err != nil {
		return err
	}
	got, err := r.receive(url, 20)
	if err != nil {
		return err
	}
	if took := time.Since(began); took < 1500*time.Millisecond || took > 12*time.Second {
		return fmt.Errorf("came after %v, want 2 s", took)
	}
	return same("bodies", bodiesOf(got), []string{"x"})
}
