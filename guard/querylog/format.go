package querylog

import (
	"bytes"
	"fmt"
	"strings"
)

// Format is a form of a log.
type Format string

// Each is detected; to name it is for logs that begin with something else.
const (
	Lines    Format = "lines" // those that say by themselves what they are: JSON, access logs
	Postgres Format = "postgres"
)

// ParseFormat reads a format, and names of the logs that are Lines.
func ParseFormat(name string) (Format, error) {
	switch name {
	case "ndjson", "json", "access", "nginx", "apache", "postgres-json":
		return Lines, nil
	case "postgresql", "postgres-stderr":
		return Postgres, nil
	case string(Lines), string(Postgres):
		return Format(name), nil
	}
	return "", fmt.Errorf("no form of a log is called %.100q: use lines or postgres", name)
}

// Detect says what a log is by its first lines. What is none of the others is
// Lines.
func Detect(head []byte) Format {
	for n := 0; len(head) > 0 && n < detectLines; n++ {
		var line []byte
		line, head, _ = bytes.Cut(head, []byte{'\n'})
		if f := detectLine(string(bytes.TrimSpace(line))); f != "" {
			return f
		}
	}
	return Lines
}

const (
	detectBytes = 64 << 10
	detectLines = 200
)

func detectLine(line string) Format {
	switch {
	case line == "":
	case line[0] == '{', hasRequest(line):
		return Lines
	default:
		if _, severity, _ := cutSeverity(line); severity != "" {
			return Postgres
		}
	}
	return ""
}

// hasRequest reports whether a line has one in quotes, as access logs do.
func hasRequest(line string) bool {
	_, rest, ok := strings.Cut(line, `] "`)
	if !ok {
		return false
	}
	method, _, ok := strings.Cut(rest, " /")
	return ok && method != "" && strings.ToUpper(method) == method && !strings.ContainsAny(method, ` "`)
}
