package crash

import "strings"

// signalled returns the signal by which a process ended of which a server, a
// supervisor or a queue tells, "" where none did or one that asks to stop.
//
//	child 7 exited on signal 11 (SIGSEGV) after 7.1 seconds from start
//	Worker (pid:52) was sent SIGKILL! Perhaps out of memory?
//	Main process exited, code=dumped, status=11/SEGV
//	terminated by signal 6: Aborted
func signalled(l string) string {
	if l == "Killed" { // a shell's word for a program of its own
		return "SIGKILL"
	}
	if !strings.Contains(l, "ig") && !strings.Contains(l, "IG") && !strings.Contains(l, "status=") { // signal, SIGKILL
		return ""
	}
	if _, said, ok := strings.Cut(l, "signal: "); ok { // Go's words for a command's end
		said, _, _ = strings.Cut(said, "\n")
		if name := ending(strings.TrimRight(said, " .,;)\"")); name != "" {
			return name
		}
	}
	for _, w := range [...]string{
		"on signal ", "by signal ", "by signal: ", "to signal ", "with signal ", "exit signal ", "from signal ", "prematurely: signal ", "was sent SIG", " by SIG", "code=killed, status=", "code=dumped, status=",
	} {
		_, said, ok := strings.Cut(l, w)
		if !ok {
			continue
		}
		said = strings.TrimPrefix(said, "SIG")
		n := 0
		for n < len(said) && (isWord(said[n]) || said[n] == ' ' && strings.ToLower(said[:1]) != said[:1]) {
			n++
		}
		if name := ending(strings.TrimSpace(said[:n])); name != "" {
			return name
		}
	}
	return ""
}

// ending names the signal in s, unless it is one that asks to stop.
func ending(s string) string {
	switch name := signalName(s); name {
	case "SIGTERM", "SIGINT", "SIGHUP", "SIGQUIT", "SIGUSR1", "SIGUSR2", "SIGPIPE", "SIGALRM":
		return ""
	default:
		return name
	}
}
