package round

import (
	"crypto/md5"
	"encoding/binary"
	"encoding/hex"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/sqs"
	"github.com/aws/aws-sdk-go-v2/service/sqs/types"
)

// A body with everything that encodings stumble over.
const difficult = "<ü&\"'> \t\r\n 漢字 𝒳 %20+=;"

func someAttributes() map[string]types.MessageAttributeValue {
	return map[string]types.MessageAttributeValue{
		"text":       {DataType: aws.String("String"), StringValue: aws.String("<ü & so on>")},
		"number":     {DataType: aws.String("Number"), StringValue: aws.String("-12.5")},
		"number.int": {DataType: aws.String("Number.int"), StringValue: aws.String("7")},
		"bytes":      {DataType: aws.String("Binary"), BinaryValue: []byte{0, 1, 0xff, '<'}},
	}
}

// digest is what SQS says the MD5 of attributes is.
func digest(attributes map[string]types.MessageAttributeValue) string {
	h := md5.New()
	put := func(b []byte) {
		var n [4]byte
		binary.BigEndian.PutUint32(n[:], uint32(len(b)))
		h.Write(n[:])
		h.Write(b)
	}
	for _, name := range slices.Sorted(maps.Keys(attributes)) {
		a := attributes[name]
		put([]byte(name))
		put([]byte(*a.DataType))
		if strings.HasPrefix(*a.DataType, "Binary") {
			h.Write([]byte{2})
			put(a.BinaryValue)
		} else {
			h.Write([]byte{1})
			put([]byte(*a.StringValue))
		}
	}
	return hex.EncodeToString(h.Sum(nil))
}

// shown makes attributes comparable.
func shown(attributes map[string]types.MessageAttributeValue) map[string]string {
	out := map[string]string{}
	for name, a := range attributes {
		out[name] = fmt.Sprintf("%s %q %x", aws.ToString(a.DataType), aws.ToString(a.StringValue), a.BinaryValue)
	}
	return out
}

func (r *round) message() error {
	url, err := r.queue("message", nil)
	if err != nil {
		return err
	}
	in := &sqs.SendMessageInput{
		QueueUrl: &url, MessageBody: aws.String(difficult), MessageAttributes: someAttributes(),
		MessageSystemAttributes: map[string]types.MessageSystemAttributeValue{
			"AWSTraceHeader": {DataType: aws.String("String"), StringValue: aws.String("Root=1-5759e988-bd862e3fe1be46a994272793")},
		},
	}
	before := time.Now()
	sent, err := r.c.SendMessage(r.ctx, in) // the SDK checks the body's MD5
	if err != nil {
		return err
	}
	got, err := r.one(url, difficult)
	if err != nil {
		return err
	}
	want := digest(in.MessageAttributes)
	if err := errors.Join(
		same("sent MD5 of attributes", aws.ToString(sent.MD5OfMessageAttributes), want),
		same("received MD5 of attributes", aws.ToString(got.MD5OfMessageAttributes), want),
		same("attributes", shown(got.MessageAttributes), shown(in.MessageAttributes)),
		same("id", aws.ToString(got.MessageId), aws.ToString(sent.MessageId)),
		same("receives", got.Attributes["ApproximateReceiveCount"], "1"),
		same("trace", got.Attributes["AWSTraceHeader"], "Root=1-5759e988-bd862e3fe1be46a994272793"),
	); err != nil {
		return err
	}
	for _, name := range []string{"SentTimestamp", "ApproximateFirstReceiveTimestamp"} {
		var ms int64
		if _, err := fmt.Sscan(got.Attributes[name], &ms); err != nil {
			return fmt.Errorf("%s: %w", name, err)
		}
		if d := time.UnixMilli(ms).Sub(before).Abs(); d > time.Minute {
			return fmt.Errorf("%s is %v off", name, d)
		}
	}
	if got.Attributes["SenderId"] == "" {
		return errors.New("no SenderId")
	}
	return nil
}

func (r *round) choose() error {
	url, err := r.queue("choose", map[string]string{"VisibilityTimeout": "0"})
	if err != nil {
		return err
	}
	all := someAttributes()
	if _, err := r.c.SendMessage(r.ctx, &sqs.SendMessageInput{QueueUrl: &url, MessageBody: aws.String("x"), MessageAttributes: all}); err != nil {
		return err
	}
	pick := func(names ...string) map[string]types.MessageAttributeValue {
		out := map[string]types.MessageAttributeValue{}
		for _, name := range names {
			out[name] = all[name]
		}
		return out
	}
	for _, tt := range []struct {
		ask  []string
		want map[string]types.MessageAttributeValue
	}{
		{nil, nil},
		{[]string{"text", "absent"}, pick("text")},
		{[]string{"number.*"}, pick("number", "number.int")},
		{[]string{".*"}, all},
	} {
		out, err := r.c.ReceiveMessage(r.ctx, &sqs.ReceiveMessageInput{QueueUrl: &url, MessageAttributeNames: tt.ask, WaitTimeSeconds: 5})
		if err != nil {
			return err
		}
		if len(out.Messages) != 1 {
			return fmt.Errorf("received %d messages, want 1", len(out.Messages))
		}
		m, want := out.Messages[0], ""
		if len(tt.want) > 0 {
			want = digest(tt.want)
		}
		if err := errors.Join(
			same(fmt.Sprint(tt.ask), shown(m.MessageAttributes), shown(tt.want)),
			same(fmt.Sprint("MD5 of ", tt.ask), aws.ToString(m.MD5OfMessageAttributes), want),
			same("system attributes", len(m.Attributes), 0),
		); err != nil {
			return err
		}
	}
	return nil
}

func (r *round) size() error {
	url, err := r.queue("size", nil)
	if err != nil {
		return err
	}
	const most = 1 << 20
	if err := r.send(url, strings.Repeat("x", most)); err != nil {
		return err
	}
	if got, err := r.receive(url, 5); err != nil || len(got) != 1 || len(*got[0].Body) != most {
		return fmt.Errorf("received %d messages, want the one of a megabyte: %w", len(got), err)
	}
	if err := wantCode(r.send(url, strings.Repeat("x", most+1)), "InvalidParameterValue"); err != nil {
		return err
	}
	half := strings.Repeat("x", most/2+1)
	_, err = r.c.SendMessageBatch(r.ctx, &sqs.SendMessageBatchInput{QueueUrl: &url, Entries: []types.SendMessageBatchRequestEntry{
		{Id: aws.String("a"), MessageBody: &half}, {Id: aws.String("b"), MessageBody: &half},
	}})
	return wantType[*types.BatchRequestTooLong](err)
}

func entries(bodies ...string) (out []types.SendMessageBatchRequestEntry) {
	for i, body := range bodies {
		out = append(out, types.SendMessageBatchRequestEntry{Id: aws.String(fmt.Sprint("entry-", i)), MessageBody: aws.String(body)})
	}
	return out
}

func (r *round) batch() error {
	url, err := r.queue("batch", nil)
	if err != nil {
		return err
	}
	ten := strings.Split("0123456789", "")
	in := &sqs.SendMessageBatchInput{QueueUrl: &url, Entries: entries(ten...)}
	in.Entries[3].MessageAttributes = someAttributes()
	out, err := r.c.SendMessageBatch(r.ctx, in)
	if err != nil {
		return err
	}
	if err := same("sent and failed", []int{len(out.Successful), len(out.Failed)}, []int{10, 0}); err != nil {
		return err
	}
	for _, e := range out.Successful {
		want := ""
		if *e.Id == "entry-3" {
			want = digest(someAttributes())
		}
		if err := same("MD5 of "+*e.Id, aws.ToString(e.MD5OfMessageAttributes), want); err != nil {
			return err
		}
	}
	if _, err := r.drain(url, ten...); err != nil {
		return err
	}
	send := func(e []types.SendMessageBatchRequestEntry) error {
		_, err := r.c.SendMessageBatch(r.ctx, &sqs.SendMessageBatchInput{QueueUrl: &url, Entries: e})
		return err
	}
	twice, odd := entries("a", "b"), entries("a")
	twice[1].Id = twice[0].Id
	odd[0].Id = aws.String("no such id!")
	return errors.Join(
		wantType[*types.EmptyBatchRequest](send([]types.SendMessageBatchRequestEntry{})),
		wantType[*types.TooManyEntriesInBatchRequest](send(entries(append(ten, "more")...))),
		wantType[*types.BatchEntryIdsNotDistinct](send(twice)),
		wantType[*types.InvalidBatchEntryId](send(odd)),
		r.none(url),
	)
}

func (r *round) batchEntries() error {
	url, err := r.queue("batch-entries", nil)
	if err != nil {
		return err
	}
	in := &sqs.SendMessageBatchInput{QueueUrl: &url, Entries: entries("good", "bad", "good too")}
	in.Entries[1].DelaySeconds = 901
	out, err := r.c.SendMessageBatch(r.ctx, in)
	if err != nil {
		return err
	}
	if err := same("sent and failed", []int{len(out.Successful), len(out.Failed)}, []int{2, 1}); err != nil {
		return err
	}
	f := out.Failed[0]
	if err := same("failed entry", []any{*f.Id, *f.Code, f.SenderFault}, []any{"entry-1", "InvalidParameterValue", true}); err != nil {
		return err
	}
	_, err = r.drain(url, "good", "good too")
	return err
}
