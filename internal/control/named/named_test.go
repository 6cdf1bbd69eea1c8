package named_test

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/x509"
	"encoding/pem"
	"fmt"
	"math/big"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/bezoar-dev/bezoar/internal/control/config"
	"github.com/bezoar-dev/bezoar/internal/control/named"
)

// place has files of each kind.
type place struct{ dir string }

func (p place) at(name string) string { return filepath.Join(p.dir, name) }

func newPlace(t *testing.T) place {
	t.Helper()
	p := place{t.TempDir()}
	p.put(t, "secret", "hunter2\nmore\n")
	p.put(t, "empty", "\n")
	p.put(t, "garbage", "hunter2 is no certificate")
	p.put(t, "schema", `{"type": "object"}`)
	for _, name := range []string{"a", "b"} {
		key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
		if err != nil {
			t.Fatal(err)
		}
		tmpl := &x509.Certificate{SerialNumber: big.NewInt(1), NotAfter: time.Now().Add(time.Hour), IsCA: true, BasicConstraintsValid: true}
		der, err := x509.CreateCertificate(rand.Reader, tmpl, tmpl, &key.PublicKey, key)
		if err != nil {
			t.Fatal(err)
		}
		secret, err := x509.MarshalPKCS8PrivateKey(key)
		if err != nil {
			t.Fatal(err)
		}
		p.put(t, name+".pem", string(pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: der})))
		p.put(t, name+".key", string(pem.EncodeToMemory(&pem.Block{Type: "PRIVATE KEY", Bytes: secret})))
	}
	return p
}

func (p place) put(t *testing.T, name, text string) {
	t.Helper()
	if err := os.WriteFile(p.at(name), []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
}

const base = `admin: 127.0.0.1:0
routes: [{match: {path: /*}, fleet: app%s}]
fleets: {app: {%s}}
`

// settings are settings with one more part. FILE, PEM and KEY are to be replaced.
var settings = map[string]string{ //nolint:gochecknoglobals // a table
	"admin_token_file":            fmt.Sprintf(base, "", "command: [./x]") + "admin_token_file: FILE\n",
	"access_keys.AK.secret_file":  fmt.Sprintf(base, "", "command: [./x]") + "access_keys: {AK: {secret_file: FILE}}\n",
	"tls.cert":                    fmt.Sprintf(base, "", "command: [./x]") + "tls: {cert: FILE, key: KEY}\n",
	"tls.key":                     fmt.Sprintf(base, "", "command: [./x]") + "tls: {cert: PEM, key: FILE}\n",
	"tls.more[0].cert":            fmt.Sprintf(base, "", "command: [./x]") + "tls: {cert: PEM, key: KEY, more: [{cert: FILE, key: KEY}]}\n",
	"sqs_tls.cert":                fmt.Sprintf(base, "", "command: [./x]") + "sqs_tls: {cert: FILE, key: KEY}\n",
	"fleets.app.tls.ca":           fmt.Sprintf(base, "", "workers: ['https://127.0.0.1:1'], tls: {ca: FILE}"),
	"fleets.app.tls.key":          fmt.Sprintf(base, "", "workers: ['https://127.0.0.1:1'], tls: {cert: PEM, key: FILE}"),
	"fleets.app.dir":              fmt.Sprintf(base, "", "command: [./x], dir: FILE"),
	"queues.jobs.schema":          fmt.Sprintf(base, "", "command: [./x]") + "queues: {jobs: {schema: FILE}}\n",
	"access_log.file":             fmt.Sprintf(base, "", "command: [./x]") + "access_log: {format: json, file: FILE}\n",
	"flows.dir":                   fmt.Sprintf(base, "", "command: [./x]") + "flows: {dir: FILE}\n",
	"routes[0].guard.record.file": fmt.Sprintf(base, ", guard: {query: sql, record: {file: FILE}}", "command: [./x]"),
}

// Every setting that names a file or a folder is checked, and only it is at fault.
func TestWhatSettingsName(t *testing.T) {
	p := newPlace(t)
	const gone, folder, ok = "does not exist", "a folder", ""
	for path, cases := range map[string]map[string]string{
		"admin_token_file":            {"none": gone, "": folder, "empty": "first line", "secret": ok},
		"access_keys.AK.secret_file":  {"none": gone, "": folder, "empty": "first line", "secret": ok},
		"tls.cert":                    {"none": gone, "": folder, "a.pem": ok},
		"tls.key":                     {"none": gone, "": folder, "a.key": ok},
		"tls.more[0].cert":            {"none": gone, "": folder, "a.pem": ok},
		"sqs_tls.cert":                {"none": gone, "": folder, "a.pem": ok},
		"fleets.app.tls.ca":           {"none": gone, "": folder, "garbage": "garbage", "b.pem": ok},
		"fleets.app.tls.key":          {"none": gone, "": folder, "a.key": ok},
		"fleets.app.dir":              {"none": gone, "secret": "is not a folder", "": ok},
		"queues.jobs.schema":          {"none": gone, "": folder, "garbage": "not a usable JSON Schema", "schema": ok},
		"access_log.file":             {"none/log": gone, "": folder, "secret/log": "is not a folder", "log": ok},
		"flows.dir":                   {"none": gone, "secret": "is not a folder", "": ok},
		"routes[0].guard.record.file": {"none/log": gone, "": folder, "log": ok},
	} {
		for file, want := range cases {
			c, text := p.config(t, path, file)
			found := named.Faults(c, nil)
			config.Place("test.yaml", []byte(text), found)
			if want == ok {
				if len(found) > 0 {
					t.Errorf("%s: %q is at fault: %v", path, file, found)
				}
				continue
			}
			if len(found) != 1 || found[0].Path != path || !strings.Contains(found[0].Problem, want) || !strings.Contains(found[0].Problem, p.at(file)) && !strings.Contains(found[0].Problem, filepath.Dir(p.at(file))) {
				t.Errorf("%s: %q: %v, want %q", path, file, found, want)
				continue
			}
			if f := found[0]; f.File != "test.yaml" || f.Line == 0 || f.Column == 0 || f.Fix == "" || strings.Contains(f.Error(), "hunter2") {
				t.Errorf("%s: %+v", path, f)
			}
		}
	}
}

func (p place) config(t *testing.T, path, file string) (*config.Config, string) {
	t.Helper()
	text := strings.NewReplacer("FILE", p.at(file), "PEM", p.at("a.pem"), "KEY", p.at("a.key")).Replace(settings[path])
	c, err := config.Parse("test.yaml", []byte(text))
	if err != nil {
		t.Fatal(err)
	}
	return &c, text
}

// A certificate and a key that do not belong together are at fault together.
func TestAPairThatDoesNotFit(t *testing.T) {
	p := newPlace(t)
	for path, file := range map[string]string{"tls.cert": "b.pem", "tls.key": "garbage", "fleets.app.tls.key": "b.key", "sqs_tls.cert": "garbage"} {
		c, _ := p.config(t, path, file)
		found := named.Faults(c, nil)
		if len(found) != 1 || found[0].Path != path[:strings.LastIndex(path, ".")] || !strings.Contains(found[0].Problem, p.at(file)) || strings.Contains(found[0].Problem, "hunter2") {
			t.Errorf("%s: %v", path, found)
		}
	}
}

// Files that were read at the start do not hold up other changes.
func TestWhatRunsIsNotAtFault(t *testing.T) {
	p := newPlace(t)
	for path := range settings {
		c, _ := p.config(t, path, "none/file")
		want := 1
		switch path {
		case "admin_token_file", "access_keys.AK.secret_file", "sqs_tls.cert", "flows.dir":
			want = 0
		}
		if found := named.Faults(c, c); len(found) != want {
			t.Errorf("%s: %v, want %d", path, found, want)
		}
	}
}

// A file that may not be read is said to be so.
func TestAFileThatMayNotBeRead(t *testing.T) {
	if os.Getuid() == 0 {
		t.Skip("root may read everything")
	}
	p := newPlace(t)
	if err := os.Chmod(p.at("a.key"), 0); err != nil {
		t.Fatal(err)
	}
	c, _ := p.config(t, "tls.cert", "a.pem")
	if found := named.Faults(c, nil); len(found) != 1 || found[0].Path != "tls.key" || !strings.Contains(found[0].Problem, "may not be read") {
		t.Errorf("%v", found)
	}
}
