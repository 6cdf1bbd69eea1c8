package pgerror

import (
	"net"
	"strings"
	"testing"

	"github.com/jackc/pgx/v5"
)

// A server that does not answer is one line, which names the address once.
func TestUnreachable(t *testing.T) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	addr := l.Addr().String()
	if err := l.Close(); err != nil {
		t.Fatal(err)
	}
	_, err = pgx.Connect(t.Context(), "postgres://somebody@"+addr+"/shop")
	got := Explain("postgres://somebody@"+addr+"/shop", err, Advice{}).Error()
	alone := Explain("the database", func() error {
		_, err := pgx.Connect(t.Context(), "postgres://somebody@"+addr+"/shop?sslmode=disable")
		return err
	}(), Advice{}).Error()
	if strings.Contains(alone, "failed to connect") || !strings.HasSuffix(alone, "check host and port: dial tcp "+addr+": connect: connection refused") {
		t.Errorf("without TLS: %q", alone)
	}
	want := "postgres://somebody@" + addr + "/shop cannot be reached; start it, check host and port: dial tcp " + addr + ": connect: connection refused"
	if got != want {
		t.Errorf("got  %q\nwant %q", got, want)
	}
}

func TestTries(t *testing.T) {
	for text, want := range map[string]string{
		"failed": "failed",
		"failed to connect to `user=a`: a (1): x":                "x",
		"failed to connect to `user=a`:\n\ta (1): x\n\ta (1): x": "x",
		"failed to connect to `user=a`:\n\ta (1): x\n\tb (2): y": "x; y",
		"failed to connect to `user=a`:\n\tsome\n\tthing ":       "failed to connect to `user=a`: some thing",
	} {
		if got := tries(text); got != want {
			t.Errorf("%q: %q, want %q", text, got, want)
		}
	}
	if strings.Contains(tries("failed to connect to `a`:\n\tb (c): dial error: dial tcp"), "dial error") {
		t.Error("the driver's words are left")
	}
}
