package proc

import (
	"slices"
	"strings"
)

// Inherit selects the variables that a child inherits. Keep takes precedence over Drop, and Drop over Only. Variables in
// Secrets, and Bezoar's own, are dropped. A * at the end of a name in Only, Keep or Drop matches any suffix.
type Inherit struct {
	Secrets []string // variables that the settings name as secrets
	Only    []string // only these and the [Basics]; empty means all
	Drop    []string
	Keep    []string
}

// Of returns the variables of environ that a child inherits. It drops Bezoar's own variables (BEZOAR_*: settings and
// secrets; the credentials of its store and telemetry) and those of Secrets and Drop. It always drops the variables for
// talking to the service manager: a child could use them to report itself as the service. The result has room for a few
// more entries.
func (h Inherit) Of(environ []string) []string {
	env := make([]string, 0, len(environ)+8)
	for _, e := range environ {
		key, _, _ := strings.Cut(e, "=")
		if !ofService(key) && (named(h.Keep, key) || h.passes(key)) {
			env = append(env, e)
		}
	}
	return env
}

// passes reports whether a child inherits a variable that Keep does not name.
func (h Inherit) passes(key string) bool {
	return !own(key) && !slices.Contains(h.Secrets, key) && !named(h.Drop, key) &&
		(len(h.Only) == 0 || named(h.Only, key) || named(Basics(), key))
}

// named reports whether a list contains a name, or a prefix of it that ends with *.
func named(list []string, key string) bool {
	return slices.ContainsFunc(list, func(name string) bool {
		begin, any := strings.CutSuffix(name, "*")
		return any && strings.HasPrefix(key, begin) || name == key
	})
}

func ofService(key string) bool {
	switch key {
	case "NOTIFY_SOCKET", "WATCHDOG_USEC", "WATCHDOG_PID", "LISTEN_FDS", "LISTEN_PID", "LISTEN_FDNAMES":
		return true
	}
	return false
}

// own reports whether a variable is for Bezoar only. AWS's variables are not: servers use them too.
func own(key string) bool {
	switch key {
	case "PGPASSWORD", "PGPASSFILE", "PGSERVICEFILE", "PGSSLKEY", "PGSSLPASSWORD": // as the store's driver reads them
		return true
	}
	return strings.HasPrefix(key, "BEZOAR_") || strings.HasPrefix(key, "OTEL_EXPORTER_OTLP_") && strings.HasSuffix(key, "HEADERS")
}

// Basics returns the variables that programs need everywhere. They remain when only some are inherited.
func Basics() []string {
	return []string{"PATH", "HOME", "USER", "LOGNAME", "SHELL", "PWD", "TMPDIR", "TZ", "LANG", "LC_*", "TERM"}
}

// Override returns base with the variables of over replacing those of the same name: with both, programs would disagree
// about which one applies. If over has a name twice, the last one applies. base is not changed.
func Override(base []string, over ...string) []string {
	env := make([]string, 0, len(base)+len(over))
	for _, e := range base {
		if !defines(over, e) {
			env = append(env, e)
		}
	}
	for i, e := range over {
		if !defines(over[i+1:], e) {
			env = append(env, e)
		}
	}
	return env
}

// defines reports whether list has a variable of e's name.
func defines(list []string, e string) bool {
	end := strings.IndexByte(e, '=') + 1
	for _, o := range list {
		// The first two conditions exclude almost all entries, and are cheap.
		if len(o) >= end && (end == 0 || o[end-1] == '=') && o[:end] == e[:end] {
			return true
		}
	}
	return false
}
