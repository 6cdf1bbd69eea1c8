package supervise

import (
	"slices"
	"strconv"
	"strings"

	"github.com/bezoar-dev/bezoar/internal/process/proc"
)

// The variables that every worker gets.
const (
	EnvPort   = "PORT"          // where to listen, on the loopback address
	EnvWorker = "BEZOAR_WORKER" // its name, for logs
	envLife   = proc.EnvLife    // a mark for finding the processes that it leaves
)

// portHole in an argument is replaced by the port.
const portHole = "{port}"

func environ(c Config, user *proc.User, worker, life string, port int) []string {
	own := []string{EnvPort + "=" + strconv.Itoa(port), EnvWorker + "=" + worker, envLife + "=" + life}
	inherited := proc.Override(c.Inherit.Of(c.Environ), user.Env()...)
	return proc.Override(inherited, append(slices.Clone(c.Env), own...)...)
}

// arguments replaces {port}.
func arguments(command []string, port int) []string {
	args := slices.Clone(command)
	for i := range args[1:] {
		args[1+i] = strings.ReplaceAll(args[1+i], portHole, strconv.Itoa(port))
	}
	return args
}
