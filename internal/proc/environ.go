package proc

import (
	"slices"
	"strings"
)

// Inherited is what a child gets of an environment: not what is Bezoar's own
// (BEZOAR_*: its settings and secrets), not what speaks to the service manager,
// by which a child could report itself as the service, and none of secrets. The
// result has room for a few more.
func Inherited(environ, secrets []string) []string {
	env := make([]string, 0, len(environ)+8)
	for _, e := range environ {
		key, _, _ := strings.Cut(e, "=")
		if !private(key) && !slices.Contains(secrets, key) {
			env = append(env, e)
		}
	}
	return env
}

func private(key string) bool {
	switch key {
	case "NOTIFY_SOCKET", "WATCHDOG_USEC", "WATCHDOG_PID", "LISTEN_FDS", "LISTEN_PID", "LISTEN_FDNAMES":
		return true
	}
	return strings.HasPrefix(key, "BEZOAR_")
}

// Basics are variables that programs need wherever they run: those that stay when
// only some are inherited.
func Basics() []string {
	return []string{"PATH", "HOME", "USER", "LOGNAME", "SHELL", "PWD", "TMPDIR", "TZ", "LANG", "LC_*", "TERM"}
}

// Select is what of an environment has names in only, if that has any, beside the
// [Basics], and none in drop. A name may end in *, which stands for anything.
func Select(environ, only, drop []string) []string {
	env := make([]string, 0, len(environ))
	for _, e := range environ {
		key, _, _ := strings.Cut(e, "=")
		if (len(only) == 0 || names(only, key) || names(Basics(), key)) && !names(drop, key) {
			env = append(env, e)
		}
	}
	return env
}

func names(patterns []string, key string) bool {
	return slices.ContainsFunc(patterns, func(p string) bool {
		prefix, open := strings.CutSuffix(p, "*")
		return p == key || open && strings.HasPrefix(key, prefix)
	})
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
		if strings.HasPrefix(o, e[:end]) {
			return true
		}
	}
	return false
}
