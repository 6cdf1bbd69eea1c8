package redact

import (
	"maps"
	"slices"
	"strings"
	"sync/atomic"
)

// place is the position in a name at which a word makes it the name of a secret.
type place uint8

const (
	nowhere  place = iota
	whole          // the word is the whole name
	end            // at the end, or the whole name
	behind         // at the end of a longer name
	anywhere       // anywhere in the name
)

// word marks names that contain it as names of secrets.
type word struct {
	text string // in lower case, with _ for -
	sent place  // in what callers send
	set  place  // in settings and texts
}

// words is the table. In settings, words match more narrowly.
var words = [...]word{
	{"auth", anywhere, anywhere},
	{"bearer", anywhere, anywhere},
	{"cookie", anywhere, anywhere},
	{"credential", anywhere, anywhere},
	{"passw", anywhere, anywhere},
	{"passphrase", anywhere, anywhere},
	{"secret", anywhere, anywhere},
	{"jwt", anywhere, end},
	{"token", anywhere, end},
	{"key", anywhere, behind},
	{"pwd", anywhere, behind},
	{"sessid", anywhere, end},
	{"session", anywhere, nowhere},
	{"session_id", nowhere, end},
	{"signature", anywhere, nowhere},
	{"csrf", anywhere, nowhere},
	{"xsrf", anywhere, nowhere},
	{"pass", whole, end},
	{"pw", whole, whole},
	{"otp", whole, whole},
	{"code", whole, nowhere},
	{"pin", whole, nowhere},
	{"sid", whole, nowhere},
	{"sig", whole, nowhere},
	{"dsn", end, end},
	{"database_url", end, end},
}

// plain returns a name in lower case, with _ for -.
func plain(name string) string { return strings.ReplaceAll(strings.ToLower(name), "-", "_") }

// public reports whether a plain name only looks like the name of a secret. An idempotency key is needed to run a request
// again.
func public(name string) bool {
	return slices.Contains([]string{"oldpwd", "sort_key", "idempotency_key", "sec_websocket_key"}, name)
}

// Setting reports whether a setting, a variable, an option or a field of a text is a
// secret, judging by its name. Names of places of secrets, and names of exceptions, are
// not.
func Setting(name string) bool {
	name = plain(name)
	for _, no := range [...]string{"_env", "_file", "error", "exception"} {
		if strings.HasSuffix(name, no) {
			return false
		}
	}
	for _, w := range words {
		if w.set != nowhere && w.in(name, w.set) {
			return !public(name)
		}
	}
	return false
}

// Limits of the cache of judged names, and of their length, because callers choose the
// names.
const (
	maxSeen = 256
	maxName = 64
)

// Names judges the names of what callers send. Create it with [NewNames].
type Names struct {
	more []string
	seen *atomic.Pointer[map[string]bool] // by name; replaced, never changed
}

// NewNames returns a Names that also matches names that contain one of more.
func NewNames(more []string) Names {
	n := Names{seen: new(atomic.Pointer[map[string]bool])}
	n.seen.Store(&map[string]bool{})
	for _, m := range more {
		if m != "" {
			n.more = append(n.more, plain(m))
		}
	}
	return n
}

// Secret reports whether the value of a header, parameter or attribute is hidden. It is
// called for every field of every request.
func (n Names) Secret(name string) bool {
	seen := n.seen.Load()
	is, ok := (*seen)[name]
	if ok {
		return is
	}
	is = n.judge(name)
	if len(*seen) < maxSeen && len(name) <= maxName {
		more := maps.Clone(*seen)
		more[strings.Clone(name)] = is
		n.seen.CompareAndSwap(seen, &more) // on failure, the next call adds it
	}
	return is
}

func (n Names) judge(name string) bool {
	name = plain(name)
	if public(name) {
		return false
	}
	for _, w := range words {
		if w.sent != nowhere && w.in(name, w.sent) {
			return true
		}
	}
	return slices.ContainsFunc(n.more, func(m string) bool { return strings.Contains(name, m) })
}

func (w word) in(name string, at place) bool {
	switch at {
	case whole:
		return name == w.text
	case behind:
		return len(name) > len(w.text) && strings.HasSuffix(name, w.text)
	case end:
		return strings.HasSuffix(name, w.text)
	case anywhere:
		return strings.Contains(name, w.text)
	case nowhere:
	}
	return false
}
