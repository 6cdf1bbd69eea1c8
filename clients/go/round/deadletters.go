package round

import (
	"encoding/json"
	"errors"
	"fmt"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/sqs"
	"github.com/aws/aws-sdk-go-v2/service/sqs/types"
	smithyhttp "github.com/aws/smithy-go/transport/http"
)

// pair makes a queue whose messages are dead after one receive, and the queue
// that they go to.
func (r *round) pair(name string) (source, dead, deadARN string, err error) {
	if dead, err = r.queue(name+"-dead", nil); err != nil {
		return
	}
	if deadARN, err = r.attribute(dead, "QueueArn"); err != nil {
		return
	}
	policy, err := json.Marshal(map[string]string{"deadLetterTargetArn": deadARN, "maxReceiveCount": "1"})
	if err != nil {
		return
	}
	source, err = r.queue(name, map[string]string{"RedrivePolicy": string(policy)})
	return
}

// kill sends a message, receives it and gives it back, and receives it from
// the dead-letter queue.
func (r *round) kill(source, dead, body string) (types.Message, error) {
	var none types.Message
	if err := r.send(source, body); err != nil {
		return none, err
	}
	m, err := r.one(source, body)
	if err != nil {
		return none, err
	}
	if _, err := r.c.ChangeMessageVisibility(r.ctx, &sqs.ChangeMessageVisibilityInput{QueueUrl: &source, ReceiptHandle: m.ReceiptHandle}); err != nil {
		return none, err
	}
	if err := r.none(source); err != nil {
		return none, err
	}
	return r.one(dead, body)
}

func (r *round) deadLetters() error {
	source, dead, deadARN, err := r.pair("letters")
	if err != nil {
		return err
	}
	sourceARN, err := r.attribute(source, "QueueArn")
	if err != nil {
		return err
	}
	letter, err := r.kill(source, dead, "x")
	if err != nil {
		return err
	}
	if err := same("source of the letter", letter.Attributes["DeadLetterQueueSourceArn"], sourceARN); err != nil {
		return err
	}
	out, err := r.c.ListDeadLetterSourceQueues(r.ctx, &sqs.ListDeadLetterSourceQueuesInput{QueueUrl: &dead})
	if err != nil {
		return err
	}
	if err := same("sources", out.QueueUrls, []string{source}); err != nil {
		return err
	}
	_, err = r.c.SetQueueAttributes(r.ctx, &sqs.SetQueueAttributesInput{
		QueueUrl: &source, Attributes: map[string]string{"RedrivePolicy": `{"deadLetterTargetArn":"` + deadARN + `"}`},
	})
	if err := wantCode(err, "InvalidParameterValue", "InvalidAttributeValue"); err != nil {
		return fmt.Errorf("a policy without maxReceiveCount: %w", err)
	}
	if _, err = r.c.SetQueueAttributes(r.ctx, &sqs.SetQueueAttributesInput{
		QueueUrl: &source, Attributes: map[string]string{"RedrivePolicy": ""},
	}); err != nil {
		return err
	}
	policy, err := r.attribute(source, "RedrivePolicy")
	if err != nil {
		return err
	}
	return same("policy after it was cleared", policy, "")
}

func (r *round) moveTask() error {
	source, dead, deadARN, err := r.pair("moved")
	if err != nil {
		return err
	}
	letter, err := r.kill(source, dead, "x")
	if err != nil {
		return err
	}
	if _, err := r.c.ChangeMessageVisibility(r.ctx, &sqs.ChangeMessageVisibilityInput{QueueUrl: &dead, ReceiptHandle: letter.ReceiptHandle}); err != nil {
		return err
	}
	started, err := r.c.StartMessageMoveTask(r.ctx, &sqs.StartMessageMoveTaskInput{SourceArn: &deadARN})
	if err != nil {
		return err
	}
	if aws.ToString(started.TaskHandle) == "" {
		return errors.New("no task handle")
	}
	back, err := r.one(source, "x")
	if err != nil {
		return err
	}
	if err := same("receives after the move", back.Attributes["ApproximateReceiveCount"], "1"); err != nil {
		return err
	}
	for until := time.Now().Add(20 * time.Second); ; {
		out, err := r.c.ListMessageMoveTasks(r.ctx, &sqs.ListMessageMoveTasksInput{SourceArn: &deadARN})
		if err != nil {
			return err
		}
		if len(out.Results) != 1 {
			return fmt.Errorf("%d move tasks, want 1", len(out.Results))
		}
		task := out.Results[0]
		if aws.ToString(task.Status) == "COMPLETED" {
			if task.ApproximateNumberOfMessagesMoved != 1 {
				return fmt.Errorf("moved %d, want 1", task.ApproximateNumberOfMessagesMoved)
			}
			break
		}
		if time.Now().After(until) {
			return fmt.Errorf("the task is %s after 20 s: %s", aws.ToString(task.Status), aws.ToString(task.FailureReason))
		}
		if err := r.none(dead); err != nil {
			return err
		}
	}
	_, err = r.c.CancelMessageMoveTask(r.ctx, &sqs.CancelMessageMoveTaskInput{TaskHandle: started.TaskHandle})
	if err == nil {
		return errors.New("a task that is over was cancelled")
	}
	missing := deadARN + "-missing"
	_, err = r.c.StartMessageMoveTask(r.ctx, &sqs.StartMessageMoveTaskInput{SourceArn: &missing})
	return wantType[*types.ResourceNotFoundException](err)
}

func (r *round) bezoarAttributes() error {
	url, err := r.queue("bezoar", map[string]string{"BezoarRetryStrategy": "exponential"})
	if err != nil {
		return err
	}
	if _, err := r.c.SetQueueAttributes(r.ctx, &sqs.SetQueueAttributesInput{QueueUrl: &url, Attributes: map[string]string{"BezoarRetryBase": "2s"}}); err != nil {
		return err
	}
	strategy, err1 := r.attribute(url, "BezoarRetryStrategy")
	base, err2 := r.attribute(url, "BezoarRetryBase")
	return errors.Join(err1, err2, same("strategy and base", []string{strategy, base}, []string{"exponential", "2s"}))
}

// outcome reports a rejected payload beside a visibility.
func (r *round) outcome() error {
	url, err := r.queue("outcome", nil)
	if err != nil {
		return err
	}
	if err := r.send(url, `{"id":"a body that is long enough"}`); err != nil {
		return err
	}
	got, err := r.receive(url, 5)
	if err != nil || len(got) != 1 {
		return fmt.Errorf("received %d: %w", len(got), err)
	}
	report := func(o *sqs.Options) {
		o.APIOptions = append(o.APIOptions, smithyhttp.AddHeaderValue("X-Bezoar-Outcome", `{"class":"throttled","reason":"asked to wait","retry_after":1}`))
	}
	if _, err := r.c.ChangeMessageVisibility(r.ctx, &sqs.ChangeMessageVisibilityInput{
		QueueUrl: &url, ReceiptHandle: got[0].ReceiptHandle, VisibilityTimeout: 1,
	}, report); err != nil {
		return err
	}
	_, err = r.one(url, `{"id":"a body that is long enough"}`)
	return err
}
