package main

import (
	"bufio"
	"context"
	"fmt"
	"net"
	"net/url"
	"os"
	"os/exec"
	"strings"
	"sync"
	"testing"
	"time"
)

// mailbox is an SMTP server that keeps what it gets.
type mailbox struct {
	address string

	mu    sync.Mutex // guards the rest
	mails []string
}

func openMailbox(t *testing.T) *mailbox {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	m := &mailbox{address: l.Addr().String()}
	var serving sync.WaitGroup
	serving.Go(func() {
		for {
			c, err := l.Accept()
			if err != nil {
				return
			}
			serving.Go(func() { m.serve(c) })
		}
	})
	t.Cleanup(func() { _ = l.Close(); serving.Wait() })
	return m
}

func (m *mailbox) serve(c net.Conn) {
	defer c.Close()
	lines, text, inText := bufio.NewScanner(c), strings.Builder{}, false
	fmt.Fprint(c, "220 here\r\n")
	for lines.Scan() {
		line := lines.Text()
		switch {
		case inText && line == ".":
			m.mu.Lock()
			m.mails = append(m.mails, text.String())
			m.mu.Unlock()
			inText = false
			fmt.Fprint(c, "250 taken\r\n")
		case inText:
			text.WriteString(line + "\n")
		case strings.EqualFold(line, "DATA"):
			inText = true
			fmt.Fprint(c, "354 go on\r\n")
		case strings.EqualFold(line, "QUIT"):
			fmt.Fprint(c, "221 bye\r\n")
			return
		default:
			fmt.Fprint(c, "250 OK\r\n")
		}
	}
}

func (m *mailbox) got() []string {
	m.mu.Lock()
	defer m.mu.Unlock()
	return append([]string(nil), m.mails...)
}

// The example's two commands load all partitions, the bad one after it is fixed,
// and send one mail, also when the flow runs again.
func TestFlowExample(t *testing.T) {
	t.Parallel()
	server := os.Getenv("BEZOAR_TEST_POSTGRES")
	if server == "" {
		t.Skip("no PostgreSQL: run make test, or export BEZOAR_TEST_POSTGRES=$(scripts/postgres start)")
	}
	if _, err := exec.LookPath("psql"); err != nil {
		t.Skipf("the example of flows was not run: %v", err)
	}
	r, box := newBuilt(t, "examples/flow/README.md"), openMailbox(t)
	database := ownSchema(t, server)
	r.env = []string{"DATABASE_URL=" + database, "SMTP=" + box.address}
	r.read(map[string][]string{"flow run": {
		"transform   DEAD_LETTER", "transform[2] DEAD_LETTER", "item   oslo.csv", "ValueError", "transform.py:16", "  shop  SUCCESS  ",
	}})
	r.run(block{text: "./bezoar flow run examples/flow/shop.yaml -p missing=0\n"}, []string{"  shop  SUCCESS  "})
	rows := psql(t, database, "select shop, item, total from sales order by shop, item")
	if want := "berlin|cup|15.0\nberlin|stone|7.0\nlima|cup|8.0\noslo|cup|6.0\noslo|stone|0.0\n"; rows != want {
		t.Errorf("the table holds\n%s, want\n%s", rows, want)
	}
	if got := box.got(); len(got) != 1 || !strings.Contains(got[0], "Sales of 2026-11-28") || !strings.Contains(got[0], "oslo,stone,0.0") {
		t.Errorf("%d mails, want one: %q", len(got), got)
	}
}

// ownSchema makes a schema of this test's own, and returns a URL that leads there.
func ownSchema(t *testing.T, server string) string {
	t.Helper()
	name := fmt.Sprintf("flow_example_%d", time.Now().UnixNano())
	psql(t, server, "create schema "+name)
	t.Cleanup(func() { psql(t, server, "drop schema "+name+" cascade") })
	u, err := url.Parse(server)
	if err != nil {
		t.Fatal(err)
	}
	q := u.Query()
	q.Set("options", "-csearch_path="+name)
	u.RawQuery = strings.ReplaceAll(q.Encode(), "+", "%20")
	return u.String()
}

func psql(t *testing.T, database, query string) string {
	t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	defer cancel()
	out, err := exec.CommandContext(ctx, "psql", "--no-psqlrc", "-qAt", "-c", query, database).CombinedOutput()
	if err != nil {
		t.Fatalf("psql: %v\n%s", err, out)
	}
	return string(out)
}
