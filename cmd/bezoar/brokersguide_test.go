package main

import (
	"fmt"
	"net/url"
	"os"
	"os/exec"
	"strings"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kfake"
)

// Every command of the guide to brokers is run, in order, against a broker in this
// process.
func TestBrokersGuide(t *testing.T) {
	t.Parallel()
	r := newBuilt(t, "docs/brokers.md")
	if _, err := exec.LookPath("kcat"); err != nil {
		t.Skip("kcat is not installed: what docs/brokers.md says cannot be tried (apt-get install kcat)")
	}
	kafka, err := kfake.NewCluster(kfake.NumBrokers(1), kfake.SeedTopics(3, "orders"))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(kafka.Close)
	r.ports = strings.NewReplacer("127.0.0.1:9092", kafka.ListenAddrs()[0], "127.0.0.1:7070", freePort(t))
	r.read(map[string][]string{
		"--until-idle": {`anna ordered: {"order": 1}`, `bert ordered: {"order": 3}`, "crash: SIGSEGV; again in ", "set aside: its payload is convicted", "3 messages: 2 done, 1 set aside, in "},
		"kcat -C":      {`bert: {"order": 2, "qty": -1}`, "bezoar-topic=orders", "bezoar-consumer-group=billing,bezoar-class=crash,bezoar-attempts=2"},
	})
}

// Every command of the guide to RabbitMQ is run, in order.
func TestRabbitMQGuide(t *testing.T) {
	t.Parallel()
	server := os.Getenv("BEZOAR_TEST_RABBITMQ")
	if server == "" {
		t.Skip("BEZOAR_TEST_RABBITMQ names no server: scripts/rabbitmq starts one")
	}
	r := newBuilt(t, "docs/rabbitmq.md")
	_, at, _ := strings.Cut(server, "@")
	r.ports = strings.NewReplacer("127.0.0.1:5672", at, "127.0.0.1:7070", freePort(t), "orders", fmt.Sprint("guide-", time.Now().UnixNano()))
	r.read(map[string][]string{
		"--until-idle": {`ordered: {"order": 1}`, "crash: SIGSEGV; again in ", "set aside: its payload is convicted", "2 messages: 1 done, 1 set aside, in ", "\n{\"order\": 2, \"qty\": -1}\n"},
	})
}

// Every command of the guide to streams is run, in order, against a Redis.
func TestStreamsGuide(t *testing.T) {
	t.Parallel()
	server, err := url.Parse(os.Getenv("BEZOAR_TEST_REDIS"))
	if err != nil {
		t.Fatal(err)
	}
	if server.Host == "" {
		t.Skip("BEZOAR_TEST_REDIS names no server: scripts/redis starts one")
	}
	r := newBuilt(t, "docs/streams.md")
	password, _ := server.User.Password()
	r.env = append(r.env, "REDISCLI_AUTH="+password, "BEZOAR_BROKER_PASSWORD="+password)
	r.ports = strings.NewReplacer("127.0.0.1:6379", server.Host, "-p 6379", "-p "+server.Port(), "127.0.0.1:7070", freePort(t), "orders", fmt.Sprint("guide-", time.Now().UnixNano()))
	r.read(map[string][]string{
		"--until-idle": {`ordered: {"order": 1}`, "crash: SIGSEGV; again in ", "set aside: its payload is convicted", "2 messages: 1 done, 1 set aside, in ", "bezoar-class\ncrash\n"},
	})
}
