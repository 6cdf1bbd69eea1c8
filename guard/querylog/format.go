package querylog

import (
	"bytes"
	"fmt"
	"strings"
)

// Format is the format of a log.
type Format string

// The formats. They are detected; state one if a log begins with lines of another.
const (
	Lines    Format = "lines" // lines that identify themselves: JSON, access logs
	Postgres Format = "postgres"
)

// ParseFormat parses the name of a format, or of a log that has the format Lines.
func ParseFormat(name string) (Format, error) {
	switch name {
	case "ndjson", "json", "access", "nginx", "apache", "postgres-json":
		return Lines, nil
	case "postgresql", "postgres-stderr":
		return Postgres, nil
	case string(Lines), string(Postgres):
		return Format(name), nil
	}
	return "", fmt.Errorf("unknown log format %.100q: use lines or postgres", name)
}

// Detect returns the format of a log that begins with head. The default is Lines.
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

// hasRequest reports whether a line contains a quoted request, as access logs do.
func hasRequest(line string) bool {
	_, rest, ok := strings.Cut(line, `] "`)
	if !ok {
		return false
	}
	method, _, ok := strings.Cut(rest, " /")
	return ok && method != "" && strings.ToUpper(method) == method && !strings.ContainsAny(method, ` "`)
}
