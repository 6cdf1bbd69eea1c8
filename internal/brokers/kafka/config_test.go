package kafka

import (
	"strings"
	"testing"
	"time"
)

func TestURLs(t *testing.T) {
	t.Parallel()
	c, err := FromURL("kafka://a,b:1/orders?group=g&start=latest&session=20s&instance=i&sasl=scram-sha-512&tls=true", func(string) string { return "secret" })
	if err != nil || !c.Latest || c.Session != 20*time.Second || c.Instance != "i" || c.TLS == nil || c.User != "secret" || len(c.Brokers) != 2 {
		t.Errorf("%+v: %v", c, err)
	}
	for text, says := range map[string]string{
		"kafka://a/orders":                       "the consumer group is missing",
		"kafka://a/?group=g":                     "Topic:",
		"kafka://a/no topic?group=g":             "Topic:",
		"kafka://a/t?group=g&sasl=plain":         "needs a user",
		"kafka://a/t?group=g&sasl=kerberos":      "is unknown; want",
		"kafka://a/t?group=g&start=now":          "not earliest or latest",
		"kafka://a/t?group=g&session=1":          "not a duration",
		"kafka://a/t?group=g&session=1ms":        "Session:",
		"kafka://a/t?group=g&groups=h":           "no parameter groups",
		"kafka://a/t?group=g&tls=1":              "not true or false",
		"kafka://a:port/orders?group=g":          "not a HOST:PORT",
		"kafka://user:pass@/orders?group=g":      "a host is missing",
		"kafka://user:%zz@broker/orders?group=g": "malformed",
	} {
		if _, err := FromURL(text, nil); err == nil || !strings.Contains(err.Error(), says) {
			t.Errorf("%s: %v, want %q", text, err, says)
		}
	}
	c.DeadLetter = c.Topic
	if err := c.Validate(); err == nil {
		t.Error("a topic is its own dead-letter topic")
	}
}
