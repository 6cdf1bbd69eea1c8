package app_test

import (
	"bufio"
	"context"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"fmt"
	"io"
	"math/big"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/bezoar-dev/bezoar/internal/test/pace"
)

// besieged is a Bezoar in a process of its own, with good callers and others.
type besieged struct {
	*node
	addr string
	tls  *tls.Config // nil: plain HTTP
	good tally
	late time.Duration // what the slowest of the good requests took
	mu   sync.Mutex    // guards late
}

// besiege starts one with two workers.
func besiege(t *testing.T, secure bool) *besieged {
	t.Helper()
	dir := t.TempDir()
	b, more := &besieged{}, ""
	if secure {
		cert, key, pool := keyPair(t, dir)
		more = fmt.Sprintf("tls: {cert: %q, key: %q}\n", cert, key)
		b.tls = &tls.Config{RootCAs: pool, ServerName: "localhost"}
	}
	b.node = spawn(t, head("memory:", dir)+more+fmt.Sprintf(`listen: 127.0.0.1:0
fleets: {app: {command: [%q], env: {%s: worker}, replicas: 2}}
routes: [{match: {path: /*}, fleet: app}]
`, os.Getenv(workVar), roleVar))
	b.addr = strings.TrimPrefix(b.url, "http://")
	if secure {
		b.url = "https://" + b.addr
	}
	tr := &http.Transport{TLSClientConfig: b.tls, MaxIdleConnsPerHost: 16}
	t.Cleanup(tr.CloseIdleConnections)
	b.http = &http.Client{Transport: tr, Timeout: patience}
	b.until("it serves", func() bool { return b.one(t.Context(), false) == http.StatusOK })
	return b
}

// keyPair makes a certificate for localhost, in files.
func keyPair(t *testing.T, dir string) (cert, key string, pool *x509.CertPool) {
	t.Helper()
	private, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	tmpl := &x509.Certificate{
		SerialNumber: big.NewInt(1), Subject: pkix.Name{CommonName: "localhost"}, NotBefore: time.Now().Add(-time.Hour), NotAfter: time.Now().Add(time.Hour), DNSNames: []string{"localhost"},
		IsCA: true, BasicConstraintsValid: true, KeyUsage: x509.KeyUsageCertSign | x509.KeyUsageDigitalSignature,
	}
	der, err := x509.CreateCertificate(rand.Reader, tmpl, tmpl, &private.PublicKey, private)
	if err != nil {
		t.Fatal(err)
	}
	secret, err := x509.MarshalPKCS8PrivateKey(private)
	if err != nil {
		t.Fatal(err)
	}
	write := func(name, kind string, der []byte) string {
		file := filepath.Join(dir, name)
		if err := os.WriteFile(file, pem.EncodeToMemory(&pem.Block{Type: kind, Bytes: der}), 0o600); err != nil {
			t.Fatal(err)
		}
		return file
	}
	made, err := x509.ParseCertificate(der)
	if err != nil {
		t.Fatal(err)
	}
	pool = x509.NewCertPool()
	pool.AddCert(made)
	return write("cert.pem", "CERTIFICATE", der), write("key.pem", "PRIVATE KEY", secret), pool
}

// one sends a good request, now and then on a connection of its own.
func (b *besieged) one(ctx context.Context, alone bool) int {
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, b.url+"/item?id=1", http.NoBody)
	if err != nil {
		return 0
	}
	req.Close = alone
	res, err := b.http.Do(req)
	if err != nil {
		return 0
	}
	defer res.Body.Close()
	_, _ = io.Copy(io.Discard, res.Body)
	return res.StatusCode
}

// welcome is how many connections good callers have at most.
const welcome = 32

// welcome keeps good callers busy until what it returns is called.
func (b *besieged) welcome() (end func()) {
	ctx, cancel := context.WithCancel(context.Background())
	var wg sync.WaitGroup
	for i := range 4 {
		wg.Go(func() {
			beat := time.NewTicker(10 * time.Millisecond)
			defer beat.Stop()
			for n := 0; ctx.Err() == nil; n++ {
				began := time.Now()
				b.good.note(b.one(context.Background(), n%8 == i))
				took := time.Since(began)
				b.mu.Lock()
				b.late = max(b.late, took)
				b.mu.Unlock()
				select {
				case <-beat.C:
				case <-ctx.Done():
				}
			}
		})
	}
	return sync.OnceFunc(func() { cancel(); wg.Wait() })
}

// judge says whether good callers were served.
func (b *besieged) judge() {
	b.t.Helper()
	sent, ok := b.good.sent.Load(), b.good.ok.Load()
	b.t.Logf("%d good requests, %d served, the slowest in %v", sent, ok, b.late)
	if sent < 20 || float64(ok) < 0.999*float64(sent) {
		b.t.Errorf("of %d good requests %d were served", sent, ok)
	}
}

// dial opens a connection that takes little at a time; over TLS it offers proto.
func (b *besieged) dial(proto string) (net.Conn, error) {
	nc, err := net.Dial("tcp", b.addr)
	if err != nil {
		return nil, err
	}
	_ = nc.(*net.TCPConn).SetReadBuffer(16 << 10)
	_ = nc.SetDeadline(time.Now().Add(3 * siege))
	if b.tls == nil || proto == "" {
		return nc, nil
	}
	cfg := b.tls.Clone()
	cfg.NextProtos = []string{proto}
	c := tls.Client(nc, cfg)
	if err := c.Handshake(); err != nil {
		nc.Close()
		return nil, err
	}
	return c, nil
}

// status reads a number of the process, such as VmRSS, in bytes.
func (b *besieged) status(name string) int64 {
	b.t.Helper()
	text, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", b.cmd.Process.Pid))
	if err != nil {
		b.t.Fatal(err)
	}
	for line := range strings.SplitSeq(string(text), "\n") {
		if rest, ok := strings.CutPrefix(line, name+":"); ok {
			n, err := strconv.ParseInt(strings.Fields(rest)[0], 10, 64)
			if err != nil {
				b.t.Fatal(err)
			}
			return n << 10
		}
	}
	b.t.Fatalf("the process has no %s", name)
	return 0
}

// callers counts the connections to the process that it has not closed.
func (b *besieged) callers() (n int) {
	b.t.Helper()
	_, port, err := net.SplitHostPort(b.addr)
	if err != nil {
		b.t.Fatal(err)
	}
	number, err := strconv.Atoi(port)
	if err != nil {
		b.t.Fatal(err)
	}
	text, err := os.ReadFile(fmt.Sprintf("/proc/%d/net/tcp", b.cmd.Process.Pid))
	if err != nil {
		b.t.Fatal(err)
	}
	const local, state, inode, listens = 1, 3, 9, "0A"
	for line := range strings.SplitSeq(string(text), "\n") {
		f := strings.Fields(line)
		if len(f) > inode && strings.HasSuffix(f[local], fmt.Sprintf(":%04X", number)) && f[state] != listens && f[inode] != "0" {
			n++
		}
	}
	return n
}

// Ten thousand callers who do nothing harm nobody, and cost what is written
// down in package gateway.
func TestTenThousandIdleConnections(t *testing.T) {
	pace.Spare(t, "TestHostileClients")
	t.Parallel()
	b := besiege(t, false)
	n := 10_000
	var lim syscall.Rlimit
	if err := syscall.Getrlimit(syscall.RLIMIT_NOFILE, &lim); err != nil {
		t.Fatal(err)
	}
	if most := int(lim.Cur) / 2; n > most {
		n = most
		t.Logf("%d file descriptors: %d connections must do", lim.Cur, n)
	}
	end := b.welcome()
	before := b.status("VmRSS")
	idle := make([]net.Conn, n)
	defer func() {
		for _, c := range idle {
			if c != nil {
				c.Close()
			}
		}
	}()
	began := time.Now()
	for i := range idle {
		if time.Since(began) > siege { // the first of the bodies may not stand still for 30 s
			n, idle = i, idle[:i]
			t.Logf("%d connections in %v must do", n, siege)
			break
		}
		c, err := b.dial("")
		if err != nil {
			t.Fatal(err)
		}
		idle[i] = c
		if i%2 == 0 {
			continue // says nothing at all
		}
		if _, err := io.WriteString(c, "GET /item HTTP/1.1\r\nHost: h\r\nContent-Length: 2000\r\n\r\n"+strings.Repeat("a", 1990)); err != nil {
			t.Fatal(err)
		}
		if i%1000 != 1 {
			continue
		}
		if _, err := io.WriteString(c, strings.Repeat("a", 10)); err != nil {
			t.Fatal(err)
		}
		if res, err := http.ReadResponse(bufio.NewReader(c), nil); err != nil || res.StatusCode != http.StatusOK {
			t.Fatalf("connection %d: %v, %v", i, res, err)
		}
	}
	b.until("all connections are there", func() bool { return b.callers() >= n })
	each := float64(b.status("VmRSS")-before) / float64(n) / 1024
	t.Logf("%d connections, half of them with a body that does not end: %.1f KiB each", n, each)
	if each > 96 { // half of it is the race detector's
		t.Errorf("a connection takes %.1f KiB", each)
	}
	served := b.good.ok.Load()
	b.until("good callers are served meanwhile", func() bool { return b.good.ok.Load() > served+50 })
	for _, c := range idle {
		c.Close()
	}
	b.until("the connections are gone", func() bool { return b.callers() <= welcome })
	end()
	b.judge()
}
