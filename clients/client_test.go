package clients

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"
)

// clientTimeout bounds one client's run: several take turns on few cores.
const clientTimeout = 10 * time.Minute

// client is one real client: what runs it, and how its output tells that a
// check has passed. So many must, lest a client that runs nothing passes.
type client struct {
	name    string
	command func(t *testing.T) *exec.Cmd
	checks  int
	passed  *regexp.Regexp
}

// goNew is the client that meets every target.
const goNew = "aws-sdk-go-v2 1.53.0"

func clients(b built) []client {
	line := regexp.MustCompile(`(?m)^ok   `)
	return []client{
		{goNew, program(b.goNew), 26, line},
		{"aws-sdk-go-v2 1.26.0", program(b.goOld), 26, line},
		{"client-sqs 3.1175.0", node("round.mjs", "@aws-sdk/client-sqs"), 12, line},
		{"client-sqs 3.445.0", node("round.mjs", "client-sqs-query"), 12, line},
		{"sqs-consumer 15.0.3", node("consumer.mjs"), 5, line},
		{"boto3", python("boto3_round.py"), 15, line},
		{"awscli", python("awscli_round.py"), 8, line},
		{"celery and kombu", python("celery_round.py"), 3, line},
		{"gocloud.dev 0.49.0", gocloud, 13, regexp.MustCompile(`(?m)^ {4}--- PASS: `)},
	}
}

// drive runs the client against the endpoint.
func (c client) drive(t *testing.T, on endpoint) {
	ctx, cancel := context.WithTimeout(t.Context(), clientTimeout)
	defer cancel()
	made := c.command(t)
	cmd := exec.CommandContext(ctx, made.Path, made.Args[1:]...)
	cmd.Dir, cmd.WaitDelay = made.Dir, 10*time.Second
	cmd.Env = append(on.environment(t), made.Env...)
	var out bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &out
	err := cmd.Run()
	passed := len(c.passed.FindAllIndex(out.Bytes(), -1))
	if err != nil || passed < c.checks {
		t.Fatalf("%d checks passed, want at least %d, and %v\n%s", passed, c.checks, err, out.Bytes())
	}
	t.Logf("%d checks passed", passed)
}

func program(path string) func(*testing.T) *exec.Cmd {
	return func(*testing.T) *exec.Cmd { return exec.Command(path) }
}

func node(arguments ...string) func(*testing.T) *exec.Cmd {
	return func(t *testing.T) *exec.Cmd {
		folder := fetch(t, "node")
		cmd := exec.Command("node", arguments...)
		cmd.Dir = folder
		cmd.Env = []string{"NODE_NO_WARNINGS=1"} // one is about a Node.js to come
		return cmd
	}
}

func python(script string) func(*testing.T) *exec.Cmd {
	return func(t *testing.T) *exec.Cmd {
		cmd := exec.Command(fetch(t, "python"), script)
		cmd.Dir = "python"
		cmd.Env = []string{"PYTHONDONTWRITEBYTECODE=1"}
		return cmd
	}
}

// gocloud runs a suite that others wrote for SQS itself.
func gocloud(t *testing.T) *exec.Cmd {
	suite := fetch(t, "gocloud")
	cmd := exec.Command(suite, "-test.v", "-test.run", "TestConformanceSQSTopic$", "-record")
	cmd.Dir = filepath.Dir(suite)
	return cmd
}

// fetch gets what a client needs and returns where it is.
func fetch(t *testing.T, what string) string {
	t.Helper()
	var complaint bytes.Buffer
	cmd := exec.CommandContext(t.Context(), "../scripts/clients", what)
	cmd.Stderr = &complaint
	out, err := cmd.Output()
	if err != nil {
		absent(t, "%v\n%s", err, complaint.String())
	}
	return strings.TrimSpace(string(out))
}

// endpoint is what a client is run against.
type endpoint struct {
	url         string
	key, secret string // none: it believes everybody
	peer        string // it is not Bezoar, but this
}

// environment is a client's: the endpoint, and of whoever runs the tests
// nothing that SDKs heed.
func (on endpoint) environment(t *testing.T) []string {
	env := slices.DeleteFunc(os.Environ(), func(s string) bool {
		return strings.HasPrefix(s, "AWS_") || strings.HasPrefix(s, "CLIENTS_")
	})
	key, secret := on.key, on.secret
	if key == "" {
		key, secret = "any", "any"
	}
	name := regexp.MustCompile(`[^a-z0-9]+`).ReplaceAllString(strings.ToLower(filepath.Base(t.Name())), "-")
	return append(
		env,
		"CLIENTS_ENDPOINT="+on.url, "CLIENTS_KEY="+on.key, "CLIENTS_SECRET="+on.secret, "CLIENTS_PEER="+on.peer,
		"CLIENTS_PREFIX="+fmt.Sprintf("%s-%d-", name, os.Getpid()),
		"AWS_ENDPOINT_URL_SQS="+on.url, "AWS_ACCESS_KEY_ID="+key, "AWS_SECRET_ACCESS_KEY="+secret, "AWS_REGION=us-east-1",
		"AWS_EC2_METADATA_DISABLED=true", "AWS_CONFIG_FILE=/dev/null", "AWS_SHARED_CREDENTIALS_FILE=/dev/null",
	)
}
