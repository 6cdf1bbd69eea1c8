package round

import (
	"fmt"
	"strconv"
	"strings"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/sqs"
	"github.com/aws/aws-sdk-go-v2/service/sqs/types"
)

func (r *round) create() error {
	url, err := r.queue("create", map[string]string{"VisibilityTimeout": "45"})
	if err != nil {
		return err
	}
	again, err := r.queue("create", map[string]string{"VisibilityTimeout": "45"})
	if err != nil {
		return fmt.Errorf("the same again: %w", err)
	}
	r.made = r.made[:len(r.made)-1]
	got, err := r.c.GetQueueUrl(r.ctx, &sqs.GetQueueUrlInput{QueueName: aws.String(r.prefix + "create")})
	if err != nil {
		return err
	}
	if err := same("URLs", []string{again, *got.QueueUrl}, []string{url, url}); err != nil {
		return err
	}
	if !strings.HasPrefix(url, r.endpoint+"/") {
		return fmt.Errorf("the URL %s is not below the endpoint %s", url, r.endpoint)
	}
	_, err = r.c.CreateQueue(r.ctx, &sqs.CreateQueueInput{
		QueueName: aws.String(r.prefix + "create"), Attributes: map[string]string{"VisibilityTimeout": "46"},
	})
	return wantType[*types.QueueNameExists](err)
}

func (r *round) missing() error {
	_, err := r.c.GetQueueUrl(r.ctx, &sqs.GetQueueUrlInput{QueueName: aws.String(r.prefix + "nowhere")})
	if err := wantType[*types.QueueDoesNotExist](err); err != nil {
		return err
	}
	return wantMissing(r.send(r.endpoint+"/000000000000/"+r.prefix+"nowhere", "x"))
}

func (r *round) attributes() error {
	url, err := r.queue("attributes", map[string]string{"DelaySeconds": "3", "MessageRetentionPeriod": "3600"})
	if err != nil {
		return err
	}
	if _, err := r.c.SetQueueAttributes(r.ctx, &sqs.SetQueueAttributesInput{
		QueueUrl: &url, Attributes: map[string]string{"DelaySeconds": "0", "VisibilityTimeout": "17"},
	}); err != nil {
		return err
	}
	for _, body := range []string{"a", "b"} {
		if err := r.send(url, body); err != nil {
			return err
		}
	}
	if got, err := r.receive(url, 1); err != nil || len(got) == 0 {
		return fmt.Errorf("received %d: %w", len(got), err)
	}
	out, err := r.c.GetQueueAttributes(r.ctx, &sqs.GetQueueAttributesInput{QueueUrl: &url, AttributeNames: []types.QueueAttributeName{"All"}})
	if err != nil {
		return err
	}
	a := out.Attributes
	if !strings.HasSuffix(a["QueueArn"], ":"+r.prefix+"attributes") {
		return fmt.Errorf("the ARN is %s", a["QueueArn"])
	}
	waiting, _ := strconv.Atoi(a["ApproximateNumberOfMessages"])
	hidden, _ := strconv.Atoi(a["ApproximateNumberOfMessagesNotVisible"])
	if err := same("DelaySeconds, VisibilityTimeout, retention, messages",
		[]string{a["DelaySeconds"], a["VisibilityTimeout"], a["MessageRetentionPeriod"], strconv.Itoa(waiting + hidden)},
		[]string{"0", "17", "3600", "2"}); err != nil {
		return err
	}
	_, err = r.c.SetQueueAttributes(r.ctx, &sqs.SetQueueAttributesInput{QueueUrl: &url, Attributes: map[string]string{"Nonsense": "1"}})
	if err := wantType[*types.InvalidAttributeName](err); err != nil {
		return err
	}
	_, err = r.c.SetQueueAttributes(r.ctx, &sqs.SetQueueAttributesInput{QueueUrl: &url, Attributes: map[string]string{"DelaySeconds": "901"}})
	// The older SDK does not know InvalidAttributeValue as a type.
	return wantCode(err, "InvalidAttributeValue", "InvalidParameterValue")
}

func (r *round) tags() error {
	out, err := r.c.CreateQueue(r.ctx, &sqs.CreateQueueInput{QueueName: aws.String(r.prefix + "tags"), Tags: map[string]string{"team": "ü"}})
	if err != nil {
		return err
	}
	url := out.QueueUrl
	r.made = append(r.made, *url)
	if _, err := r.c.TagQueue(r.ctx, &sqs.TagQueueInput{QueueUrl: url, Tags: map[string]string{"a": "1", "b": "2"}}); err != nil {
		return err
	}
	if _, err := r.c.UntagQueue(r.ctx, &sqs.UntagQueueInput{QueueUrl: url, TagKeys: []string{"a"}}); err != nil {
		return err
	}
	tags, err := r.c.ListQueueTags(r.ctx, &sqs.ListQueueTagsInput{QueueUrl: url})
	if err != nil {
		return err
	}
	return same("tags", tags.Tags, map[string]string{"team": "ü", "b": "2"})
}

func (r *round) list() error {
	for _, name := range []string{"list-1", "list-2", "list-3", "other"} {
		if _, err := r.queue(name, nil); err != nil {
			return err
		}
	}
	var names []string
	in := &sqs.ListQueuesInput{QueueNamePrefix: aws.String(r.prefix + "list-"), MaxResults: aws.Int32(2)}
	pages := sqs.NewListQueuesPaginator(r.c, in)
	for n := 0; pages.HasMorePages(); n++ {
		page, err := pages.NextPage(r.ctx)
		if err != nil {
			return err
		}
		if len(page.QueueUrls) > 2 {
			return fmt.Errorf("a page has %d queues, want at most 2", len(page.QueueUrls))
		}
		for _, url := range page.QueueUrls {
			names = append(names, url[strings.LastIndex(url, "/")+1:])
		}
	}
	return same("queues", names, []string{r.prefix + "list-1", r.prefix + "list-2", r.prefix + "list-3"})
}

func (r *round) permissions() error {
	url, err := r.queue("permissions", nil)
	if err != nil {
		return err
	}
	if _, err := r.c.AddPermission(r.ctx, &sqs.AddPermissionInput{
		QueueUrl: &url, Label: aws.String("label"), AWSAccountIds: []string{"123456789012"}, Actions: []string{"SendMessage"},
	}); err != nil {
		return err
	}
	_, err = r.c.RemovePermission(r.ctx, &sqs.RemovePermissionInput{QueueUrl: &url, Label: aws.String("label")})
	return err
}

func (r *round) purge() error {
	url, err := r.queue("purge", nil)
	if err != nil {
		return err
	}
	for range 3 {
		if err := r.send(url, "x"); err != nil {
			return err
		}
	}
	if _, err := r.c.PurgeQueue(r.ctx, &sqs.PurgeQueueInput{QueueUrl: &url}); err != nil {
		return err
	}
	if err := r.none(url); err != nil {
		return err
	}
	_, err = r.c.PurgeQueue(r.ctx, &sqs.PurgeQueueInput{QueueUrl: &url})
	return wantType[*types.PurgeQueueInProgress](err)
}
