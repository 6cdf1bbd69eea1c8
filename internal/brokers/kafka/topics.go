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

// letterRoom is the extra size of a dead letter compared with the original record.
const letterRoom = 64 << 10

// openTopics finds the topic, and creates the dead-letter topic if necessary. It uses its
// own client, because this client gives up quickly and the group's client must not.
func (s *Source) openTopics(ctx context.Context) error {
	client, err := kgo.NewClient(append(s.cfg.Options(), kgo.RetryTimeout(openFor/3), kgo.RequestRetries(5))...)
	if err != nil {
		return fmt.Errorf("create a client: %w", err)
	}
	defer client.Close()
	n, err := partitions(ctx, client, s.cfg.Topic)
	if err == nil && n == 0 {
		err = &brokers.Error{
			Kind: brokers.Missing, Err: fmt.Errorf("there is no topic %s", s.cfg.Topic),
			Fix: "kafka-topics.sh --create --topic " + s.cfg.Topic + " creates it; or check the name in --queue",
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

// partitions returns the number of a topic's partitions, or 0 if the topic does not exist.
func partitions(ctx context.Context, client *kgo.Client, topic string) (int, error) {
	ask := kmsg.NewPtrMetadataRequest()
	t := kmsg.NewMetadataRequestTopic()
	t.Topic = new(topic)
	ask.Topics = append(ask.Topics, t)
	resp, err := ask.RequestWith(ctx, client)
	if err != nil {
		return 0, fmt.Errorf("look up topic %s: %w", topic, err)
	}
	if len(resp.Topics) == 0 {
		return 0, nil
	}
	switch err := kerr.ErrorForCode(resp.Topics[0].ErrorCode); {
	case errors.Is(err, kerr.UnknownTopicOrPartition):
		return 0, nil
	case err != nil:
		return 0, fmt.Errorf("look up topic %s: %w", topic, err)
	}
	return len(resp.Topics[0].Partitions), nil
}

// makeDeadLetter creates the dead-letter topic with n partitions and room for the evidence.
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
		if err == nil || errors.Is(err, kerr.TopicAlreadyExists) { // another worker was first
			continue
		}
		kind := brokers.Missing
		if isDenied(err) {
			kind = brokers.Denied
		}
		return &brokers.Error{
			Kind: kind, Err: fmt.Errorf("the dead-letter topic %s does not exist and cannot be created: %w", s.cfg.DeadLetter, err),
			Fix: "create it, or set another topic with --dead-letter",
		}
	}
	s.cfg.Log.Info("created the dead-letter topic", "topic", s.cfg.DeadLetter, "partitions", n)
	return nil
}

// maxMessage returns the size limit for records of a topic, or 0 if it is unknown.
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

// explain adds advice to known errors.
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
		return &brokers.Error{Kind: brokers.Denied, Err: err, Fix: "$" + brokers.UserVar + " and $" + brokers.PasswordVar + " set the user and the password, ?sasl= sets the mechanism"}
	case isDenied(err):
		return &brokers.Error{Kind: brokers.Denied, Err: err, Fix: "the user needs the permissions read and describe on the topic, read on the group, and write and describe on the dead-letter topic"}
	case errors.Is(err, kerr.InconsistentGroupProtocol):
		return &brokers.Error{Kind: brokers.Denied, Err: err, Fix: "the group has members with another assignment strategy: use a separate group for bezoar work"}
	case errors.Is(err, kerr.FencedInstanceID):
		return &brokers.Error{Kind: brokers.Denied, Err: err, Fix: "another worker uses the same &instance=: give each worker its own value"}
	case network, errors.Is(err, io.EOF), errors.Is(err, context.DeadlineExceeded), errors.Is(err, kerr.BrokerNotAvailable):
		hint := "check that a broker runs at " + strings.Join(s.cfg.Brokers, " or ") + "." + brokers.TLSHint(s.cfg.TLS)
		if s.cfg.TLS == nil {
			hint += " If it uses TLS, add &tls=true"
		}
		if s.cfg.User == "" {
			hint += " If it requires credentials, set $" + brokers.UserVar + " and $" + brokers.PasswordVar
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
