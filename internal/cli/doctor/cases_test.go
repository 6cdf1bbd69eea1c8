package doctor

import (
	"errors"
	"fmt"
	"os"
	"time"

	"golang.org/x/sys/unix"

	"github.com/bezoar-dev/bezoar/internal/control/adminapi"
	"github.com/bezoar-dev/bezoar/internal/control/config"
	"github.com/bezoar-dev/bezoar/internal/process/cgroup"
	"github.com/bezoar-dev/bezoar/internal/process/procstat"
	"github.com/bezoar-dev/bezoar/internal/store"
)

// spoilt is a deployment with one thing wrong, and what is to be said of it.
type spoilt struct {
	name  string
	level Level
	check string
	text  string
	spoil func(p *place)
}

func cases() []spoilt {
	var all []spoilt
	for _, some := range [][]spoilt{ofSettings(), ofPorts(), ofMachine(), ofDisks(), ofStores(), ofSecrets(), ofCertificates(), ofRunning()} {
		all = append(all, some...)
	}
	return all
}

func ofSettings() []spoilt {
	return []spoilt{
		{"a store that forgets", Warning, "settings", "forgets verdicts", func(p *place) { p.Settings.Store, p.Settings.StateDir = config.MemoryStore, "" }},
		{"the token in the clear", Warning, "settings", "sends the admin token over a network", func(p *place) { p.Settings.Admin = "0.0.0.0:0" }},
		{"messages in the clear", Warning, "settings", "sends messages over a network", func(p *place) {
			p.Settings.SQS, p.Settings.AccessKeys = "0.0.0.0:0", map[string]config.AccessKey{"AKIA": {}}
		}},
		{"no admin", Warning, "settings", "there is no admin address", func(p *place) { p.Settings.Admin = "" }},
		{"no look at the disk", Warning, "settings", "health.disk is off", func(p *place) { p.Settings.Health.Disk = 0 }},
		{"no quarantine", Warning, "settings", "(/*): quarantine is off", func(p *place) { p.Settings.Routes[0].Quarantine.Off = true }},
		{"repeats all", Warning, "settings", "repeats POST", func(p *place) { p.Settings.Routes[0].Retry.Replay = config.ReplayAll }},
		{"a warning of the settings", Warning, "settings", "no route leads to it", func(p *place) { p.Settings.Routes = nil }},
	}
}

func ofPorts() []spoilt {
	taken := func(p *place) {
		ln := p.listen()
		p.Cleanup(func() { p.check(ln.Close()) })
		p.Settings.Listen = ln.Addr().String()
	}
	return []spoilt{
		{"a stranger's port", Fault, "ports", fmt.Sprintf("(pid %d)", os.Getpid()), taken},
		{"a hidden stranger's port", Fault, "ports", "of another user", func(p *place) {
			taken(p)
			p.Machine.Listener = func(int) (int, string) { return 0, "" }
		}},
		{"a stranger's port beside a Bezoar", Fault, "ports", "is taken by nginx (pid 1), and Bezoar has pid", func(p *place) {
			taken(p)
			run := p.start()
			p.Cleanup(func() { p.check(run.Close()) })
			p.Machine.Listener = func(int) (int, string) { return 1, "nginx" }
		}},
		{"a Bezoar that does not listen", Warning, "ports", "does not listen on", func(p *place) {
			run := p.start()
			p.Cleanup(func() { p.check(run.Close()) })
		}},
		{"another machine's address", Fault, "ports", "is not an address of this machine", func(p *place) { p.Settings.Listen = "192.0.2.1:8080" }},
	}
}

func ofMachine() []spoilt {
	boom := errors.New("boom")
	return []spoilt{
		{"few files", Warning, "files", "needs 104 (2 for each request, 20 requests of fleet app)", func(p *place) {
			p.Machine.Files = func(int) (int64, error) { return 103, nil }
		}},
		{"files of another user", Warning, "files", "cannot be read: boom", func(p *place) { p.Machine.Files = func(int) (int64, error) { return 0, boom } }},
		{"little memory", Warning, "memory", "the kernel kills one of them", func(p *place) {
			p.Machine.GroupMemory = func(int) (int64, bool, error) { return 200 << 20, true, nil }
		}},
		{"a small machine", Warning, "memory", "the machine has 200 MiB", func(p *place) { p.Machine.Memory = func() (int64, error) { return 200 << 20, nil } }},
		{"workers without a limit", Warning, "memory", "the workers of fleet app have no memory limit", func(p *place) {
			f := p.Settings.Fleets["app"]
			f.Memory = 0
			p.Settings.Fleets["app"] = f
			p.Machine.GroupMemory = func(int) (int64, bool, error) { return 8 << 30, true, nil }
		}},
		{"memory that cannot be read", Warning, "memory", "boom", func(p *place) {
			p.Machine.GroupMemory = func(int) (int64, bool, error) { return 0, false, boom }
		}},
		{"an old kernel", Warning, "kernel", "pidfd_open does not work", func(p *place) { p.Machine.Pidfd = func() error { return unix.ENOSYS } }},
		{"another system", Warning, "kernel", "has no pidfd", func(p *place) { p.Machine.Pidfd = func() error { return errSystem } }},
		{"no delegation", Warning, "kernel", "fleets.app.memory is set, and control groups", func(p *place) {
			p.Machine.Groups = func(int) error { return cgroup.ErrUnavailable }
		}},
	}
}

func ofDisks() []spoilt {
	space := func(s procstat.Space) func(p *place) {
		return func(p *place) { p.Machine.Disk = func(string) (procstat.Space, error) { return s, nil } }
	}
	on := func(kind string) func(p *place) {
		return func(p *place) { p.Machine.FileSystem = func(string) string { return kind } }
	}
	return []spoilt{
		{"a full disk", Fault, "disk", "10 MiB are left", space(procstat.Space{Total: 1 << 40, Free: 10 << 20, Available: 10 << 20})},
		{"a disk that fills up", Warning, "disk", "5% (51.2 GiB) are left", space(procstat.Space{Total: 1 << 40, Free: 1 << 40 / 20, Available: 1 << 40 / 20})},
		{"no inodes", Fault, "disk", "99 inodes are left", space(procstat.Space{Total: 1 << 40, Free: 1 << 39, Available: 1 << 39, Inodes: 1000, FreeInodes: 99})},
		{"few inodes", Warning, "disk", "400 of 10000 inodes", space(procstat.Space{Total: 1 << 40, Free: 1 << 39, Available: 1 << 39, Inodes: 10000, FreeInodes: 400})},
		{"a disk that has gone", Fault, "disk", "cannot be looked at", func(p *place) {
			p.Machine.Disk = func(string) (procstat.Space, error) { return procstat.Space{}, unix.EIO }
		}},
		{"a network share", Fault, "disk", "on a network share (nfs)", on("nfs")},
		{"a disk of memory", Warning, "disk", "is in memory", on("tmpfs")},
		{"a container's layer", Warning, "disk", "goes with the container", on("overlay")},
	}
}

func ofStores() []spoilt {
	dead := func(int) bool { return false }
	return []spoilt{
		{"no database", Fault, "store", "another program's database", func(p *place) { p.write("store.db", "") }},
		{"no file", Fault, "store", "not a database", func(p *place) {
			p.write("store.db", "this is no database at all, and long enough to be read as one"+fmt.Sprint(make([]int, 100)))
		}},
		{"no server", Fault, "store", "cannot be reached", func(p *place) { p.Settings.Store = "postgres://u@" + p.free() + "/d" }},
		{"a hidden owner", Warning, "store", "cannot be seen from here", func(p *place) { p.open(); p.Machine.Alive = dead }},
		{"another owner", Warning, "store", "which does not use", func(p *place) { p.open() }},
		{"a Bezoar without its store", Fault, "store", "its store is not there", func(p *place) {
			run := p.start()
			p.Cleanup(func() { p.check(run.Close()) })
		}},
		{"a hidden Bezoar", Warning, "state", "cannot be seen from here", func(p *place) {
			run := p.start()
			p.Cleanup(func() { p.check(run.Close()) })
			p.Machine.Alive = dead
		}},
		{"a dead Bezoar's record", Warning, "state", "did not stop in order", func(p *place) {
			run := p.start()
			record, err := os.ReadFile(p.path("state/crash.txt"))
			p.check(err)
			p.check(run.Close())
			p.write("state/crash.txt", string(record))
		}},
		{"an unreadable record", Warning, "state", "who uses", func(p *place) { p.check(os.Symlink("elsewhere", p.path("state/crash.txt"))) }},
	}
}

func ofSecrets() []spoilt {
	return []spoilt{
		{"an open state folder", Fault, "secrets", "all users may write", func(p *place) { p.chmod(0o777, "state") }},
		{"a visible state folder", Warning, "secrets", "others may look", func(p *place) { p.chmod(0o755, "state") }},
		{"an open secret", Fault, "secrets", "is open to others", func(p *place) { p.chmod(0o644, "state/secret") }},
		{"a lost secret", Fault, "secrets", "its verdicts match nothing", func(p *place) {
			p.open()
			p.check(os.Remove(p.path("state/secret")))
		}},
		{"an open store", Fault, "secrets", "the store, which holds requests", func(p *place) { p.open(); p.chmod(0o644, "store.db") }},
		{"an open token", Fault, "secrets", "admin_token_file", func(p *place) {
			p.Settings.AdminTokenFile = p.write("token", "hush")
			p.chmod(0o604, "token")
		}},
		{"no token", Fault, "secrets", "the first line of", func(p *place) { p.Settings.AdminTokenFile = p.write("token", "") }},
		{"no secret key", Fault, "secrets", "access_keys.AKIA.secret_file", func(p *place) {
			p.Settings.AccessKeys = map[string]config.AccessKey{"AKIA": {SecretFile: p.path("none")}}
		}},
		{"no variable", Warning, "secrets", "BEZOAR_NO_SUCH_VARIABLE", func(p *place) { p.Settings.AdminTokenEnv = "BEZOAR_NO_SUCH_VARIABLE" }},
		{"a password for everybody", Fault, "secrets", "the password of the store", func(p *place) {
			p.Settings.Store = "postgres://u:p@" + p.free() + "/d"
			p.write("bezoar.yaml", "store: …")
			p.chmod(0o644, "bezoar.yaml")
		}},
		{"an open key", Fault, "secrets", "tls.key", func(p *place) { p.certificate(0, 1000*time.Hour); p.chmod(0o644, "key.pem") }},
	}
}

func ofCertificates() []spoilt {
	return []spoilt{
		{"one that has ended", Fault, "certificates", "ended on", func(p *place) { p.certificate(-2*time.Hour, -time.Hour) }},
		{"one that has not begun", Fault, "certificates", "begins on", func(p *place) { p.certificate(time.Hour, 1000*time.Hour) }},
		{"one that ends soon", Warning, "certificates", "ends in 13 days", func(p *place) { p.certificate(0, 13*24*time.Hour+time.Hour) }},
		{"none", Fault, "certificates", "tls.cert", func(p *place) { p.certificate(0, 1000*time.Hour); p.check(os.Remove(p.path("cert.pem"))) }},
		{"no key", Fault, "certificates", "tls.key", func(p *place) { p.certificate(0, 1000*time.Hour); p.check(os.Remove(p.path("key.pem"))) }},
		{"no PEM", Fault, "certificates", "do not work together", func(p *place) { p.certificate(0, 1000*time.Hour); p.write("cert.pem", "x") }},
		{"authorities that have ended", Fault, "certificates", "fleets.app.tls.ca", func(p *place) {
			cert, _ := p.certificate(-2*time.Hour, -time.Hour)
			p.Settings.TLS = nil
			p.Settings.Fleets["app"] = config.Fleet{TLS: &config.WorkerTLS{CA: cert}}
		}},
		{"no authorities", Fault, "certificates", "has no certificate", func(p *place) {
			p.Settings.Fleets["app"] = config.Fleet{TLS: &config.WorkerTLS{CA: p.write("ca.pem", "none")}}
		}},
	}
}

func ofRunning() []spoilt {
	const version = "bezoar_build_info{version=\"v1.2.2\"} 1\n"
	return []spoilt{
		{"another version", Warning, "version", "Bezoar v1.2.2 runs, and this program is v1.2.3", func(p *place) {
			p.answers(map[string]string{adminapi.PathHealth: healthy, "/metrics": version})
		}},
		{"no version", Warning, "version", "does not report its version", func(p *place) {
			p.answers(map[string]string{adminapi.PathHealth: healthy, "/metrics": "other 1\n"})
		}},
		{"a failing check", Fault, "health", "store is failing: no answer", func(p *place) {
			p.answers(map[string]string{adminapi.PathHealth: `{"state":"failing","checks":[{"name":"store","state":"failing","detail":"no answer"}]}`})
		}},
		{"a degraded check", Warning, "health", "disk is degraded", func(p *place) {
			p.answers(map[string]string{adminapi.PathHealth: `{"state":"degraded","checks":[{"name":"disk","state":"degraded"}]}`})
		}},
		{"settings that do not run", Fault, "settings", "running version 2): no such fleet", func(p *place) {
			p.answers(map[string]string{adminapi.PathHealth: healthy, adminapi.PathSettings: `{"wanted":{"number":3},"running":{"number":2},"error":"no such fleet"}`})
		}},
		{"a store that does not answer", Fault, "store", "no answer from the store: refused", func(p *place) {
			p.answers(map[string]string{adminapi.PathHealth: healthy, adminapi.PathSettings: `{"store":{"error":"refused"}}`})
		}},
		{"another server", Fault, "health", "answers, but is not Bezoar", func(p *place) { p.answers(map[string]string{adminapi.PathHealth: "<h1>hello</h1>"}) }},
		{"no answer", Fault, "health", "no answer from the admin API", func(p *place) {
			p.client()
			run := p.start()
			p.Cleanup(func() { p.check(run.Close()) })
		}},
	}
}

// stored are what is said of stores that no test can make quickly.
func stored() map[string]struct {
	level Level
	text  string
	found store.Inspection
	runs  bool
} {
	return map[string]struct {
		level Level
		text  string
		found store.Inspection
		runs  bool
	}{
		"a newer schema":     {Fault, "this program knows versions up to 3", store.Inspection{Exists: true, Has: 4, Knows: 3}, false},
		"an older Bezoar":    {Warning, "an older Bezoar runs", store.Inspection{Exists: true, Has: 2, Knows: 3}, true},
		"an upgrade to come": {Warning, "the next start brings it to 3", store.Inspection{Exists: true, Has: 2, Knows: 3}, false},
		"a log":              {Warning, "77 bytes are in the log", store.Inspection{Exists: true, Has: 3, Knows: 3, Log: 77}, false},
		"two owners":         {Fault, "belongs to process 1, and the state folder to process", store.Inspection{Exists: true, Has: 3, Knows: 3, Held: true, Owner: 1}, true},
		"lost statements":    {Fault, "which it loses", store.Inspection{Exists: true, Pooler: store.PoolsTransactions, Prepares: true}, false},
		"a narrow pooler":    {Fault, "one connection at a time", store.Inspection{Exists: true, Pooler: store.OneConnection}, false},
	}
}
