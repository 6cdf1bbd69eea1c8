package supervise

import (
	"slices"
	"strconv"
	"strings"
)

// The variables that every worker gets.
const (
	EnvPort   = "PORT"          // where to listen, on the loopback address
	EnvWorker = "BEZOAR_WORKER" // its name, for logs
	envLife   = "BEZOAR_LIFE"   // a mark by which what it leaves behind is found
)

// portHole is replaced by the port in arguments.
const portHole = "{port}"

// environ is what a worker inherits. A child does not get what is Bezoar's own:
// its settings and secrets (BEZOAR_*), and the service manager's socket, by
// which a child could report itself as the service.
func environ(c Config, worker, life string, port int) []string {
	env := make([]string, 0, len(c.Environ)+len(c.Env)+3)
	for _, e := range c.Environ {
		key, _, _ := strings.Cut(e, "=")
		if !private(key) && !slices.Contains(c.Secrets, key) {
			env = append(env, e)
		}
	}
	env = append(env, c.Env...)
	return append(env, EnvPort+"="+strconv.Itoa(port), EnvWorker+"="+worker, envLife+"="+life)
}

func private(key string) bool {
	switch key {
	case "NOTIFY_SOCKET", "WATCHDOG_USEC", "WATCHDOG_PID", "LISTEN_FDS", "LISTEN_PID", "LISTEN_FDNAMES",
		EnvPort: // ours, not theirs
		return true
	}
	return strings.HasPrefix(key, "BEZOAR_")
}

// arguments replaces {port}.
func arguments(command []string, port int) []string {
	args := slices.Clone(command)
	for i := range args[1:] {
		args[1+i] = strings.ReplaceAll(args[1+i], portHole, strconv.Itoa(port))
	}
	return args
}
