package sqs

import (
	"context"
	"encoding/json"
	"maps"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/bezoar-dev/bezoar/queue"
)

// attribute is one attribute of a queue, with its getter and setter.
type attribute struct {
	name string
	// get returns the value; "" is not shown.
	get func(v *view) string
	// set changes s to value; nil: the attribute cannot be set.
	set func(s *settingsChange, value string) error
	// quiet attributes are part of All only if they differ from the default.
	quiet bool
}

// view is a queue in the form in which its attributes are shown.
type view struct {
	queue.Queue
	counts queue.Counts
	arn    func(name string) string
	held   string // why no message is delivered
}

type settingsChange struct {
	*queue.Settings
	ctx  context.Context //nolint:containedctx // of the call that changes them
	name string          // of the queue
	call *call
}

func attributes() []attribute {
	return slices.Concat(measured(), settable(), bezoarAttributes())
}

// measured returns the read-only attributes.
func measured() []attribute {
	number := func(n int64) string { return strconv.FormatInt(n, 10) }
	return []attribute{
		{name: "QueueArn", get: func(v *view) string { return v.arn(v.Name) }},
		{name: "ApproximateNumberOfMessages", get: func(v *view) string { return number(v.counts.Visible) }},
		{name: "ApproximateNumberOfMessagesNotVisible", get: func(v *view) string { return number(v.counts.InFlight) }},
		{name: "ApproximateNumberOfMessagesDelayed", get: func(v *view) string { return number(v.counts.Delayed) }},
		{name: "CreatedTimestamp", get: func(v *view) string { return number(v.Created.Unix()) }},
		{name: heldAttribute, quiet: true, get: func(v *view) string { return v.held }},
		{name: "LastModifiedTimestamp", get: func(v *view) string { return number(v.Modified.Unix()) }},
	}
}

// heldAttribute gives the reason why a queue delivers nothing: a pause or a breaker. Otherwise it is empty, and so not
// shown.
const heldAttribute = "BezoarHeld"

// counted reports whether an attribute requires a count of the messages.
func counted(name string) bool { return strings.HasPrefix(name, "ApproximateNumberOf") }

// settable returns AWS's attributes that can be set.
func settable() []attribute {
	return []attribute{
		secondsAttribute("VisibilityTimeout", 0, queue.MaxVisibility, func(s *queue.Settings) *time.Duration { return &s.Visibility }),
		secondsAttribute("DelaySeconds", 0, queue.MaxDelay, func(s *queue.Settings) *time.Duration { return &s.Delay }),
		secondsAttribute("ReceiveMessageWaitTimeSeconds", 0, queue.MaxWait, func(s *queue.Settings) *time.Duration { return &s.Wait }),
		secondsAttribute("MessageRetentionPeriod", queue.MinRetention, queue.MaxRetention, func(s *queue.Settings) *time.Duration { return &s.Retention }),
		{
			name: "MaximumMessageSize",
			get:  func(v *view) string { return strconv.Itoa(v.Settings.MaxBytes) },
			set: func(s *settingsChange, value string) error {
				n, err := strconv.Atoi(value)
				if err != nil || n < queue.MinBytes || n > queue.MaxBytes {
					return badValue("MaximumMessageSize")
				}
				s.MaxBytes = n
				return nil
			},
		},
		{name: "RedrivePolicy", get: showRedrive, set: setRedrive},
		{name: "RedriveAllowPolicy", get: showAllow, set: setAllow},
		{name: "FifoQueue", get: func(v *view) string { return ifTrue(v.Settings.FIFO, "true") }, set: setFIFO},
		{
			name: "ContentBasedDeduplication",
			get:  func(v *view) string { return ifTrue(v.Settings.FIFO, strconv.FormatBool(v.Settings.ContentDedup)) },
			set:  setContentDedup,
		},
		{name: "DeduplicationScope", get: showScope, set: setScope},
		extraAttribute("FifoThroughputLimit", "perQueue", true, oneOf("perQueue", "perMessageGroupId")),
		extraAttribute("Policy", "", false, func(v string) bool { return strings.HasPrefix(v, "{") && json.Valid([]byte(v)) }),
		extraAttribute("KmsMasterKeyId", "", false, func(string) bool { return true }),
		extraAttribute("KmsDataKeyReusePeriodSeconds", "", false, func(v string) bool {
			n, err := strconv.Atoi(v)
			return err == nil && n >= 60 && n <= 86400
		}),
		extraAttribute("SqsManagedSseEnabled", "false", false, oneOf("true", "false")),
	}
}

func oneOf(values ...string) func(string) bool {
	return func(v string) bool { return slices.Contains(values, v) }
}

func ifTrue(ok bool, value string) string {
	if ok {
		return value
	}
	return ""
}

func badValue(name string) *fault {
	return attributeValue.text("Invalid value for the parameter %s.", name)
}

func unknownAttribute(name string) *fault {
	return attributeName.text("Unknown Attribute %.100s.", name)
}

func secondsAttribute(name string, least, most time.Duration, field func(*queue.Settings) *time.Duration) attribute {
	return attribute{
		name: name,
		get:  func(v *view) string { return strconv.FormatInt(int64(*field(&v.Settings)/time.Second), 10) },
		set: func(s *settingsChange, value string) error {
			n, err := strconv.Atoi(value)
			if d := time.Duration(n) * time.Second; err != nil || d < least || d > most {
				return badValue(name)
			}
			*field(s.Settings) = time.Duration(n) * time.Second
			return nil
		},
	}
}

// extraAttribute returns an attribute that is stored and shown, but has no effect. "" removes it.
func extraAttribute(name, otherwise string, fifo bool, valid func(string) bool) attribute {
	return attribute{
		name: name,
		get: func(v *view) string {
			if value, ok := v.Settings.Extra[name]; ok {
				return value
			}
			return ifTrue(!fifo || v.Settings.FIFO, otherwise)
		},
		set: func(s *settingsChange, value string) error {
			if fifo && !s.FIFO {
				return unknownAttribute(name)
			}
			if value != "" && !valid(value) {
				return badValue(name)
			}
			s.extra(name, value)
			return nil
		},
	}
}

// extra changes one entry of Extra in a copy: readers of the settings share the map.
func (s *settingsChange) extra(name, value string) {
	all := maps.Clone(s.Extra)
	if all == nil {
		all = make(map[string]string)
	}
	if all[name] = value; value == "" {
		delete(all, name)
	}
	s.Extra = all
}

func setFIFO(s *settingsChange, value string) error {
	switch {
	case value != "true" && value != "false":
		return badValue("FifoQueue")
	case value == "true" && s.FIFO:
		return nil
	case s.FIFO:
		return attributeValue.text("Invalid value for the parameter FifoQueue. Reason: Modifying queue type is not supported.")
	}
	return unknownAttribute("FifoQueue")
}

func setContentDedup(s *settingsChange, value string) error {
	if !s.FIFO {
		return unknownAttribute("ContentBasedDeduplication")
	}
	if value != "true" && value != "false" {
		return badValue("ContentBasedDeduplication")
	}
	s.ContentDedup = value == "true"
	return nil
}

func showScope(v *view) string {
	switch {
	case !v.Settings.FIFO:
		return ""
	case v.Settings.DedupByGroup:
		return "messageGroup"
	}
	return "queue"
}

func setScope(s *settingsChange, value string) error {
	if !s.FIFO {
		return unknownAttribute("DeduplicationScope")
	}
	if value != "messageGroup" && value != "queue" {
		return badValue("DeduplicationScope")
	}
	s.DedupByGroup = value == "messageGroup"
	return nil
}

// apply sets all attributes in given, in the order of the table.
func (s *settingsChange) apply(given map[string]string) error {
	for name := range given {
		a, known := s.call.h.attributes[name]
		switch {
		case !known && strings.HasPrefix(name, "Bezoar"):
			return attributeName.text("Unknown Attribute %.100s.%s", name, s.call.h.suggest(name))
		case !known || a.set == nil:
			return unknownAttribute(name)
		}
	}
	for _, name := range s.call.h.order {
		value, ok := given[name]
		if !ok {
			continue
		}
		if err := s.call.h.attributes[name].set(s, value); err != nil {
			return err
		}
	}
	if s.Extra["KmsMasterKeyId"] != "" && s.Extra["SqsManagedSseEnabled"] == "true" {
		return attributeName.text("You can use one type of server-side encryption (SSE) at one time. You can either enable KMS SSE or SQS SSE.")
	}
	return nil
}
