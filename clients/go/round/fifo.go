package round

import (
	"errors"
	"fmt"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/sqs"
	"github.com/aws/aws-sdk-go-v2/service/sqs/types"
)

func (r *round) fifo() error {
	url, err := r.queue("order.fifo", map[string]string{"FifoQueue": "true"})
	if err != nil {
		return err
	}
	last, sent := "", 0
	send := func(group, body string) error {
		sent++
		out, err := r.c.SendMessage(r.ctx, &sqs.SendMessageInput{
			QueueUrl: &url, MessageBody: &body, MessageGroupId: &group, MessageDeduplicationId: aws.String(fmt.Sprint("d", sent)),
		})
		if err != nil {
			return err
		}
		if n := aws.ToString(out.SequenceNumber); n <= last || len(n) != 20 {
			return fmt.Errorf("sequence number %q after %q", n, last)
		}
		last = *out.SequenceNumber
		return nil
	}
	if err := errors.Join(send("A", "a1"), send("A", "a2")); err != nil {
		return err
	}
	first, err := r.c.ReceiveMessage(r.ctx, &sqs.ReceiveMessageInput{
		QueueUrl: &url, MaxNumberOfMessages: 1, WaitTimeSeconds: 5, AttributeNames: []types.QueueAttributeName{"All"},
	})
	if err != nil {
		return err
	}
	if err := same("first", bodiesOf(first.Messages), []string{"a1"}); err != nil {
		return err
	}
	a := first.Messages[0].Attributes
	if err := same("group, deduplication id", []string{a["MessageGroupId"], a["MessageDeduplicationId"]}, []string{"A", "d1"}); err != nil {
		return err
	}
	if err := errors.Join(send("B", "b1"), send("A", "a3")); err != nil { // of two groups that are free, either may come first
		return err
	}
	others, err := r.receive(url, 5)
	if err != nil {
		return err
	}
	if err := same("while A is locked", bodiesOf(others), []string{"b1"}); err != nil {
		return err
	}
	if _, err := r.c.DeleteMessage(r.ctx, &sqs.DeleteMessageInput{QueueUrl: &url, ReceiptHandle: first.Messages[0].ReceiptHandle}); err != nil {
		return err
	}
	rest, err := r.receive(url, 5)
	if err != nil {
		return err
	}
	return same("after A is free", bodiesOf(rest), []string{"a2", "a3"})
}

func (r *round) dedup() error {
	url, err := r.queue("dedup.fifo", map[string]string{"FifoQueue": "true", "ContentBasedDeduplication": "true"})
	if err != nil {
		return err
	}
	send := func(body string, id *string) (string, error) {
		out, err := r.c.SendMessage(r.ctx, &sqs.SendMessageInput{
			QueueUrl: &url, MessageBody: &body, MessageGroupId: aws.String("g"), MessageDeduplicationId: id,
		})
		if err != nil {
			return "", err
		}
		return *out.MessageId, nil
	}
	first, err1 := send("same", nil)
	again, err2 := send("same", nil)
	_, err3 := send("x", aws.String("id"))
	_, err4 := send("y", aws.String("id"))
	if err := errors.Join(err1, err2, err3, err4, same("ids of one body", again, first)); err != nil {
		return err
	}
	got, err := r.receive(url, 5)
	if err != nil {
		return err
	}
	if err := same("bodies", bodiesOf(got), []string{"same", "x"}); err != nil {
		return err
	}
	for _, m := range got {
		if _, err := r.c.DeleteMessage(r.ctx, &sqs.DeleteMessageInput{QueueUrl: &url, ReceiptHandle: m.ReceiptHandle}); err != nil {
			return err
		}
	}
	if _, err := send("same", nil); err != nil { // it is remembered for five minutes
		return err
	}
	return r.none(url)
}

func (r *round) fifoErrors() error {
	url, err := r.queue("errors.fifo", map[string]string{"FifoQueue": "true"})
	if err != nil {
		return err
	}
	if err := wantCode(r.send(url, "x"), "MissingParameter"); err != nil {
		return err
	}
	_, err = r.c.SendMessage(r.ctx, &sqs.SendMessageInput{QueueUrl: &url, MessageBody: aws.String("x"), MessageGroupId: aws.String("g")})
	if err := wantCode(err, "InvalidParameterValue"); err != nil {
		return err
	}
	_, err = r.c.CreateQueue(r.ctx, &sqs.CreateQueueInput{
		QueueName: aws.String(r.prefix + "no-suffix"), Attributes: map[string]string{"FifoQueue": "true"},
	})
	return wantCode(err, "InvalidParameterValue")
}
