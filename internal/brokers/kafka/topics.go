package kafka

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"strconv"
	"strings"

	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kgo"
	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/bezoar-dev/bezoar/internal/brokers"
)

// letterRoom is how much larger a letter may be than its origin.
const letterRoom = 64 << 10

// openTopics finds the topic, and the one of dead letters, which it makes if it is
// not there. Its client is its own: it gives up soon, which the group's must not.
func (s *Source) openTopics(ctx context.Context) error {
	client, err := kgo.NewClient(append(s.cfg.Options(), kgo.RetryTimeout(openFor/3), kgo.RequestRetries(5))...)
	if err != nil {
		return fmt.Errorf("make a client: %w", err)
	}
	defer client.Close()
	n, err := partitions(ctx, client, s.cfg.Topic)
	if err == nil && n == 0 {
		err = &brokers.Error{
			Kind: brokers.Missing, Err: fmt.Errorf("there is no topic %s", s.cfg.Topic),
			Fix: "kafka-topics.sh --create --topic " + s.cfg.Topic + " makes one; is its name spelled right in --queue?",
		}
	}
	if err != nil {
		return s.explain(err)
	}
	there, err := partitions(ctx, client, s.cfg.DeadLetter)
	if err == nil && there == 0 {
		err = s.makeDeadLetter(ctx, client, n)
	}
	if err != nil {
		return s.explain(err)
	}
	return nil
}

// partitions is how many a topic has; 0 if there is none of that name.
func partitions(ctx context.Context, client *kgo.Client, topic string) (int, error) {
	ask := kmsg.NewPtrMetadataRequest()
	t := kmsg.NewMetadataRequestTopic()
	t.Topic = new(topic)
	ask.Topics = append(ask.Topics, t)
	resp, err := ask.RequestWith(ctx, client)
	if err != nil {
		return 0, fmt.Errorf("look topic %s up: %w", topic, err)
	}
	if len(resp.Topics) == 0 {
		return 0, nil
	}
	switch err := kerr.ErrorForCode(resp.Topics[0].ErrorCode); {
	case errors.Is(err, kerr.UnknownTopicOrPartition):
		return 0, nil
	case err != nil:
		return 0, fmt.Errorf("look topic %s up: %w", topic, err)
	}
	return len(resp.Topics[0].Partitions), nil
}

// makeDeadLetter makes the dead-letter topic with as many partitions, and room for the
// evidence.
func (s *Source) makeDeadLetter(ctx context.Context, client *kgo.Client, n int) error {
	req := kmsg.NewPtrCreateTopicsRequest()
	req.TimeoutMillis = int32(openFor.Milliseconds() / 2)
	t := kmsg.NewCreateTopicsRequestTopic()
	t.Topic, t.NumPartitions, t.ReplicationFactor = s.cfg.DeadLetter, int32(n), -1
	if most := maxMessage(ctx, client, s.cfg.Topic); most > 0 {
		c := kmsg.NewCreateTopicsRequestTopicConfig()
		c.Name, c.Value = "max.message.bytes", new(strconv.Itoa(most+letterRoom))
		t.Configs = append(t.Configs, c)
	}
	req.Topics = append(req.Topics, t)
	resp, err := req.RequestWith(ctx, client)
	if err != nil {
		return fmt.Errorf("create topic %s: %w", s.cfg.DeadLetter, err)
	}
	for _, t := range resp.Topics {
		err := kerr.ErrorForCode(t.ErrorCode)
		if err == nil || errors.Is(err, kerr.TopicAlreadyExists) { // another worker was faster
			continue
		}
		kind := brokers.Missing
		if isDenied(err) {
			kind = brokers.Denied
		}
		return &brokers.Error{
			Kind: kind, Err: fmt.Errorf("there is no topic %s for dead letters, and it cannot be created: %w", s.cfg.DeadLetter, err),
			Fix: "create it, or name another one with --dead-letter",
		}
	}
	s.cfg.Log.Info("created the topic for dead letters", "topic", s.cfg.DeadLetter, "partitions", n)
	return nil
}

// maxMessage is the size of the largest record of a topic; 0 if nobody tells.
func maxMessage(ctx context.Context, client *kgo.Client, topic string) int {
	req := kmsg.NewPtrDescribeConfigsRequest()
	r := kmsg.NewDescribeConfigsRequestResource()
	r.ResourceType, r.ResourceName, r.ConfigNames = kmsg.ConfigResourceTypeTopic, topic, []string{"max.message.bytes"}
	req.Resources = append(req.Resources, r)
	resp, err := req.RequestWith(ctx, client)
	if err != nil {
		return 0
	}
	for _, r := range resp.Resources {
		for _, c := range r.Configs {
			if c.Value == nil {
				continue
			}
			if n, err := strconv.Atoi(*c.Value); err == nil {
				return n
			}
		}
	}
	return 0
}

// explain says what to do about an error, if that is known.
func (s *Source) explain(err error) error {
	if _, known := errors.AsType[*brokers.Error](err); known {
		return err
	}
	if told := brokers.TLSError(err); told != nil {
		return told
	}
	_, network := errors.AsType[*net.OpError](err)
	switch {
	case errors.Is(err, kerr.SaslAuthenticationFailed), errors.Is(err, kerr.UnsupportedSaslMechanism), errors.Is(err, kerr.IllegalSaslState):
		return &brokers.Error{Kind: brokers.Denied, Err: err, Fix: "$" + brokers.UserVar + " and $" + brokers.PasswordVar + " name the user and the password, ?sasl= the mechanism"}
	case isDenied(err):
		return &brokers.Error{Kind: brokers.Denied, Err: err, Fix: "the user needs read and describe on the topic, read on the group, and write and describe on the dead-letter topic"}
	case errors.Is(err, kerr.InconsistentGroupProtocol):
		return &brokers.Error{Kind: brokers.Denied, Err: err, Fix: "the group has members that share partitions out by other rules: give bezoar work a group of its own"}
	case errors.Is(err, kerr.FencedInstanceID):
		return &brokers.Error{Kind: brokers.Denied, Err: err, Fix: "another worker has the same &instance=: give each one of its own"}
	case network, errors.Is(err, io.EOF), errors.Is(err, context.DeadlineExceeded), errors.Is(err, kerr.BrokerNotAvailable):
		hint := "is a broker running at " + strings.Join(s.cfg.Brokers, " or ") + "?" + brokers.TLSHint(s.cfg.TLS)
		if s.cfg.TLS == nil {
			hint += " If it speaks TLS, say so: &tls=true"
		}
		if s.cfg.User == "" {
			hint += "; if it asks for credentials, $" + brokers.UserVar + " and $" + brokers.PasswordVar + " name them"
		}
		return &brokers.Error{Kind: brokers.Unreachable, Err: err, Fix: hint}
	}
	return err
}

func isDenied(err error) bool {
	for _, denied := range []error{kerr.TopicAuthorizationFailed, kerr.GroupAuthorizationFailed, kerr.ClusterAuthorizationFailed, kerr.TransactionalIDAuthorizationFailed} {
		if errors.Is(err, denied) {
			return true
		}
	}
	return false
}
