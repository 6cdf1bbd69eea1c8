package worker

import (
	"encoding/base64"
	"maps"
	"slices"
	"strconv"
	"strings"
	"time"
)

// The bounds of what a child is told in its environment. What is beyond them is
// named in BEZOAR_ATTRIBUTES_OMITTED, and not cut: half a value is a wrong one.
const (
	maxAttribute  = 32 << 10
	maxAttributes = 96 << 10
)

// environ is what a child learns of its message, beside the body on its stdin.
func environ(m *Message) []string {
	env := []string{
		"BEZOAR_MESSAGE_ID=" + m.ID,
		"BEZOAR_QUEUE=" + m.Queue,
		"BEZOAR_RECEIVE_COUNT=" + strconv.Itoa(m.Receives),
		"BEZOAR_DEADLINE=" + m.Deadline.UTC().Format(time.RFC3339),
	}
	if m.Group != "" && !strings.Contains(m.Group, "\x00") {
		env = append(env, "BEZOAR_GROUP="+m.Group)
	}
	if !m.Sent.IsZero() {
		env = append(env, "BEZOAR_SENT="+m.Sent.UTC().Format(time.RFC3339Nano))
	}
	size, used := 0, map[string]bool{}
	var omitted []string
	for _, name := range slices.Sorted(maps.Keys(m.Attributes)) {
		a := m.Attributes[name]
		value := text(a)
		variable := variableOf(name)
		if used[variable] || len(value) > maxAttribute || size+len(value) > maxAttributes || strings.Contains(value, "\x00") {
			omitted = append(omitted, variable)
			continue
		}
		used[variable] = true
		size += len(value)
		env = append(env, "BEZOAR_ATTRIBUTE_"+variable+"="+value)
	}
	if len(omitted) > 0 {
		env = append(env, "BEZOAR_ATTRIBUTES_OMITTED="+strings.Join(omitted, " "))
	}
	return env
}

// variableOf makes the name of an attribute one that a shell knows.
func variableOf(name string) string {
	return strings.Map(func(r rune) rune {
		switch {
		case 'a' <= r && r <= 'z':
			return r - 'a' + 'A'
		case 'A' <= r && r <= 'Z', '0' <= r && r <= '9':
			return r
		}
		return '_'
	}, name)
}

// text is an attribute's value; a binary one in base64.
func text(a Attribute) string {
	if strings.HasPrefix(a.DataType, "Binary") {
		return base64.StdEncoding.EncodeToString(a.Binary)
	}
	return a.String
}

func texts(in map[string]Attribute) map[string]string {
	if len(in) == 0 {
		return nil
	}
	out := make(map[string]string, len(in))
	for name, a := range in {
		out[name] = text(a)
	}
	return out
}
