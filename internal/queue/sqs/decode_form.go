package sqs

import (
	"cmp"
	"net/url"
	"slices"
	"strconv"
	"strings"

	"github.com/bezoar-dev/bezoar/queue"
)

// maxSlots is the most elements of a numbered list in a form.
const maxSlots = 256

// formReader reads the Query protocol: a form, in a body or a URL, whose names are paths such as
// SendMessageBatchRequestEntry.2.MessageAttribute.1.Name.
type formReader struct {
	r          *request
	action     string
	names      slots[string]
	system     slots[string]
	filters    slots[string]
	tagKeys    slots[string]
	accounts   slots[string]
	actions    slots[string]
	attributes slots[pair]
	tags       slots[pair]
	entries    slots[formMessage]
	single     formMessage
}

type pair struct{ name, value string }

type formMessage struct {
	message
	typed  slots[formAttribute]
	system slots[formAttribute]
}

type formAttribute struct {
	name string
	queue.Attribute
}

// slots is a list as received: each element with its number, in any order.
type slots[T any] []slot[T]

type slot[T any] struct {
	number int
	value  T
}

// at returns the element with a number.
func (s *slots[T]) at(number int) (*T, error) {
	// Most elements come in order.
	for i := len(*s) - 1; i >= 0; i-- {
		if (*s)[i].number == number {
			return &(*s)[i].value, nil
		}
	}
	if len(*s) == maxSlots {
		return nil, malformed.text("The request has more than %d members of one list.", maxSlots)
	}
	*s = append(*s, slot[T]{number: number})
	return &(*s)[len(*s)-1].value, nil
}

// sorted returns the elements in the order of their numbers.
func (s slots[T]) sorted() []T {
	if len(s) == 0 {
		return nil
	}
	slices.SortStableFunc(s, func(a, b slot[T]) int { return cmp.Compare(a.number, b.number) })
	out := make([]T, len(s))
	for i := range s {
		out[i] = s[i].value
	}
	return out
}

// read reads one form. If several contain a member, the last one wins.
func (f *formReader) read(form string) error {
	for form != "" {
		var part string
		part, form, _ = strings.Cut(form, "&")
		if part == "" {
			continue
		}
		key, value, _ := strings.Cut(part, "=")
		key, err := url.QueryUnescape(key)
		if err != nil {
			return malformed.text("The request is not a form: %.100v.", err)
		}
		if value, err = url.QueryUnescape(value); err != nil {
			return malformed.text("The value of %.100q is not escaped well.", key)
		}
		if err := f.member(key, value); err != nil {
			return err
		}
	}
	return nil
}

// finish stores the lists in the request.
func (f *formReader) finish() {
	r := f.r
	r.Names, r.SystemNames, r.FilterNames = f.names.sorted(), f.system.sorted(), f.filters.sorted()
	r.TagKeys, r.Accounts, r.Actions = f.tagKeys.sorted(), f.accounts.sorted(), f.actions.sorted()
	r.Attributes, r.Tags = pairs(f.attributes), pairs(f.tags)
	r.message = f.single.finish()
	for _, e := range f.entries.sorted() {
		r.Entries = append(r.Entries, e.finish())
	}
}

func pairs(s slots[pair]) map[string]string {
	if len(s) == 0 {
		return nil
	}
	all := make(map[string]string, len(s))
	for _, p := range s.sorted() {
		all[p.name] = p.value
	}
	return all
}

func (m *formMessage) finish() message {
	typed := func(s slots[formAttribute]) map[string]queue.Attribute {
		if len(s) == 0 {
			return nil
		}
		all := make(map[string]queue.Attribute, len(s))
		for _, a := range s.sorted() {
			all[a.name] = a.Attribute
		}
		return all
	}
	m.Typed, m.System = typed(m.typed), typed(m.system)
	return m.message
}

func (f *formReader) member(key, value string) (err error) {
	r := f.r
	head, rest, _ := strings.Cut(key, ".")
	switch head {
	case "Action":
		f.action = value
	case "QueueUrl":
		r.QueueURL = value
	case "QueueName":
		r.QueueName = value
	case "QueueNamePrefix":
		r.Prefix = value
	case "NextToken":
		r.NextToken = value
	case "ReceiveRequestAttemptId":
		r.AttemptID = value
	case "Label":
		r.Label = value
	case "SourceArn":
		r.Source = value
	case "DestinationArn":
		r.Destination = value
	case "TaskHandle":
		r.Task = value
	case "MaxResults":
		r.MaxResults, err = formNumber(key, value)
	case "MaxNumberOfMessages":
		r.MaxMessages, err = formNumber(key, value)
	case "WaitTimeSeconds":
		r.Wait, err = formNumber(key, value)
	case "MaxNumberOfMessagesPerSecond":
		r.Rate, err = formNumber(key, value)
	default:
		return f.numbered(head, rest, key, value)
	}
	return err
}

// numbered reads a member of a list.
func (f *formReader) numbered(head, rest, key, value string) error {
	if key == head && value == "" {
		return nil // the protocol's form of an empty list; an empty text counts as none
	}
	switch head {
	case "AttributeName":
		return put(&f.names, rest, value)
	case "MessageSystemAttributeName":
		return put(&f.system, rest, value)
	case "MessageAttributeName":
		return put(&f.filters, rest, value)
	case "TagKey":
		return put(&f.tagKeys, rest, value)
	case "AWSAccountId":
		return put(&f.accounts, rest, value)
	case "ActionName":
		return put(&f.actions, rest, value)
	case "Attribute":
		return putPair(&f.attributes, rest, value)
	case "Tag", "Tags":
		return putPair(&f.tags, rest, value)
	case "SendMessageBatchRequestEntry", "DeleteMessageBatchRequestEntry", "ChangeMessageVisibilityBatchRequestEntry":
		number, rest := index(rest)
		entry, err := f.entries.at(number)
		if err != nil {
			return err
		}
		head, inner, _ := strings.Cut(rest, ".")
		return entry.member(head, inner, rest, value)
	}
	return f.single.member(head, rest, key, value)
}

func (m *formMessage) member(head, rest, key, value string) (err error) {
	switch head {
	case "Id":
		m.ID = value
	case "ReceiptHandle":
		m.Receipt = value
	case "MessageBody":
		m.Body = []byte(value)
	case "MessageGroupId":
		m.Group = value
	case "MessageDeduplicationId":
		m.Dedup = value
	case "DelaySeconds":
		m.Delay, err = formNumber(key, value)
	case "VisibilityTimeout":
		m.Visibility, err = formNumber(key, value)
	case "MessageAttribute":
		err = putTyped(&m.typed, rest, value)
	case "MessageSystemAttribute":
		err = putTyped(&m.system, rest, value)
	case "BezoarOutcome":
		m.Outcome = []byte(value)
	}
	return err // ignored, such as Version and signature parameters
}

// index splits "2.Name" and "member.2.Name" into 2 and "Name". A list with one element may omit the number.
func index(path string) (number int, rest string) {
	path = strings.TrimPrefix(path, "member.")
	first, rest, _ := strings.Cut(path, ".")
	n, err := strconv.Atoi(first)
	if err != nil || n < 0 {
		return 0, path
	}
	return n, rest
}

func put(s *slots[string], path, value string) error {
	number, _ := index(path)
	at, err := s.at(number)
	if err == nil {
		*at = value
	}
	return err
}

func putPair(s *slots[pair], path, value string) error {
	number, what := index(path)
	at, err := s.at(number)
	if err != nil {
		return err
	}
	switch what {
	case "Name", "Key":
		at.name = value
	case "Value":
		at.value = value
	}
	return nil
}

func putTyped(s *slots[formAttribute], path, value string) error {
	number, what := index(path)
	at, err := s.at(number)
	if err != nil {
		return err
	}
	switch what {
	case "Name":
		at.name = value
	case "Value.DataType":
		at.DataType = value
	case "Value.StringValue":
		at.String = value
	case "Value.BinaryValue":
		at.Binary, err = decodeBinary(value)
	}
	return err
}

func formNumber(name, value string) (number, error) {
	if value == "" {
		return number{}, nil
	}
	n, err := strconv.ParseInt(value, 10, 64)
	if err != nil {
		return number{}, invalid(value, name, "Must be an integer.")
	}
	return number{n, true}, nil
}
