package clients

import (
	"bytes"
	"context"
	"crypto/rand"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"sync"
	"testing"
	"time"
)

// serverTimeout bounds how long Bezoar takes to serve, and to stop.
const serverTimeout = 2 * time.Minute

func onSQLite(t *testing.T, b built) endpoint {
	return endpoint{url: serve(t, b, nil, "--store", "sqlite:"+filepath.Join(t.TempDir(), "queue.db"))}
}

func onPostgres(t *testing.T, b built) endpoint {
	return endpoint{url: serve(t, b, nil, "--store", newDatabase(t))}
}

// withKeys has Bezoar verify signatures.
func withKeys(t *testing.T, b built) endpoint {
	on := endpoint{key: "AKIDCLIENTS", secret: rand.Text() + "/+"}
	file := filepath.Join(t.TempDir(), "bezoar.yaml")
	settings := "sqs: 127.0.0.1:0\naccess_keys: {" + on.key + ": {secret_env: CLIENTS_TEST_SECRET}}\n"
	if err := os.WriteFile(file, []byte(settings), 0o600); err != nil {
		t.Fatal(err)
	}
	on.url = serve(t, b, []string{"CLIENTS_TEST_SECRET=" + on.secret}, "-c", file, "--store", "sqlite:"+filepath.Join(t.TempDir(), "queue.db"))
	return on
}

// serve starts bezoar serve on free ports, stops it with the test, and returns
// the URL of its SQS endpoint.
func serve(t *testing.T, b built, environment []string, flags ...string) string {
	t.Helper()
	return serveAt(t, b, sqsLine, environment, append([]string{"serve", "--sqs", "127.0.0.1:0", "--admin", "127.0.0.1:0", "--listen", ""}, flags...)...)
}

// serveAt returns what line finds in what Bezoar says.
func serveAt(t *testing.T, b built, line *regexp.Regexp, environment []string, flags ...string) string {
	t.Helper()
	said := &output{line: line, found: make(chan string, 1)}
	ctx, cancel := context.WithCancel(context.Background())
	cmd := exec.CommandContext(ctx, b.bezoar, flags...)
	cmd.Dir, cmd.Env = t.TempDir(), append(os.Environ(), environment...)
	cmd.Stdout, cmd.Stderr = said, said
	cmd.Cancel = func() error { return cmd.Process.Signal(os.Interrupt) }
	cmd.WaitDelay = serverTimeout // then it is killed, which is an error
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	var failure error
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		failure = cmd.Wait()
	}()
	t.Cleanup(func() {
		cancel()
		<-ended
		if !cmd.ProcessState.Success() {
			t.Errorf("bezoar %s: %v", strings.Join(flags, " "), failure)
		}
		if t.Failed() {
			t.Logf("bezoar said:\n%s", said.tail())
		}
	})
	select {
	case at := <-said.found:
		return at
	case <-ended:
		t.Fatalf("bezoar %s ended before it served", strings.Join(flags, " "))
	case <-time.After(serverTimeout):
		t.Fatalf("bezoar %s named no endpoint within %v", strings.Join(flags, " "), serverTimeout)
	}
	return ""
}

// output keeps the end of what Bezoar says, and finds its endpoint in it.
type output struct {
	line  *regexp.Regexp
	mu    sync.Mutex // guards text and done
	text  []byte
	done  bool
	found chan string
}

var sqsLine = regexp.MustCompile(`(?i)\bsqs\b.*?(http://[0-9.:]+).*\n`)

func (o *output) Write(p []byte) (int, error) {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.text = append(o.text, p...)
	if m := o.line.FindSubmatch(o.text); m != nil && !o.done {
		o.done = true
		o.found <- string(m[1])
	}
	const most = 64 << 10
	if len(o.text) > most {
		o.text = bytes.Clone(o.text[len(o.text)-most/2:])
	}
	return len(p), nil
}

func (o *output) tail() string {
	o.mu.Lock()
	defer o.mu.Unlock()
	return string(o.text)
}

// newDatabase makes one for this test and returns its URL.
func newDatabase(t *testing.T) string {
	t.Helper()
	at := os.Getenv("BEZOAR_TEST_POSTGRES")
	if at == "" {
		absent(t, "no PostgreSQL: run make test, or export BEZOAR_TEST_POSTGRES=$(../scripts/postgres start)")
	}
	u, err := url.Parse(at)
	if err != nil {
		t.Fatal(err)
	}
	name := "clients_" + strings.ToLower(rand.Text())
	sql := func(statement string) {
		t.Helper()
		if out, err := exec.Command("psql", "-X", "-q", "-c", statement, at).CombinedOutput(); err != nil {
			t.Fatalf("psql -c %q: %v\n%s", statement, err, out)
		}
	}
	sql("CREATE DATABASE " + name)
	t.Cleanup(func() { sql("DROP DATABASE " + name + " WITH (FORCE)") })
	u.Path = "/" + name
	return u.String()
}
