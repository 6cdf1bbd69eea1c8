package pgtest

import (
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"os/user"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"
)

// Server is a server with data of its own. Its user bezoar needs no password.
type Server struct {
	bin, dir string // of the binaries; of the data and the log
	Port     int
	Env      []string   // of the server, from its next start on, beside this process's
	owner    *user.User // nil: this process's user
}

// Start makes a server with these lines of settings, and starts it. The test is
// skipped if it was not told to use servers, and fails if there are no binaries. The
// caller stops it.
func Start(t testing.TB, settings ...string) *Server {
	t.Helper()
	return prepare(t).init(t, settings...)
}

// StartIn is Start with its data in a folder of this one, such as a disk of its own.
func StartIn(t testing.TB, folder string, settings ...string) *Server {
	t.Helper()
	return prepareIn(t, folder).init(t, settings...)
}

// StartOf is Start with the binaries of a folder: initdb, pg_ctl and postgres.
func StartOf(t testing.TB, bin string, settings ...string) *Server {
	t.Helper()
	s := prepare(t)
	s.bin = bin
	return s.init(t, settings...)
}

func (s *Server) init(t testing.TB, settings ...string) *Server {
	t.Helper()
	s.must(t, "initdb", "-D", s.data(), "-U", "bezoar", "-A", "trust", "-E", "UTF8", "--locale=C", "--no-sync", "--no-instructions")
	s.configure(t, append([]string{
		"wal_level = logical", "max_connections = 100", "shared_buffers = 32MB", "listen_addresses = '127.0.0.1'",
		"unix_socket_directories = '" + s.dir + "'", "timezone = 'UTC'", "max_replication_slots = 30", "max_wal_senders = 30",
		"wal_keep_size = 0", "hot_standby = on",
	}, settings...)...)
	s.Boot(t)
	return s
}

// Standby makes a streaming standby of s and starts it.
func (s *Server) Standby(t testing.TB, settings ...string) *Server {
	t.Helper()
	b := prepare(t)
	b.must(t, "pg_basebackup", "-d", s.URL("postgres"), "-D", b.data(), "-R", "-X", "stream", "-c", "fast", "--no-sync")
	b.configure(t, append(settings, "unix_socket_directories = '"+b.dir+"'")...)
	b.Boot(t)
	return b
}

// StandbyByCopy makes a streaming standby of s without pg_basebackup, by a copy of its
// data between two calls: begin has to run pg_backup_start, and end pg_backup_stop,
// whose backup label it returns. s keeps the WAL in a slot that the caller has made.
func (s *Server) StandbyByCopy(t testing.TB, begin func(), end func() (label string), settings ...string) *Server {
	t.Helper()
	b := prepare(t)
	b.bin = s.bin
	begin()
	s.must(t, "/bin/cp", "-a", s.data(), b.data())
	label := end()
	s.must(t, "/bin/sh", "-c", `rm -rf "$1"/postmaster.pid "$1"/pg_replslot/* && printf %s "$2" >"$1"/backup_label && : >"$1"/standby.signal`, "sh", b.data(), label)
	b.configure(t, append(settings, "unix_socket_directories = '"+b.dir+"'")...)
	b.Boot(t)
	return b
}

// Restored makes a server from a base backup of s, as after a loss, and starts it.
func (s *Server) Restored(t testing.TB) *Server {
	t.Helper()
	b := prepare(t)
	b.must(t, "pg_basebackup", "-d", s.URL("postgres"), "-D", b.data(), "-X", "stream", "-c", "fast", "--no-sync")
	b.configure(t, "unix_socket_directories = '"+b.dir+"'")
	b.Boot(t)
	return b
}

// Copy dumps a database of s, and restores it as one of the same name in another server.
func (s *Server) Copy(t testing.TB, database string, into *Server) {
	t.Helper()
	file := filepath.Join(s.dir, database+".dump")
	s.must(t, "pg_dump", "-Fc", "-f", file, s.URL(database))
	into.must(t, "createdb", "--maintenance-db", into.URL("postgres"), database)
	into.must(t, "pg_restore", "--exit-on-error", "-d", into.URL(database), file)
}

func prepare(t testing.TB) *Server {
	t.Helper()
	return prepareIn(t, "")
}

func prepareIn(t testing.TB, folder string) *Server {
	t.Helper()
	if os.Getenv("BEZOAR_TEST_POSTGRES") == "" {
		t.Skip("no PostgreSQL: run make test, or export BEZOAR_TEST_POSTGRES=$(scripts/postgres start)")
	}
	s := &Server{bin: binaries(t)}
	dir, err := os.MkdirTemp(folder, "bezoar-pg-") //nolint:usetesting // it outlives the test if tests share the server
	if err != nil {
		t.Fatal(err)
	}
	s.dir = dir
	if os.Geteuid() == 0 { // PostgreSQL refuses to run as root
		if s.owner, err = user.Lookup("postgres"); err != nil {
			t.Fatal(err)
		}
		uid, gid := ids(t, s.owner)
		if err := os.Chown(dir, uid, gid); err != nil {
			t.Fatal(err)
		}
	}
	return s
}

func ids(t testing.TB, u *user.User) (uid, gid int) {
	t.Helper()
	uid, err := strconv.Atoi(u.Uid)
	if err == nil {
		gid, err = strconv.Atoi(u.Gid)
	}
	if err != nil {
		t.Fatal(err)
	}
	return uid, gid
}

// binaries is where initdb is: the newest Debian package, or the PATH.
func binaries(t testing.TB) string {
	t.Helper()
	found, err := filepath.Glob("/usr/lib/postgresql/*/bin/initdb")
	if err != nil {
		t.Fatal(err)
	}
	version := func(path string) int {
		n, _ := strconv.Atoi(strings.Split(path, "/")[4])
		return n
	}
	if len(found) > 0 {
		return filepath.Dir(slices.MaxFunc(found, func(a, b string) int { return version(a) - version(b) }))
	}
	path, err := exec.LookPath("initdb")
	if err != nil {
		t.Fatal("PostgreSQL is not installed: no initdb in /usr/lib/postgresql/*/bin or on the PATH")
	}
	return filepath.Dir(path)
}

func (s *Server) data() string { return filepath.Join(s.dir, "data") }

func (s *Server) configure(t testing.TB, lines ...string) {
	t.Helper()
	f, err := os.OpenFile(filepath.Join(s.data(), "postgresql.conf"), os.O_APPEND|os.O_WRONLY, 0)
	if err == nil {
		_, err = f.WriteString("\n" + strings.Join(lines, "\n") + "\n")
	}
	if err == nil {
		err = f.Close()
	}
	if err != nil {
		t.Fatal(err)
	}
}

// Boot starts the server, on a port that it keeps.
func (s *Server) Boot(t testing.TB) {
	t.Helper()
	var err error
	for range 8 { // a port may be taken
		port := s.Port
		if port == 0 {
			port = 15000 + rand.IntN(15000) // what systems do not hand out to clients
		}
		if err = s.ctl("-w", "-t", "60", "-l", filepath.Join(s.dir, "log"), "-o", fmt.Sprintf("-p %d", port), "start"); err == nil {
			s.Port = port
			return
		}
	}
	log, _ := os.ReadFile(filepath.Join(s.dir, "log"))
	t.Fatalf("PostgreSQL did not start: %v\n%s", err, log)
}

// Stop stops the server: fast, or, as kill -9 does, immediate.
func (s *Server) Stop(t testing.TB, mode string) {
	t.Helper()
	if err := s.ctl("-w", "-m", mode, "stop"); err != nil {
		t.Fatal(err)
	}
}

// Revive starts the server after it has ended itself, or could not recover.
func (s *Server) Revive(t testing.TB) {
	t.Helper()
	_ = s.ctl("-w", "-m", "immediate", "stop") // it may have ended
	s.Boot(t)
}

// Promote makes a standby a server of its own.
func (s *Server) Promote(t testing.TB) {
	t.Helper()
	if err := s.ctl("-w", "promote"); err != nil {
		t.Fatal(err)
	}
}

// PID is the server's first process.
func (s *Server) PID() int {
	text, _ := os.ReadFile(filepath.Join(s.data(), "postmaster.pid"))
	first, _, _ := strings.Cut(string(text), "\n")
	n, _ := strconv.Atoi(first)
	return n
}

// Remove stops the server if it runs, and removes its data.
func (s *Server) Remove() {
	_ = s.ctl("-w", "-m", "immediate", "stop") // it may have been stopped
	_ = os.RemoveAll(s.dir)
}

// URL names a database of the server.
func (s *Server) URL(database string) string {
	return fmt.Sprintf("postgres://bezoar@127.0.0.1:%d/%s?sslmode=disable", s.Port, database)
}

func (s *Server) ctl(args ...string) error {
	out, err := s.command("pg_ctl", append([]string{"-D", s.data(), "-s"}, args...)...).CombinedOutput()
	if err != nil {
		return fmt.Errorf("pg_ctl %s: %w: %s", args[len(args)-1], err, out)
	}
	return nil
}

func (s *Server) must(t testing.TB, name string, args ...string) {
	t.Helper()
	if out, err := s.command(name, args...).CombinedOutput(); err != nil {
		t.Fatalf("%s: %v: %s", name, err, out)
	}
}

func (s *Server) command(name string, args ...string) *exec.Cmd {
	if !filepath.IsAbs(name) {
		name = filepath.Join(s.bin, name)
	}
	c := exec.Command(name, args...)
	c.Dir, c.Env = s.dir, append(os.Environ(), s.Env...)
	if s.owner != nil {
		uid, _ := strconv.Atoi(s.owner.Uid)
		gid, _ := strconv.Atoi(s.owner.Gid)
		c.SysProcAttr = &syscall.SysProcAttr{Credential: &syscall.Credential{Uid: uint32(uid), Gid: uint32(gid)}}
	}
	return c
}
