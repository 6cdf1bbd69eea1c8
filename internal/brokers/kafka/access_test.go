package kafka

import (
	"bytes"
	"crypto/tls"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/url"
	"strings"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kfake"
	"github.com/twmb/franz-go/pkg/kgo"
	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/bezoar-dev/bezoar/internal/brokers"
	"github.com/bezoar-dev/bezoar/internal/brokers/brokertest"
	"github.com/bezoar-dev/bezoar/internal/outbox/sinks/sinktest"
	"github.com/bezoar-dev/bezoar/outbox"
	"github.com/bezoar-dev/bezoar/worker"
)

const password = "p@ss/word:1"

// fails wants a source not to open, and returns why not.
func (c *cluster) fails(kind brokers.Kind, says string) {
	c.t.Helper()
	s := c.source()
	_, err := s.Open(c.t.Context())
	_ = s.Close()
	b, ok := errors.AsType[*brokers.Error](err)
	if !ok || b.Kind != kind || !strings.Contains(err.Error(), says) || b.Fix == "" {
		c.t.Errorf("it says %v, want %q and what to do", err, says)
	}
	if err != nil && strings.Contains(err.Error(), password) {
		c.t.Errorf("the error has the password: %v", err)
	}
}

func TestAnUnknownTopic(t *testing.T) {
	t.Parallel()
	c := newCluster(t, 1)
	c.cfg.Topic = "nothing"
	c.fails(brokers.Missing, "there is no topic nothing")
}

func TestNoBroker(t *testing.T) {
	t.Parallel()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	silent := l.Addr().String()
	if err := l.Close(); err != nil {
		t.Fatal(err)
	}
	c := &cluster{t: t, cfg: Config{Client: Client{Brokers: []string{silent}}, Topic: "orders", Group: "g"}}
	c.fails(brokers.Unreachable, silent)
}

// Every way to say who we are, over TLS whose authority the URL names.
func TestCredentials(t *testing.T) {
	t.Parallel()
	certs := brokertest.NewCertificates(t)
	server := certs.Server(t)
	server.ClientAuth = tls.NoClientCert
	for _, method := range []string{"PLAIN", "SCRAM-SHA-256", "SCRAM-SHA-512"} {
		t.Run(method, func(t *testing.T) {
			t.Parallel()
			c := newCluster(t, 1, kfake.EnableSASL(), kfake.Superuser(method, "bezoar", password), kfake.TLS(server))
			text := fmt.Sprintf("kafka://bezoar:%s@%s/orders?group=g&sasl=%s&ca=%s", url.QueryEscape(password), c.cfg.Brokers[0], strings.ToLower(method), certs.CA)
			cfg, err := FromURL(text, nil)
			if err != nil {
				t.Fatal(err)
			}
			var log bytes.Buffer
			cfg.Log = slog.New(slog.NewTextHandler(&log, &slog.HandlerOptions{Level: slog.LevelDebug}))
			c.cfg = cfg
			c.produce(&kgo.Record{Value: []byte("secret")})
			if m := take(t, c.opened(), 1)[0]; string(m.Body) != "secret" {
				t.Errorf("%s came", m.Body)
			}
			if strings.Contains(log.String(), password) {
				t.Errorf("the log has the password:\n%s", &log)
			}
			c.fake.ControlKey(int16(kmsg.SASLAuthenticate), func(req kmsg.Request) (kmsg.Response, error, bool) {
				c.fake.KeepControl()
				resp := req.ResponseKind().(*kmsg.SASLAuthenticateResponse)
				resp.ErrorCode = kerr.SaslAuthenticationFailed.Code // as brokers do; kfake hangs up
				return resp, nil, true
			})
			c.fails(brokers.Denied, "SASL")
		})
	}
}

// Brokers that want TLS, and certificates of their clients: a sink and a source.
func TestTLS(t *testing.T) {
	t.Parallel()
	certs := brokertest.NewCertificates(t)
	c := newCluster(t, 1, kfake.TLS(certs.Server(t)))
	n := 0
	certs.OverTLS(t, func(t *testing.T, parameters string) error {
		t.Helper()
		n++
		at := "kafka://" + c.cfg.Brokers[0] + "/" + c.topic + "?" + parameters
		sink, err := SinkFromURL(at, sinktest.Source, nil)
		if err != nil {
			t.Fatal(err)
		}
		defer sink.Close()
		sent := sink.Send(t.Context(), []outbox.Record{sinktest.Record(1, "k")})[0]
		cfg, err := FromURL(at+fmt.Sprint("&group=g", n), nil)
		if err != nil {
			t.Fatal(err)
		}
		s, err := New(cfg)
		if err != nil {
			t.Fatal(err)
		}
		defer s.Close()
		_, err = s.Open(t.Context())
		if (err == nil) != (sent == nil) {
			t.Errorf("the sink says %v, and the source %v", sent, err)
		}
		if err != nil {
			return err
		}
		return s.Done(t.Context(), take(t, s, 1)[0])
	})
}

// A user who may not create topics is told which one to create, and needs no more than
// what the guide says once that is there.
func TestWhatAUserNeeds(t *testing.T) {
	t.Parallel()
	may := func(kind kmsg.ACLResourceType, name string, ops ...kmsg.ACLOperation) (all []kfake.ACL) {
		for _, op := range ops {
			all = append(all, kfake.ACL{Resource: kind, Name: name, Pattern: kmsg.ACLResourcePatternTypeLiteral, Operation: op, Allow: true})
		}
		return all
	}
	acls := may(kmsg.ACLResourceTypeTopic, "orders", kmsg.ACLOperationRead, kmsg.ACLOperationDescribe)
	acls = append(acls, may(kmsg.ACLResourceTypeGroup, "g", kmsg.ACLOperationRead)...)
	acls = append(acls, may(kmsg.ACLResourceTypeTopic, "orders-dlq", kmsg.ACLOperationWrite, kmsg.ACLOperationDescribe)...)
	acls = append(acls, may(kmsg.ACLResourceTypeTopic, "parked", kmsg.ACLOperationWrite, kmsg.ACLOperationDescribe)...)
	c := newCluster(t, 1, kfake.EnableACLs(), kfake.EnableSASL(), kfake.Superuser("PLAIN", "root", password), kfake.User("PLAIN", "bezoar", password, acls...),
		kfake.SeedTopics(1, "parked"))
	user := c.cfg
	user.User, user.Password = "bezoar", password
	c.cfg.User, c.cfg.Password = "root", password
	c.produce(&kgo.Record{Value: []byte("poison")})
	c.cfg = user
	c.fails(brokers.Denied, "the dead-letter topic orders-dlq does not exist")
	c.cfg.DeadLetter = "parked"
	s := c.opened()
	m := take(t, s, 1)[0]
	if err := s.SetAside(t.Context(), m, letterOf(m)); err != nil {
		t.Fatal(err)
	}
	if err := s.Done(t.Context(), m); err != nil {
		t.Fatal(err)
	}
}

// A group whose members assign partitions by other rules, and a second worker of the same
// instance, stop the worker and say what to do.
func TestWhomAGroupRefuses(t *testing.T) {
	t.Parallel()
	refused := func(t *testing.T, s *Source, fix string) {
		t.Helper()
		var err error
		until(t, "it is refused", func() bool {
			_, err = s.Receive(t.Context(), worker.Receive{Max: 1, Wait: 10 * time.Millisecond})
			return err != nil
		})
		_, forever := errors.AsType[*worker.PermanentError](err)
		b, ok := errors.AsType[*brokers.Error](err)
		if !forever || !ok || !strings.Contains(b.Fix, fix) {
			t.Errorf("it says %v, want that this is for good, and %q", err, fix)
		}
	}
	t.Run("rules", func(t *testing.T) {
		t.Parallel()
		c := newCluster(t, 1)
		c.produce(&kgo.Record{Value: []byte("v")})
		other := c.client(kgo.ConsumeTopics(c.topic), kgo.ConsumerGroup(c.cfg.Group), kgo.Balancers(kgo.RangeBalancer()))
		t.Cleanup(other.Close)
		if got := other.PollFetches(t.Context()); got.NumRecords() != 1 { // it is a member
			t.Fatal(got.Errors())
		}
		refused(t, c.opened(), "a separate group")
	})
	t.Run("instance", func(t *testing.T) {
		t.Parallel()
		c := newCluster(t, 1)
		c.cfg.Instance = "one"
		c.produce(&kgo.Record{Value: []byte("v")})
		first := c.opened()
		take(t, first, 1)
		c.opened()
		refused(t, first, "another worker")
	})
}
