package named

import (
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/bezoar-dev/bezoar/internal/control/config"
	"github.com/bezoar-dev/bezoar/internal/control/regular"
	"github.com/bezoar-dev/bezoar/internal/gateway/certs"
	"github.com/bezoar-dev/bezoar/internal/queue/schema"
)

// Bounds of files, in bytes.
const (
	maxSecret = 4 << 10
	maxPEM    = 1 << 20
	maxSchema = 64 << 10
)

// Faults returns a fault for each file or folder of cfg that cannot be used, with the setting that names it. Files of was
// that are read at the start only, and stay as they are, are not checked: was runs already. was may be nil.
func Faults(cfg, was *config.Config) []config.Fault {
	c := checker{}
	if was == nil {
		was = &config.Config{}
	}
	c.listener(cfg, was)
	for _, id := range slices.Sorted(maps.Keys(cfg.AccessKeys)) {
		if file := cfg.AccessKeys[id].SecretFile; file != was.AccessKeys[id].SecretFile {
			c.secret("access_keys."+id+".secret_file", file)
		}
	}
	for _, name := range slices.Sorted(maps.Keys(cfg.Fleets)) {
		f, at := cfg.Fleets[name], "fleets."+name
		if len(f.Command) > 0 {
			c.folder(at+".dir", f.Dir)
		}
		if t := f.TLS; t != nil {
			c.authorities(at+".tls", t)
			c.pair(at+".tls", t.Cert, t.Key)
		}
	}
	for _, name := range slices.Sorted(maps.Keys(cfg.Queues)) {
		c.schema("queues."+name+".schema", cfg.Queues[name].Schema)
	}
	if cfg.AccessLog != nil {
		c.written("access_log.file", cfg.AccessLog.File)
	}
	for i, r := range cfg.Routes {
		if r.Guard != nil && r.Guard.Record != nil {
			c.written(fmt.Sprintf("routes[%d].guard.record.file", i), r.Guard.Record.File)
		}
	}
	return c.found
}

type checker struct{ found []config.Fault }

func (c *checker) add(path, fix, format string, args ...any) {
	c.found = append(c.found, config.Fault{Path: path, Problem: fmt.Sprintf(format, args...), Fix: fix})
}

// listener checks what belongs to Bezoar's own addresses.
func (c *checker) listener(cfg, was *config.Config) {
	if cfg.AdminTokenFile != was.AdminTokenFile {
		c.secret("admin_token_file", cfg.AdminTokenFile)
	}
	if t := cfg.TLS; t != nil {
		c.pair("tls", t.Cert, t.Key)
		for i, m := range t.More {
			c.pair(fmt.Sprintf("tls.more[%d]", i), m.Cert, m.Key)
		}
	}
	if t := cfg.SQSTLS; t != nil && (was.SQSTLS == nil || *t != *was.SQSTLS) {
		c.pair("sqs_tls", t.Cert, t.Key)
	}
	if f := cfg.Flows; f != nil && (was.Flows == nil || f.Dir != was.Flows.Dir) {
		c.folder("flows.dir", f.Dir)
	}
}

// read reads a file. ok is false if that has failed, or if no file is named.
func (c *checker) read(path, file string, most int64) (text []byte, ok bool) {
	if file == "" {
		return nil, false
	}
	text, err := regular.Read(file, most)
	if err != nil {
		c.unusable(path, file, err)
		return nil, false
	}
	return text, true
}

// unusable adds the fault of a file or folder that the system does not give.
func (c *checker) unusable(path, file string, err error) {
	switch {
	case errors.Is(err, fs.ErrNotExist):
		c.add(path, "put it there, or correct the path, which begins where Bezoar is started", "%s does not exist", file)
	case errors.Is(err, fs.ErrPermission):
		c.add(path, "let the user that Bezoar runs as read it", "%s may not be read by this user", file)
	default:
		c.add(path, "name a file that Bezoar can read", "%v", err)
	}
}

func (c *checker) secret(path, file string) {
	text, ok := c.read(path, file, maxSecret)
	if line, _, _ := strings.Cut(string(text), "\n"); ok && strings.TrimSpace(line) == "" {
		c.add(path, "write the secret into its first line", "the first line of %s is empty", file)
	}
}

func (c *checker) pair(path, cert, key string) {
	_, certOK := c.read(path+".cert", cert, maxPEM)
	_, keyOK := c.read(path+".key", key, maxPEM)
	if !certOK || !keyOK {
		return
	}
	if _, err := certs.Load([]certs.Pair{{Cert: cert, Key: key}}); err != nil {
		c.add(path, "name a PEM file with the certificate and its chain, and one with its key", "%v", err)
	}
}

func (c *checker) authorities(path string, t *config.WorkerTLS) {
	if _, ok := c.read(path+".ca", t.CA, maxPEM); !ok {
		return
	}
	if _, err := certs.NewClient(certs.ClientConfig{CA: t.CA}); err != nil {
		c.add(path+".ca", "name a PEM file with the certificates of the authorities", "%v", err)
	}
}

func (c *checker) schema(path, file string) {
	text, ok := c.read(path, file, maxSchema)
	if !ok {
		return
	}
	if _, err := schema.Compile(string(text)); err != nil { // err quotes the file
		c.add(path, "name a file with a JSON Schema", "%s is not a usable JSON Schema", file)
	}
}

// folder checks a folder that must exist.
func (c *checker) folder(path, dir string) {
	if dir == "" {
		return
	}
	switch info, err := os.Stat(dir); {
	case err != nil:
		c.unusable(path, dir, err)
	case !info.IsDir():
		c.add(path, "name a folder", "%s is not a folder", dir)
	}
}

// written checks a file that Bezoar makes, or writes to.
func (c *checker) written(path, file string) {
	if file == "" {
		return
	}
	if info, err := os.Stat(file); err == nil && info.IsDir() {
		c.add(path, "name a file in it", "%s is a folder", file)
		return
	}
	c.folder(path, filepath.Dir(file))
}
