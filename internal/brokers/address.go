package brokers

import (
	"errors"
	"fmt"
	"maps"
	"net"
	"net/netip"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"time"
)

// Environment variables with the credentials for URLs without them. Child processes do not
// inherit them, because their names begin with BEZOAR_.
const (
	UserVar     = "BEZOAR_BROKER_USER"
	PasswordVar = "BEZOAR_BROKER_PASSWORD"
)

// Address identifies a queue of a broker.
type Address struct {
	Scheme   string
	Hosts    []string // host:port of each host
	User     string
	Password string
	Name     string // of the topic, queue or stream
	params   url.Values
	err      error // the first fault of a parameter
	asked    map[string]bool
}

// Parse parses the URL of a queue. port is the default port. getenv looks up credentials
// that the URL omits; it may be nil.
func Parse(text, port string, getenv func(string) string) (Address, error) {
	scheme, rest, ok := strings.Cut(text, "://")
	if !ok {
		return Address{}, errors.New("it is not a URL")
	}
	a := Address{Scheme: scheme, asked: map[string]bool{}}
	end := strings.IndexAny(rest, "/?#")
	if end < 0 {
		end = len(rest)
	}
	authority := rest[:end]
	// net/url accepts only one host.
	u, err := url.Parse(scheme + "://host" + rest[end:])
	if err != nil {
		return Address{}, errors.New("its path or its parameters are malformed")
	}
	if a.params, err = url.ParseQuery(u.RawQuery); err != nil {
		return Address{}, errors.New("its parameters are malformed")
	}
	a.Name = strings.Trim(u.Path, "/")
	if err := a.authority(authority, port); err != nil {
		return Address{}, err
	}
	if a.User == "" && a.Password == "" && getenv != nil {
		a.User, a.Password = getenv(UserVar), getenv(PasswordVar)
	}
	return a, nil
}

// FromURL returns what fill makes of the URL of a queue, if it is valid. A parameter that fill does not ask for is a fault.
func FromURL[C interface{ Validate() error }](text, port string, getenv func(string) string, fill func(*Address) C) (c C, err error) {
	a, err := Parse(text, port, getenv)
	if err != nil {
		return c, err
	}
	c = fill(&a)
	if err := a.Rest(); err != nil {
		return c, err
	}
	return c, c.Validate()
}

// authority parses credentials and hosts.
func (a *Address) authority(text, port string) error {
	if at := strings.LastIndexByte(text, '@'); at >= 0 {
		user, password, _ := strings.Cut(text[:at], ":")
		var errs [2]error
		a.User, errs[0] = url.PathUnescape(user)
		a.Password, errs[1] = url.PathUnescape(password)
		if errs[0] != nil || errs[1] != nil { // these errors contain the text
			return errors.New("its user or password is malformed: write special characters as %XX")
		}
		text = text[at+1:]
	}
	for host := range strings.SplitSeq(text, ",") {
		if host == "" {
			return errors.New("a host is missing")
		}
		name, p, err := net.SplitHostPort(host)
		if err != nil {
			name, p = strings.Trim(host, "[]"), port
		}
		if n, err := strconv.ParseUint(p, 10, 16); err != nil || n == 0 || name == "" || strings.ContainsAny(name, " @/") {
			return fmt.Errorf("%.100q is not a HOST:PORT", host)
		}
		a.Hosts = append(a.Hosts, net.JoinHostPort(name, p))
	}
	return nil
}

// Param returns the value of a parameter, or "" if it is missing.
func (a *Address) Param(name string) string {
	a.asked[name] = true
	return a.params.Get(name)
}

// Fail records a fault, which [Address.Rest] returns unless there was one before.
func (a *Address) Fail(format string, args ...any) {
	if a.err == nil {
		a.err = fmt.Errorf(format, args...)
	}
}

// Flag returns the value of a boolean parameter, or otherwise if it is missing.
func (a *Address) Flag(name string, otherwise bool) bool {
	switch v := a.Param(name); v {
	case "":
	case "true", "false":
		return v == "true"
	default:
		a.Fail("%s=%.100s is not true or false", name, v)
	}
	return otherwise
}

// Number returns the value of a parameter from least to most, or 0 if it is missing. what says in the
// error what it is a number of.
func (a *Address) Number(name string, least, most int64, what string) int64 {
	text := a.Param(name)
	if text == "" {
		return 0
	}
	n, err := strconv.ParseInt(text, 10, 64)
	if err != nil || n < least || n > most {
		a.Fail("%s=%.100s is not a %s", name, text, what)
	}
	return n
}

// Duration returns the value of a duration parameter, or 0 if it is missing. such is an
// example for the error.
func (a *Address) Duration(name, such string) time.Duration {
	text := a.Param(name)
	if text == "" {
		return 0
	}
	d, err := time.ParseDuration(text)
	if err != nil {
		a.Fail("%s=%.100s is not a duration such as %s", name, text, such)
	}
	return d
}

// Latest reports whether a new reader starts at the end instead of the beginning, according
// to the parameter start.
func (a *Address) Latest() bool {
	start := a.Param("start")
	if start != "" && start != "earliest" && start != "latest" {
		a.Fail("start=%.100s is not earliest or latest", start)
	}
	return start == "latest"
}

// Rest returns the first fault of a parameter, or an error if the URL has a parameter that no call
// has asked for.
func (a *Address) Rest() error {
	if a.err != nil {
		return a.err
	}
	for _, name := range slices.Sorted(maps.Keys(a.params)) {
		if !a.asked[name] {
			return fmt.Errorf("there is no parameter %.100s; known are %s", name, strings.Join(slices.Sorted(maps.Keys(a.asked)), ", "))
		}
	}
	return nil
}

// String returns the URL without secrets.
func (a *Address) String() string {
	return a.Scheme + "://" + strings.Join(a.Hosts, ",") + "/" + a.Name
}

// IsLoopback reports whether an address, with or without a port, is a loopback address.
func IsLoopback(address string) bool {
	host, _, err := net.SplitHostPort(address)
	if err != nil {
		host = address
	}
	ip, err := netip.ParseAddr(host)
	return strings.EqualFold(host, "localhost") || err == nil && ip.Unmap().IsLoopback()
}
