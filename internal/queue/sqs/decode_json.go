package sqs

import (
	"slices"

	"github.com/bezoar-dev/bezoar/queue"
)

// decodeJSON decodes a body of the JSON protocol. The result does not refer to data. Unknown members are skipped.
func decodeJSON(data []byte, r *request) error {
	d := jsonReader{data: data}
	if d.space(); d.at == len(data) {
		return nil // like an empty object
	}
	err := d.object(func(key []byte) error { return r.fromJSON(&d, key) })
	if err != nil {
		return err
	}
	if d.space(); d.at < len(data) {
		return d.fault("something follows the document")
	}
	return nil
}

func (r *request) fromJSON(d *jsonReader, key []byte) (err error) {
	switch string(key) {
	case "QueueUrl":
		r.QueueURL, err = d.text()
	case "QueueName":
		r.QueueName, err = d.text()
	case "QueueNamePrefix":
		r.Prefix, err = d.text()
	case "NextToken":
		r.NextToken, err = d.text()
	case "ReceiveRequestAttemptId":
		r.AttemptID, err = d.text()
	case "Label":
		r.Label, err = d.text()
	case "SourceArn":
		r.Source, err = d.text()
	case "DestinationArn":
		r.Destination, err = d.text()
	case "TaskHandle":
		r.Task, err = d.text()
	case "MaxResults":
		r.MaxResults, err = d.number()
	case "MaxNumberOfMessages":
		r.MaxMessages, err = d.number()
	case "WaitTimeSeconds":
		r.Wait, err = d.number()
	case "MaxNumberOfMessagesPerSecond":
		r.Rate, err = d.number()
	case "Attributes":
		r.Attributes, err = d.texts()
	case "Tags", "tags": // CreateQueue's are the latter
		r.Tags, err = d.texts()
	case "TagKeys":
		r.TagKeys, err = d.list()
	case "AttributeNames":
		r.Names, err = d.list()
	case "MessageSystemAttributeNames":
		r.SystemNames, err = d.list()
	case "MessageAttributeNames":
		r.FilterNames, err = d.list()
	case "AWSAccountIds":
		r.Accounts, err = d.list()
	case "Actions":
		r.Actions, err = d.list()
	case "Entries":
		err = d.array(func() error {
			r.Entries = append(r.Entries, message{})
			entry := &r.Entries[len(r.Entries)-1]
			return d.object(func(key []byte) error { return entry.fromJSON(d, key) })
		})
	default:
		err = r.message.fromJSON(d, key)
	}
	return err
}

func (m *message) fromJSON(d *jsonReader, key []byte) (err error) {
	switch string(key) {
	case "Id":
		m.ID, err = d.text()
	case "ReceiptHandle":
		m.Receipt, err = d.text()
	case "MessageBody":
		m.Body, err = d.bytes()
	case "MessageGroupId":
		m.Group, err = d.text()
	case "MessageDeduplicationId":
		m.Dedup, err = d.text()
	case "DelaySeconds":
		m.Delay, err = d.number()
	case "VisibilityTimeout":
		m.Visibility, err = d.number()
	case "MessageAttributes":
		m.Typed, err = d.attributes()
	case "MessageSystemAttributes":
		m.System, err = d.attributes()
	case "BezoarOutcome": // an object, or a text that holds one
		if d.space(); d.at < len(d.data) && d.data[d.at] == '"' {
			m.Outcome, err = d.bytes()
			break
		}
		begin := d.at
		if err = d.skip(); err == nil {
			m.Outcome = slices.Clone(d.data[begin:d.at])
		}
	default:
		err = d.skip()
	}
	return err
}

// attributes reads the typed attributes of a message. Lists of values, which
// AWS reserves, are skipped.
func (d *jsonReader) attributes() (map[string]queue.Attribute, error) {
	var all map[string]queue.Attribute
	err := d.object(func(key []byte) error {
		var a queue.Attribute
		name := string(key)
		err := d.object(func(key []byte) (err error) {
			switch string(key) {
			case "DataType":
				a.DataType, err = d.text()
			case "StringValue":
				a.String, err = d.text()
			case "BinaryValue":
				var text string
				if text, err = d.text(); err == nil {
					a.Binary, err = decodeBinary(text)
				}
			default:
				err = d.skip()
			}
			return err
		})
		if all == nil {
			all = make(map[string]queue.Attribute)
		}
		all[name] = a
		return err
	})
	return all, err
}

// texts reads an object of texts; other values are taken as written.
func (d *jsonReader) texts() (map[string]string, error) {
	var all map[string]string
	err := d.object(func(key []byte) error {
		name := string(key)
		value, err := d.text()
		if all == nil {
			all = make(map[string]string)
		}
		all[name] = value
		return err
	})
	return all, err
}

func (d *jsonReader) list() (all []string, err error) {
	err = d.array(func() error {
		s, err := d.text()
		all = append(all, s)
		return err
	})
	return all, err
}
