package clients

import (
	"flag"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// built are the programs that all tests run.
type built struct{ bezoar, goNew, goOld string }

// target is an endpoint that is there while a test runs, and which clients meet
// it unless BEZOAR_SOAK has all of them do so; nil are all.
type target struct {
	name string
	open func(t *testing.T, b built) endpoint
	meet []string
}

// targets are Bezoar on each store, and Bezoar that verifies signatures; or
// else the one endpoint that BEZOAR_SQS_ENDPOINT names. Every client meets the
// one that verifies, which is on SQLite, and so do a few of each kind the others.
func targets() []target {
	if url := os.Getenv("BEZOAR_SQS_ENDPOINT"); url != "" {
		return []target{{"given", func(*testing.T, built) endpoint {
			return endpoint{
				url: strings.TrimSuffix(url, "/"), key: os.Getenv("CLIENTS_KEY"), secret: os.Getenv("CLIENTS_SECRET"),
				peer: os.Getenv("CLIENTS_PEER"),
			}
		}, nil}}
	}
	return []target{
		{"sqlite", onSQLite, []string{goNew}},
		{"postgres", onPostgres, []string{goNew, "client-sqs 3.1175.0", "sqs-consumer 15.0.3", "boto3", "gocloud.dev 0.49.0"}},
		{"keys", withKeys, nil},
	}
}

// met reports whether a client is to be run.
func (on target) met(name string) bool {
	return on.meet == nil || os.Getenv("BEZOAR_SOAK") != "" || slices.Contains(on.meet, name)
}

// TestMain lets six clients run at once, on however few processors: above all they
// wait for leases.
func TestMain(m *testing.M) {
	if err := flag.Set("test.parallel", "6"); err != nil { // before the command line is read
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	os.Exit(m.Run())
}

func TestClients(t *testing.T) {
	b := build(t)
	for _, target := range targets() {
		t.Run(target.name, func(t *testing.T) {
			t.Parallel()
			on := target.open(t, b)
			t.Run("run", func(t *testing.T) { // ends when all clients have ended
				left := len(target.meet)
				for _, c := range clients(b) {
					if !target.met(c.name) {
						continue
					}
					left--
					t.Run(c.name, func(t *testing.T) {
						t.Parallel()
						c.drive(t, on)
					})
				}
				if left > 0 {
					t.Errorf("%v names %d clients that are not there", target.meet, left)
				}
			})
		})
	}
}

// What the SDK signs is what Bezoar verifies: thousands of random requests,
// beside the few shapes that the clients send.
func TestTheSDKsSignerAgrees(t *testing.T) {
	cmd := exec.CommandContext(t.Context(), "go", "test", "-count=1", "-vet=off", "./...")
	cmd.Dir = "signer"
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Errorf("go test in signer: %v\n%s", err, out)
	}
}

// The CloudEvents SDK reads what webhooks send, and the library of Standard Webhooks
// verifies it.
func TestTheSDKReadsWebhooks(t *testing.T) {
	cmd := exec.CommandContext(t.Context(), "go", "test", "-count=1", "-vet=off", "./...")
	cmd.Dir = "cloudevents"
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Errorf("go test in cloudevents: %v\n%s", err, out)
	}
}

// build builds what is tested, and the clients that are in Go.
func build(t *testing.T) built {
	t.Helper()
	into := t.TempDir()
	b := built{filepath.Join(into, "bezoar"), filepath.Join(into, "go-new"), filepath.Join(into, "go-old")}
	for _, p := range [][3]string{{"..", "./cmd/bezoar", b.bezoar}, {"go-new", ".", b.goNew}, {"go-old", ".", b.goOld}} {
		if p[2] == b.bezoar && os.Getenv("BEZOAR_SQS_ENDPOINT") != "" {
			continue
		}
		goBuild(t, p[0], p[1], p[2], "CGO_ENABLED=0")
	}
	return b
}

func goBuild(t *testing.T, folder, pkg, into string, environment ...string) {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), "go", "build", "-ldflags=-s", "-o", into, pkg)
	cmd.Dir = folder
	cmd.Env = append(os.Environ(), environment...)
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("go build in %s: %v\n%s", folder, err, out)
	}
}

// absent tells of something that is missing. Where everything has to run, that
// is a failure.
func absent(t *testing.T, format string, args ...any) {
	t.Helper()
	text := "NOT RUN: " + fmt.Sprintf(format, args...)
	if os.Getenv("BEZOAR_REQUIRE_SERVERS") != "" {
		t.Fatal(text)
	}
	t.Skip(text)
}
