package proc

import (
	"slices"
	"strings"
)

// Inherit says what a child gets of an environment. Of the names in it, Keep counts
// before Drop, and Drop before Only; Secrets and what is Bezoar's own are dropped. A *
// at the end of a name in Only, Keep or Drop stands for any end.
type Inherit struct {
	Secrets []string // variables that the settings name as secrets
	Only    []string // nothing but these and the [Basics]; none means all
	Drop    []string
	Keep    []string
}

// Of returns what a child gets of environ: not what is Bezoar's own (BEZOAR_*: its
// settings and secrets; the credentials of its store and of its telemetry), none
// of Secrets and Drop, and never what speaks to the service manager, by which a
// child could report itself as the service. The result has room for a few more.
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

// passes reports whether a child gets a variable that need not be kept.
func (h Inherit) passes(key string) bool {
	return !own(key) && !slices.Contains(h.Secrets, key) && !named(h.Drop, key) &&
		(len(h.Only) == 0 || named(h.Only, key) || named(Basics(), key))
}

// named reports whether a list has a name, or a beginning of it.
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

// own reports whether a variable is for Bezoar alone. AWS's are not: servers use
// them, too.
func own(key string) bool {
	switch key {
	case "PGPASSWORD", "PGPASSFILE", "PGSERVICEFILE", "PGSSLKEY", "PGSSLPASSWORD": // as the store's driver reads them
		return true
	}
	return strings.HasPrefix(key, "BEZOAR_") || strings.HasPrefix(key, "OTEL_EXPORTER_OTLP_") && strings.HasSuffix(key, "HEADERS")
}

// Basics are variables that programs need wherever they run: those that stay when
// only some are inherited.
func Basics() []string {
	return []string{"PATH", "HOME", "USER", "LOGNAME", "SHELL", "PWD", "TMPDIR", "TZ", "LANG", "LC_*", "TERM"}
}

// Override returns base with over's variables in the place of those of the same
// name: with both in it, programs would disagree about which counts. Of two in
// over the last counts. base is not changed.
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
		// The first two exclude almost all, and cost less.
		if len(o) >= end && (end == 0 || o[end-1] == '=') && o[:end] == e[:end] {
			return true
		}
	}
	return false
}
