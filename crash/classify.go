package crash

import (
	"strings"

	"github.com/bezoar-dev/bezoar"
)

// classify says what kind of failure c is: what the language knows of it, else
// what its code says, else what its words say, else a bug.
func classify(c *choice) bezoar.Class {
	var class bezoar.Class
	if c.class != "" && class.UnmarshalText([]byte(c.class)) == nil {
		return class
	}
	if class, ok := byCode(c.code); ok {
		return class
	}
	if class, ok := byWords(c.typ, c.message); ok {
		return class
	}
	if signalled(c.message) != "" {
		return bezoar.Crash
	}
	return bezoar.Bug
}

// byCode classes error codes, SQLSTATEs and HTTP statuses.
func byCode(code string) (bezoar.Class, bool) {
	code, _, _ = strings.Cut(code, ":")
	switch strings.ToUpper(code) {
	case "ECONNREFUSED", "ECONNRESET", "ENOTFOUND", "EAI_AGAIN", "EHOSTUNREACH", "ENETUNREACH", "EPIPE", "ENETDOWN",
		"EHOSTDOWN", "ECONNABORTED", "UND_ERR_SOCKET", "UND_ERR_CONNECT_TIMEOUT":
		return bezoar.Outage, true
	case "ETIMEDOUT", "ESOCKETTIMEDOUT", "EAGAIN", "ENOSPC", "EDQUOT", "EBUSY", "EMFILE", "ENFILE", "ETIMEOUT":
		return bezoar.Transient, true
	case "ENOMEM", "ERR_WORKER_OUT_OF_MEMORY":
		return bezoar.OOM, true
	}
	if len(code) == 5 {
		return bySQLState(code)
	}
	if len(code) == 3 && countDigits(code) == 3 {
		return byStatus(code)
	}
	return bezoar.Done, false
}

// bySQLState knows the SQLSTATEs that pass by themselves.
func bySQLState(s string) (bezoar.Class, bool) {
	switch {
	case s == "53300" || s == "53400":
		return bezoar.Throttled, true
	case s == "53200":
		return bezoar.OOM, true
	case s[:2] == "08" || s[:3] == "57P":
		return bezoar.Outage, true
	case s[:2] == "40", s[:2] == "53", s == "55P03":
		return bezoar.Transient, true
	}
	return bezoar.Done, false
}

// byStatus knows the HTTP statuses that pass by themselves.
func byStatus(s string) (bezoar.Class, bool) {
	switch {
	case s == "429":
		return bezoar.Throttled, true
	case s == "502", s == "503", s == "504":
		return bezoar.Outage, true
	case s == "408", s == "425", s[0] == '5':
		return bezoar.Transient, true
	}
	return bezoar.Done, false
}

// phrase is words that tell a class wherever they stand, in lower case.
type phrase struct {
	words string
	class bezoar.Class
}

var phrases = []phrase{
	{"connection refused", bezoar.Outage},
	{"econnrefused", bezoar.Outage},
	{"connection reset", bezoar.Outage},
	{"econnreset", bezoar.Outage},
	{"no such host", bezoar.Outage},
	{"enotfound", bezoar.Outage},
	{"eai_again", bezoar.Outage},
	{"name or service not known", bezoar.Outage},
	{"temporary failure in name resolution", bezoar.Outage},
	{"nodename nor servname", bezoar.Outage},
	{"could not resolve host", bezoar.Outage},
	{"getaddrinfo failed", bezoar.Outage},
	{"network is unreachable", bezoar.Outage},
	{"no route to host", bezoar.Outage},
	{"server closed the connection", bezoar.Outage},
	{"connection aborted", bezoar.Outage},
	{"service unavailable", bezoar.Outage},
	{"bad gateway", bezoar.Outage},
	{"gateway timeout", bezoar.Outage},
	{"the database system is", bezoar.Outage},
	{"can't connect to", bezoar.Outage},
	{"couldn't connect to", bezoar.Outage},
	{"could not connect to", bezoar.Outage},
	{"connection not available", bezoar.Outage},
	{"too many requests", bezoar.Throttled},
	{"rate limit exceeded", bezoar.Throttled},
	{"too many connections", bezoar.Throttled},
	{"too many clients already", bezoar.Throttled},
	{"throttlingexception", bezoar.Throttled},
	{"task timed out after", bezoar.Timeout}, // Lambda's
	{"tls handshake timeout", bezoar.Transient},
	{"connection timed out", bezoar.Transient},
	{"etimedout", bezoar.Transient},
	{"read timed out", bezoar.Transient},
	{"i/o timeout", bezoar.Transient},
	{"deadlock detected", bezoar.Transient},
	{"no space left on device", bezoar.Transient},
	{"resource temporarily unavailable", bezoar.Transient},
	{"could not serialize access", bezoar.Transient},
	{"lock timeout", bezoar.Transient},
	{"java heap space", bezoar.OOM},
	{"gc overhead limit", bezoar.OOM},
	{"out of memory", bezoar.OOM},
	{"cannot allocate memory", bezoar.OOM},
	{"memoryerror", bezoar.OOM},
	{"outofmemory", bezoar.OOM},
	{"oomkilled", bezoar.OOM},
	{"std::bad_alloc", bezoar.OOM},
	{"segmentation fault", bezoar.Crash},
	{"overflowed its stack", bezoar.Crash},
	{"illegal instruction", bezoar.Crash},
	{"bus error", bezoar.Crash},
	{"zend_mm_heap corrupted", bezoar.Crash},
	{"oom-kill", bezoar.OOM},
	{"oom killer", bezoar.OOM},
}

// byWords classes a failure by its type and the beginning of its message.
func byWords(typ, message string) (bezoar.Class, bool) {
	s := strings.ToLower(typ + ": " + message[:min(len(message), 512)])
	for _, p := range phrases {
		if at := strings.Index(s, p.words); at >= 0 && (at == 0 || !isWord(s[at-1]) || p.class == bezoar.OOM) {
			return p.class, true
		}
	}
	return bezoar.Done, false
}
