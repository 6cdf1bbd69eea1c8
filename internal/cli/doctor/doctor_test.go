package doctor

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/x509"
	"encoding/pem"
	"fmt"
	"io"
	"math/big"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/bezoar-dev/bezoar/internal/control/adminapi"
	"github.com/bezoar-dev/bezoar/internal/control/config"
	"github.com/bezoar-dev/bezoar/internal/process/procstat"
	"github.com/bezoar-dev/bezoar/internal/state/lastrun"
	"github.com/bezoar-dev/bezoar/internal/state/secret"
	"github.com/bezoar-dev/bezoar/internal/store"
)

// place is a deployment in which all is well until a case changes that.
type place struct {
	*testing.T
	dir string
	Config
}

func newPlace(t *testing.T) *place {
	dir := t.TempDir()
	p := &place{T: t, dir: dir}
	p.check(os.Mkdir(p.path("state"), 0o700))
	_, err := secret.Load(p.path("state/secret"))
	p.check(err)
	s, err := config.Parse("bezoar.yaml", fmt.Appendf(nil, `
admin: %s
sqs: off
store: sqlite:%s
state_dir: %s
fleets: {app: {command: [./server], replicas: 2, memory: 100MiB, max_in_flight: 10}}
listen: %s
routes: [{match: {path: /*}, fleet: app}]
`, p.free(), p.path("store.db"), p.path("state"), p.free()))
	p.check(err)
	p.Settings, p.File, p.Version = s, p.path("bezoar.yaml"), "v1.2.3"
	p.Machine = Machine{
		Files:       func(int) (int64, error) { return 1000, nil },
		GroupMemory: func(int) (int64, bool, error) { return 0, false, nil },
		Memory:      func() (int64, error) { return 1 << 40, nil },
		Disk: func(string) (procstat.Space, error) {
			return procstat.Space{Total: 1 << 40, Free: 1 << 39, Available: 1 << 39, Inodes: 1000_000, FreeInodes: 900_000}, nil
		},
		FileSystem: func(string) string { return "" },
		Pidfd:      func() error { return nil },
		Groups:     func(int) error { return nil },
	}
	return p
}

func (p *place) check(err error) {
	p.Helper()
	if err != nil {
		p.Fatal(err)
	}
}

func (p *place) path(name string) string { return filepath.Join(p.dir, name) }

// free is an address that nobody has, below the ports that others are given.
func (p *place) free() string {
	ln := p.listen()
	defer ln.Close()
	return ln.Addr().String()
}

func (p *place) listen() net.Listener {
	ln, err := new(net.ListenConfig).Listen(p.Context(), "tcp", "127.0.0.1:0")
	p.check(err)
	return ln
}

// open makes the store and has it open until the test ends.
func (p *place) open() {
	s, err := store.Open(p.Context(), p.Settings.Store, store.Config{})
	p.check(err)
	p.Cleanup(func() { p.check(s.Close()) })
}

// start has the state folder as a Bezoar has that runs.
func (p *place) start() *lastrun.Run {
	r, _ := lastrun.Open(lastrun.Config{Dir: p.Settings.StateDir, NoCrashOutput: true})
	return r
}

func (p *place) chmod(mode os.FileMode, name string) { p.check(os.Chmod(p.path(name), mode)) }

func (p *place) write(name, text string) string {
	p.check(os.WriteFile(p.path(name), []byte(text), 0o600))
	return p.path(name)
}

// certificate makes one that is valid between two times from now.
func (p *place) certificate(from, to time.Duration) (cert, key string) {
	private, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	p.check(err)
	now := time.Now()
	about := &x509.Certificate{SerialNumber: big.NewInt(1), NotBefore: now.Add(from), NotAfter: now.Add(to), DNSNames: []string{"a.test"}}
	der, err := x509.CreateCertificate(rand.Reader, about, about, &private.PublicKey, private)
	p.check(err)
	pkcs, err := x509.MarshalPKCS8PrivateKey(private)
	p.check(err)
	cert = p.write("cert.pem", string(pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: der})))
	key = p.write("key.pem", string(pem.EncodeToMemory(&pem.Block{Type: "PRIVATE KEY", Bytes: pkcs})))
	p.Settings.TLS = &config.TLS{Cert: cert, Key: key}
	return cert, key
}

// answers has the admin API answer calls by their paths.
func (p *place) answers(by map[string]string) {
	srv := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		text, ok := by[r.URL.Path]
		if !ok {
			adminapi.NewProblem(404, adminapi.CodeNotFound, "there is no such thing").Write(w)
			return
		}
		w.Header().Set("Content-Type", "application/json")
		if strings.HasPrefix(text, "<") {
			w.Header().Set("Content-Type", "text/html")
		}
		_, _ = io.WriteString(w, text)
	}))
	p.Cleanup(srv.Close)
	p.Settings.Admin = srv.Listener.Addr().String()
	p.client()
	p.Machine.Listener = func(int) (int, string) { return os.Getpid(), "bezoar" }
	run := p.start()
	p.Cleanup(func() { p.check(run.Close()) })
}

func (p *place) client() {
	c, err := adminapi.New(adminapi.Config{Address: p.Settings.Admin})
	p.check(err)
	p.Cleanup(c.Close)
	p.Admin = c
}

const healthy = `{"state":"ok","checks":[{"name":"store","state":"ok"}]}`

func TestAllIsWell(t *testing.T) {
	p := newPlace(t)
	p.certificate(-time.Hour, 100*24*time.Hour)
	p.client()
	for _, f := range p.run() {
		if f.Level != OK {
			t.Errorf("%+v", f)
		}
	}
}

func (p *place) run() []Finding {
	found, err := Run(p.Context(), p.Config)
	p.check(err)
	return found
}

// Each case breaks one thing, and the finding that names it is wanted.
func TestWhatIsWrong(t *testing.T) {
	for _, tt := range cases() {
		t.Run(tt.name, func(t *testing.T) {
			p := newPlace(t)
			tt.spoil(p)
			for _, f := range p.run() {
				if f.Level == tt.level && f.Check == tt.check && strings.Contains(f.Text, tt.text) && f.Fix != "" {
					return
				}
			}
			t.Errorf("no %s of %s says %q: %+v", tt.level, tt.check, tt.text, p.run())
		})
	}
}

// Without a file, a Bezoar that bezoar run started is not blamed for the ports of the
// defaults. Before the first start there is no secret.
func TestWithoutAFile(t *testing.T) {
	says := func(p *place, check, text string) {
		t.Helper()
		found := p.run()
		if !slices.ContainsFunc(found, func(f Finding) bool { return f.Level == OK && f.Check == check && strings.Contains(f.Text, text) }) {
			t.Errorf("no ok of %s says %q: %+v", check, text, found)
		}
	}
	p := newPlace(t)
	p.File = ""
	run := p.start()
	says(p, "ports", "was started with other settings than the defaults")
	p.check(run.Close())
	p.Settings.StateDir = p.path("nothing")
	says(p, "secrets", "there are none yet")
}

func TestWhatIsWrongWithAStore(t *testing.T) {
	for name, tt := range stored() {
		e := &examination{store: tt.found}
		e.Machine = Machine{}.orThis()
		e.run.Running, e.run.PID = tt.runs, os.Getpid()
		e.owner()
		e.schema()
		e.pooler()
		said := func(f Finding) bool { return f.Level == tt.level && strings.Contains(f.Text, tt.text) && f.Fix != "" }
		if !slices.ContainsFunc(e.found, said) {
			t.Errorf("%s: no %s says %q: %+v", name, tt.level, tt.text, e.found)
		}
	}
}

// The store's time is somewhere between the question and the answer.
func TestClocks(t *testing.T) {
	before := time.Now()
	after := before.Add(2 * time.Second)
	for apart, want := range map[time.Duration]Level{0: OK, 2 * time.Second: OK, -900 * time.Millisecond: OK, -3 * time.Second: Warning, 4 * time.Second: Warning, -time.Minute: Fault, time.Hour: Fault} {
		e := &examination{store: store.Inspection{Clock: before.Add(apart)}}
		e.clock(before, after)
		if len(e.found) != 1 || e.found[0].Level != want {
			t.Errorf("%v: %+v, want %s", apart, e.found, want)
		}
	}
}

// What this machine is asked of gives answers here.
func TestThisMachine(t *testing.T) {
	m := Machine{}.orThis()
	if n, err := m.Files(0); err != nil || n < 1 {
		t.Errorf("files: %d, %v", n, err)
	}
	if n, err := m.Memory(); err != nil || n < 1<<20 {
		t.Errorf("memory: %d, %v", n, err)
	}
	if _, _, err := m.GroupMemory(os.Getpid()); err != nil {
		t.Error(err)
	}
	if err := m.Pidfd(); err != nil {
		t.Error(err)
	}
	if !m.Alive(os.Getpid()) || m.Alive(1<<30) {
		t.Error("who is alive is not known")
	}
}
