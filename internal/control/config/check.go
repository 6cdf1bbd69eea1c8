package config

import (
	"fmt"
	"maps"
	"net"
	"reflect"
	"slices"
	"strings"
)

// finding is a fault of the settings as a whole. It is not reported if its field, or one
// that it depends on, already has a fault.
type finding struct {
	Fault
	deps []string
}

// checker collects findings.
type checker struct{ found []finding }

func (k *checker) add(path string, f *flaw, deps ...string) {
	if f != nil && len(k.found) < maxGathered {
		k.found = append(k.found, finding{Fault{Path: path, Problem: f.problem, Fix: f.fix}, deps})
	}
}

func (k *checker) addf(path, fix, format string, args ...any) {
	k.add(path, flawf(fix, format, args...))
}

// when adds a finding if bad is true.
func (k *checker) when(bad bool, path, fix, format string, args ...any) {
	k.add(path, flawIf(bad, fix, format, args...))
}

// Validate returns a [*Faults] with all faults, or nil.
func (c Config) Validate() error {
	found := c.check()
	list := make([]Fault, len(found))
	for i, f := range found {
		list[i] = f.Fault
	}
	return faultsError(list)
}

// Normalize fills in values that depend on other settings, and normalizes spellings, as
// Parse does. It shares c's maps and lists.
func (c Config) Normalize() Config {
	c.fill()
	return c
}

func (c *Config) check() []finding {
	k := new(checker)
	k.ranges(reflect.ValueOf(c).Elem(), "")
	c.checkListeners(k)
	k.add("store", storeFlaw(c.Store))
	for _, name := range sortedKeys(c.Fleets) {
		f := c.Fleets[name]
		f.check(k, "fleets."+name)
	}
	c.checkRoutes(k)
	c.checkQueues(k)
	c.checkPlans(k)
	c.checkUpkeep(k)
	c.checkFlows(k)
	c.checkOutboxes(k)
	c.checkCallers(k)
	return k.found
}

// ranges checks every field with a range. A zero that is also the default means that the
// field is not set.
func (k *checker) ranges(v reflect.Value, path string) {
	switch v.Kind() {
	case reflect.Pointer:
		if !v.IsNil() {
			k.ranges(v.Elem(), path)
		}
	case reflect.Slice:
		for i := range v.Len() {
			k.ranges(v.Index(i), fmt.Sprintf("%s[%d]", path, i))
		}
	case reflect.Map:
		for _, key := range sortedKeys(stringKeys(v)) {
			k.ranges(v.MapIndex(reflect.ValueOf(key)), join(path, key))
		}
	case reflect.Struct:
		for _, f := range fieldsOf(v.Type()) {
			fv, at := v.Field(f.index), join(path, f.key)
			if f.bounds == "" {
				k.ranges(fv, at)
			} else if !fv.IsZero() || !zeroIsUnset(f.key) {
				k.add(at, outOfRange(fv, f.bounds))
			}
		}
	default:
	}
}

// zeroIsUnset reports whether a zero of the field means that it is not set.
func zeroIsUnset(key string) bool {
	switch key {
	case "replicas", "memory", "stale", "growth", "threads", "latency", "pressure", "per_caller", "max_body", "buffer_answer", "buffer_body":
		return true
	}
	return false
}

// maxCerts is the maximum number of certificates of a listener.
const maxCerts = 256

func (c *Config) checkListeners(k *checker) {
	if c.Listen != "" || len(c.Routes) > 0 || len(c.Fleets) > 0 {
		k.add("listen", addressFlaw(c.Listen))
	}
	c.checkMore(k)
	c.checkAdmin(k)
	if t := c.TLS; t != nil && (t.Cert == "" || t.Key == "") {
		k.addf("tls", "set both cert and key", "needs both cert and key")
	}
	if c.TLS == nil {
		return
	}
	if c.TLS.Redirect != "" {
		k.add("tls.redirect", addressFlaw(c.TLS.Redirect))
	}
	if n := len(c.TLS.More); n > maxCerts {
		k.addf("tls.more", "shorten it", "has %d items, more than %d", n, maxCerts)
	}
	for i, t := range c.TLS.More {
		k.when(t.Cert == "" || t.Key == "", fmt.Sprintf("tls.more[%d]", i), "set both cert and key", "needs both cert and key")
	}
}

// maxListeners is the maximum number of listeners in addition to listen.
const maxListeners = 16

func (c *Config) checkMore(k *checker) {
	if n := len(c.Listeners); n > maxListeners {
		k.addf("listeners", "shorten it", "has %d items, more than %d", n, maxListeners)
	}
	seen := map[string]string{c.Listen: "listen", c.Admin: "admin"}
	if c.TLS != nil {
		seen[c.TLS.Redirect] = "tls.redirect"
	}
	for i, l := range c.Listeners {
		at := fmt.Sprintf("listeners[%d]", i)
		k.add(at+".listen", addressFlaw(l.Listen))
		if other := seen[l.Listen]; other != "" && !strings.HasSuffix(l.Listen, ":0") {
			k.add(at+".listen", flawf("give it a port of its own", "%s is also used by %s", quoted(l.Listen), other), other)
		}
		seen[l.Listen] = at + ".listen"
		k.when(l.Plain && c.TLS == nil, at+".plain", "remove it", "has no effect: there is no tls")
	}
}

func (c *Config) checkAdmin(k *checker) {
	if c.Admin == "" {
		return
	}
	k.add("admin", addressFlaw(c.Admin))
	k.add("admin", flawIf(c.Listen == c.Admin && !strings.HasSuffix(c.Admin, ":0"), "give it a port of its own", "%s is also used by listen", quoted(c.Admin)), "listen")
	token := c.AdminTokenFile != "" || c.AdminTokenEnv != ""
	if addressFlaw(c.Admin) == nil && !isLoopback(c.Admin) && !token {
		k.add("admin", flawf("set admin_token_file or admin_token_env, or keep it on 127.0.0.1",
			"%s is open to the network without a token", quoted(c.Admin)), "admin_token_file", "admin_token_env")
	}
	k.when(c.AdminTokenFile != "" && c.AdminTokenEnv != "", "admin_token_env", "keep one", "admin_token_file is set as well")
	k.when(c.AdminTokenEnv != "" && !envName.MatchString(c.AdminTokenEnv), "admin_token_env", "write the variable's name, not the token", "is not the name of an environment variable")
}

func (f *Fleet) check(k *checker, at string) {
	switch command, workers := len(f.Command) > 0, len(f.Workers) > 0; {
	case command && workers:
		k.add(at, flawf("keep command to start workers here, or workers to use those that run elsewhere", "has both command and workers"))
	case !command && !workers:
		k.add(at, flawf("add command: [./server] or workers: [http://host:port]", "has neither command nor workers"), at+".command", at+".workers")
	case workers:
		f.checkRemote(k, at)
	default:
		f.checkCommand(k, at)
	}
	f.checkProtection(k, at)
	if p := f.Health.Path; p != "" && (p[0] != '/' || strings.ContainsAny(p, " #") || hasControl(p)) {
		k.addf(at+".health.path", "write a path such as /healthz", "%s is not a path", quoted(p))
	}
	switch g := f.Health.GRPC; {
	case g == "":
	case f.Health.Path != "":
		k.add(at+".health.grpc", flawf("keep one", "path is set as well"), at+".health.path")
	case !f.HTTP2:
		k.add(at+".health.grpc", flawf("add http2: true to the fleet", "needs HTTP/2 to the workers"), at+".http2")
	case g != "*" && !grpcService.MatchString(g):
		k.addf(at+".health.grpc", "write a service such as shop.v1.Orders, or *", "%s is not a service", quoted(g))
	}
}

func (f *Fleet) checkCommand(k *checker, at string) {
	if strings.TrimSpace(f.Command[0]) == "" {
		k.addf(at+".command[0]", "name the program to start", "is empty")
	} else if len(f.Command) == 1 && strings.Contains(f.Command[0], " ") {
		k.addf(at+".command[0]", "write each argument as an item of its own: ["+asItems(f.Command[0])+"]",
			"%s has spaces, and no shell splits it", quoted(f.Command[0]))
	}
	if _, ok := f.Env["PORT"]; ok {
		k.addf(at+".env.PORT", "remove it", "is set by Bezoar for every worker")
	}
	for _, of := range []struct {
		key   string
		names []string
	}{{"env_drop", f.EnvDrop}, {"env_keep", f.EnvKeep}} {
		for i, name := range of.names {
			k.when(!envPattern.MatchString(name), fmt.Sprintf("%s.%s[%d]", at, of.key, i), "write a name, or a prefix followed by *, such as AWS_*", "%s is not a name of environment variables", quoted(name))
		}
	}
	for _, of := range []struct {
		key string
		set bool
	}{{"tls", f.TLS != nil}, {"balance.weights", len(f.Balance.Weights) > 0}} {
		k.when(of.set, at+"."+of.key, "remove it", "applies to workers that run elsewhere, and Bezoar starts these")
	}
}

func (f *Fleet) checkRemote(k *checker, at string) {
	for _, of := range []struct {
		key string
		set bool
	}{
		{"replicas", f.Replicas != 0},
		{"dir", f.Dir != ""},
		{"env", len(f.Env) > 0},
		{"env_drop", len(f.EnvDrop) > 0},
		{"env_keep", len(f.EnvKeep) > 0},
		{"user", f.User != ""},
		{"memory", f.Memory != 0},
	} {
		k.when(of.set, at+"."+of.key, "remove it", "applies to workers that Bezoar starts, and these run elsewhere")
	}
	f.checkTLS(k, at)
	f.checkWeights(k, at+".balance.weights")
	k.when(len(f.Workers) > 1024, at+".workers", "split the fleet", "has %d workers, more than 1024", len(f.Workers))
	seen := make(map[string]int, len(f.Workers))
	for i, w := range f.Workers {
		path := fmt.Sprintf("%s.workers[%d]", at, i)
		k.add(path, workerFlaw(w))
		if base := basePath(w); i > 0 && base != f.BasePath() {
			k.add(path, flawf("give all workers of a fleet one path, or make two fleets", "has the path %s, and workers[0] has %s",
				quoted(base), quoted(f.BasePath())), at+".workers[0]")
		}
		j, again := seen[w]
		if !again {
			seen[w] = i
		} else {
			k.addf(path, "remove it", "%s is already listed, as workers[%d]", quoted(w), j)
		}
	}
}

// maxWeight is the maximum weight of a worker.
const maxWeight = 1000

func (f *Fleet) checkWeights(k *checker, at string) {
	for _, w := range sortedKeys(f.Balance.Weights) {
		n := f.Balance.Weights[w]
		k.when(!slices.Contains(f.Workers, w), join(at, shortKey(w)), "write it as in workers", "is not a worker of the fleet")
		k.when(n < 0 || n > maxWeight, join(at, shortKey(w)), "write 0 to 1000", "%d is out of range", n)
	}
	none := len(f.Workers) > 0 && !slices.ContainsFunc(f.Workers, func(w string) bool {
		n, ok := f.Balance.Weights[w]
		return !ok || n > 0
	})
	k.when(none, at, "leave one worker above 0", "no worker gets work: all have the weight 0")
}

func (f *Fleet) checkTLS(k *checker, at string) {
	t := f.TLS
	switch {
	case t == nil:
	case !slices.ContainsFunc(f.Workers, func(w string) bool { return strings.HasPrefix(w, "https://") }):
		k.add(at+".tls", flawf("write https:// for workers that use TLS, or remove it", "has no effect: no worker of the fleet has https"), at+".workers")
	case (t.Cert == "") != (t.Key == ""):
		k.addf(at+".tls", "set both cert and key, or neither", "needs both cert and key")
	case t.Name != "" && !isHostname(t.Name) && net.ParseIP(t.Name) == nil:
		k.addf(at+".tls.name", "write a name such as app.internal", "%s is not a name for a certificate", quoted(t.Name))
	}
}

func sortedKeys[V any](m map[string]V) []string { return slices.Sorted(maps.Keys(m)) }
