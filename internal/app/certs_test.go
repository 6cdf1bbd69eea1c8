package app_test

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// TestARenewedCertificateIsServed: curl trusts what the file holds now, before and
// after a renewal under the same path.
func TestARenewedCertificateIsServed(t *testing.T) {
	t.Parallel()
	if _, err := exec.LookPath("curl"); err != nil {
		t.Skip("needs curl")
	}
	worker := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { fmt.Fprint(w, "fine") }))
	t.Cleanup(worker.Close)
	dir := t.TempDir()
	cert, key, _ := keyPair(t, dir)
	b := serve(t, head("memory:", dir)+fmt.Sprintf(`listen: 127.0.0.1:0
tls: {cert: %q, key: %q}
fleets: {app: {workers: [%q]}}
routes: [{match: {path: /*}, fleet: app}]
`, cert, key, worker.URL))
	port := b.url[strings.LastIndexByte(b.url, ':')+1:]
	var said string
	defer func() {
		if t.Failed() {
			t.Log(said)
		}
	}()
	fine := func() bool {
		out, err := exec.Command("curl", "-sS", "--max-time", "20", "--cacert", filepath.Join(dir, "cert.pem"),
			"--resolve", "localhost:"+port+":127.0.0.1", "https://localhost:"+port+"/").CombinedOutput()
		said = string(out)
		return err == nil && said == "fine"
	}
	b.until("curl accepts the certificate", fine)
	keyPair(t, dir) // in place of the one before
	b.until("curl accepts the renewed one", fine)
}
