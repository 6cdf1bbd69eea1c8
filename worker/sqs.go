package worker

import (
	"cmp"
	"context"
	"crypto/rand"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"net/url"
	"path"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/sqs"
	"github.com/aws/aws-sdk-go-v2/service/sqs/types"
	"github.com/aws/smithy-go"

	"github.com/bezoar-dev/bezoar/queue"
)

// SQSQueue is a queue behind the SQS protocol. Make it with [SQS].
type SQSQueue struct {
	Client *sqs.Client
	URL    string
	// DeadLetter is the URL of the queue that dead letters go to. "" means the
	// one that the queue's RedrivePolicy names. Bezoar's endpoint needs none.
	DeadLetter string

	calls   calls
	deletes batcher
	about   About
	bezoar  bool
}

// SQS returns a queue of any SQS-compatible endpoint. Bezoar's endpoint judges outcomes
// itself; for any other endpoint the worker judges. The returned queue retries calls
// itself and does not use the retries of the client's configuration.
func SQS(client *sqs.Client, url string) *SQSQueue {
	return &SQSQueue{Client: client, URL: url}
}

// Open looks the queue up and finds out whether it is Bezoar's, by attributes that only
// Bezoar has.
func (s *SQSQueue) Open(ctx context.Context) (About, error) {
	if s.Client == nil || s.URL == "" {
		return About{}, errors.New("there is no client, or no URL")
	}
	s.calls = newCalls(s.Client)
	s.deletes.send = s.deleteBatch
	u, err := url.Parse(s.URL)
	if err != nil {
		return About{}, fmt.Errorf("the queue's URL: %w", err)
	}
	s.about = About{Queue: path.Base(u.Path), Batch: 10}
	out, err := s.Client.GetQueueAttributes(ctx, &sqs.GetQueueAttributesInput{
		QueueUrl: &s.URL, AttributeNames: []types.QueueAttributeName{types.QueueAttributeNameAll},
	}, s.calls.options)
	if err != nil {
		return About{}, err
	}
	s.about.FIFO = out.Attributes["FifoQueue"] == "true"
	const ours = "BezoarQuarantine"
	own, err := s.Client.GetQueueAttributes(ctx, &sqs.GetQueueAttributesInput{
		QueueUrl: &s.URL, AttributeNames: []types.QueueAttributeName{ours},
	}, s.calls.options)
	if ctx.Err() != nil {
		return About{}, ctx.Err()
	}
	s.bezoar = err == nil && own.Attributes[ours] != ""
	if isConnection(err) {
		return About{}, err
	}
	s.about.Judges = s.bezoar
	return s.about, s.openDeadLetter(ctx, out.Attributes["RedrivePolicy"])
}

// redrivePolicy is what AWS calls it. The count comes as a text or a number.
type redrivePolicy struct {
	Target string          `json:"deadLetterTargetArn"`
	Count  json.RawMessage `json:"maxReceiveCount"`
}

func (s *SQSQueue) openDeadLetter(ctx context.Context, policy string) error {
	var p redrivePolicy
	if policy != "" {
		if err := json.Unmarshal([]byte(policy), &p); err != nil {
			return fmt.Errorf("the queue's RedrivePolicy: %w", err)
		}
		s.about.MaxReceives, _ = strconv.Atoi(strings.Trim(string(p.Count), `"`)) // of another kind is none that we know
	}
	switch parts := strings.Split(p.Target, ":"); {
	case s.bezoar:
		s.DeadLetter = ""
		if s.about.DeadLetter = queue.ImplicitName(s.about.Queue); p.Target != "" {
			s.about.DeadLetter = parts[len(parts)-1]
		}
		return nil
	case s.DeadLetter == "" && len(parts) == 6:
		out, err := s.Client.GetQueueUrl(ctx, &sqs.GetQueueUrlInput{QueueName: &parts[5], QueueOwnerAWSAccountId: nonempty(parts[4])}, s.calls.options)
		if err != nil {
			return fmt.Errorf("look up the dead-letter queue %s: %w", p.Target, err)
		}
		s.DeadLetter = aws.ToString(out.QueueUrl)
	}
	if s.DeadLetter != "" {
		s.about.DeadLetter = path.Base(s.DeadLetter)
	}
	return nil
}

func nonempty(s string) *string {
	if s == "" {
		return nil
	}
	return &s
}

// Receive asks for up to ten messages.
func (s *SQSQueue) Receive(ctx context.Context, in Receive) ([]Message, error) {
	call, cancel := context.WithTimeout(ctx, in.Wait+callPatience)
	defer cancel()
	names := []types.MessageSystemAttributeName{types.MessageSystemAttributeNameAll}
	options := []func(*sqs.Options){s.calls.options}
	if s.bezoar {
		names = append(names, "BezoarAlone")
		options = append(options, header("X-Bezoar-Worker", in.Worker), header("X-Bezoar-Life", in.Life))
		if in.Missed {
			options = append(options, header("X-Bezoar-Missed", "yes"))
		}
	}
	input := &sqs.ReceiveMessageInput{
		QueueUrl: &s.URL, MaxNumberOfMessages: int32(min(in.Max, s.about.Batch)), VisibilityTimeout: whole(in.Visibility),
		WaitTimeSeconds: whole(in.Wait), MessageSystemAttributeNames: names, MessageAttributeNames: []string{"All"},
	}
	if s.about.FIFO { // so that a try whose answer was lost is repeated, not another receive
		input.ReceiveRequestAttemptId = aws.String(rand.Text())
	}
	out, err := s.Client.ReceiveMessage(call, input, options...)
	if err != nil {
		if _, gone := errors.AsType[*types.QueueDoesNotExist](err); gone {
			err = &PermanentError{err}
		}
		return nil, plainSQS(err)
	}
	messages := make([]Message, len(out.Messages))
	for i := range out.Messages {
		messages[i] = messageOf(&out.Messages[i])
	}
	return messages, nil
}

func messageOf(m *types.Message) Message {
	out := Message{
		ID: aws.ToString(m.MessageId), Receipt: aws.ToString(m.ReceiptHandle), Body: []byte(aws.ToString(m.Body)),
		Group: m.Attributes["MessageGroupId"], Receives: 1, Alone: m.Attributes["BezoarAlone"] == "true",
	}
	if n, err := strconv.Atoi(m.Attributes["ApproximateReceiveCount"]); err == nil {
		out.Receives = n
	}
	if ms, err := strconv.ParseInt(m.Attributes["SentTimestamp"], 10, 64); err == nil {
		out.Sent = time.UnixMilli(ms)
	}
	if len(m.MessageAttributes) > 0 {
		out.Attributes = make(map[string]Attribute, len(m.MessageAttributes))
		for name, a := range m.MessageAttributes {
			out.Attributes[name] = Attribute{DataType: aws.ToString(a.DataType), String: aws.ToString(a.StringValue), Binary: a.BinaryValue}
		}
	}
	return out
}

// Extend changes a message's visibility.
func (s *SQSQueue) Extend(ctx context.Context, m Message, d time.Duration) error {
	return s.visibility(ctx, m, d)
}

func (s *SQSQueue) visibility(ctx context.Context, m Message, d time.Duration, more ...func(*sqs.Options)) error {
	_, err := s.Client.ChangeMessageVisibility(ctx, &sqs.ChangeMessageVisibilityInput{
		QueueUrl: &s.URL, ReceiptHandle: &m.Receipt, VisibilityTimeout: whole(d),
	}, append(more, s.calls.options)...)
	return lostSQS(err)
}

// Release gives a message back. It tells a queue of Bezoar why.
func (s *SQSQueue) Release(ctx context.Context, m Message, r Release) error {
	if !s.bezoar {
		return s.visibility(ctx, m, r.Delay)
	}
	if r.Outcome == nil {
		r.Outcome = &queue.Outcome{Class: interrupted} // which costs nothing
	}
	text, err := outcomeText(r.Outcome, &wireOutcome{
		RetryAfter: r.RetryAfter.Seconds(), Downstream: r.Downstream, Holding: r.Holding, Weak: r.Weak, Reject: r.Reject,
	})
	if err != nil {
		return err
	}
	return s.visibility(ctx, m, r.Delay, header("X-Bezoar-Outcome", text))
}

// SetAside sends a letter. A queue of Bezoar gets a letter of its own kind; another queue
// gets a message with attributes that say why.
func (s *SQSQueue) SetAside(ctx context.Context, m Message, l Letter) error {
	in := &sqs.SendMessageInput{MessageBody: aws.String(string(l.Body)), MessageAttributes: attributesOf(m.Attributes)}
	options := []func(*sqs.Options){s.calls.options}
	if s.bezoar {
		text, err := outcomeText(&l.Outcome, &wireOutcome{Once: l.Once})
		if err != nil {
			return err
		}
		in.QueueUrl, options = &s.URL, append(options, header("X-Bezoar-Outcome", text))
	} else {
		if s.DeadLetter == "" {
			return ErrNowhere
		}
		in.QueueUrl = &s.DeadLetter
		s.explain(in, m, l)
	}
	if strings.HasSuffix(*in.QueueUrl, ".fifo") {
		group := m.Group
		group = cmp.Or(group, m.ID)
		in.MessageGroupId, in.MessageDeduplicationId = &group, aws.String(strings.ReplaceAll(l.Once, "/", "-"))
	}
	_, err := s.Client.SendMessage(ctx, in, options...)
	return plainSQS(err)
}

// maxTyped is how many attributes a message may have.
const maxTyped = 10

// explain adds the attributes that say why, as far as there is room beside the
// message's own.
func (s *SQSQueue) explain(in *sqs.SendMessageInput, m Message, l Letter) {
	origin := s.about.Queue
	if l.Part {
		origin += " message " + l.Once
	}
	size := len(l.Body)
	for name, a := range in.MessageAttributes {
		size += len(name) + len(aws.ToString(a.DataType)) + len(aws.ToString(a.StringValue)) + len(a.BinaryValue)
	}
	for _, a := range []struct{ name, value string }{
		{"BezoarClass", l.Outcome.Class.String()},
		{"BezoarReason", cut(l.Outcome.Reason, 1024)},
		{"BezoarOrigin", origin},
		{"BezoarFailure", l.Outcome.Failure},
		{"BezoarMessage", m.ID},
	} {
		value := legalText(a.value)
		size += len(a.name) + len("String") + len(value)
		if value == "" || len(in.MessageAttributes) >= maxTyped || size > queue.MaxBytes {
			continue
		}
		in.MessageAttributes[a.name] = types.MessageAttributeValue{DataType: aws.String("String"), StringValue: &value}
	}
}

func attributesOf(in map[string]Attribute) map[string]types.MessageAttributeValue {
	out := make(map[string]types.MessageAttributeValue, len(in)+5)
	for _, name := range slices.Sorted(maps.Keys(in)) {
		a := in[name]
		v := types.MessageAttributeValue{DataType: aws.String(a.DataType)}
		if strings.HasPrefix(a.DataType, "Binary") {
			v.BinaryValue = a.Binary
		} else {
			v.StringValue = aws.String(a.String)
		}
		out[name] = v
	}
	return out
}

// legalText is what the protocol takes in texts.
func legalText(s string) string {
	return strings.Map(func(r rune) rune {
		if r < ' ' && r != '\t' && r != '\n' && r != '\r' || r == 0xfffe || r == 0xffff {
			return '\uFFFD'
		}
		return r
	}, strings.ToValidUTF8(s, "\uFFFD"))
}

// whole rounds up to seconds: what was asked to wait must not come early.
func whole(d time.Duration) int32 { return int32((d + time.Second - 1) / time.Second) }

// lostSQS marks the errors that mean that a delivery is over.
func lostSQS(err error) error {
	api, ok := errors.AsType[smithy.APIError](err)
	if ok && isLost(api.ErrorCode(), api.ErrorMessage()) {
		return fmt.Errorf("%w: %w", ErrLost, plainSQS(err))
	}
	return plainSQS(err)
}

func isLost(code, message string) bool {
	switch code {
	case "ReceiptHandleIsInvalid", "AWS.SimpleQueueService.MessageNotInflight", "MessageNotInflight":
		return true
	case "InvalidParameterValue":
		return !strings.Contains(message, "Total VisibilityTimeout")
	}
	return false
}
