package outgoing

import (
	"bytes"
	"encoding/base64"
	"encoding/json"
	"mime"
	"strings"

	"github.com/bezoar-dev/bezoar/outbox"
)

// Media types of structured events.
const (
	StructuredType = "application/cloudevents+json; charset=utf-8"
	BatchedType    = "application/cloudevents-batch+json; charset=utf-8"
)

// AppendStructured appends a record as a CloudEvent in JSON. Headers become extensions,
// whose names have lowercase letters and digits only: X-Tenant becomes xtenant.
func AppendStructured(out []byte, r *outbox.Record, source string) []byte {
	used := map[string]bool{"data": true, "data_base64": true, "datacontenttype": true, "dataschema": true, "subject": true, "time": true, "sequence": true}
	out = append(out, '{')
	add := func(name, value string) {
		used[name] = true
		out = appendString(append(appendString(out, name), ':'), value)
		out = append(out, ',')
	}
	for _, p := range Attributes(r, source) {
		add(p.Name, p.Value)
	}
	for _, p := range Headers(r) {
		if name := extension(p.Name); name != "" && !used[name] {
			add(name, p.Value)
		}
	}
	kind := ContentType(r)
	add("datacontenttype", kind)
	switch {
	case isJSON(kind) && json.Valid(r.Payload):
		out = append(append(out, `"data":`...), compact(r.Payload)...)
	default:
		out = append(out, `"data_base64":"`...)
		out = base64.StdEncoding.AppendEncode(out, r.Payload)
		out = append(out, '"')
	}
	return append(out, '}')
}

// compact removes whitespace from JSON, because some formats do not allow line breaks.
func compact(text []byte) []byte {
	var b bytes.Buffer
	if json.Compact(&b, text) != nil {
		return text // cannot happen: the JSON is valid
	}
	return b.Bytes()
}

func appendString(out []byte, s string) []byte {
	text, _ := json.Marshal(s) // a string always encodes
	return append(out, text...)
}

// extension converts the name of a header to the name of an extension.
func extension(name string) string {
	return strings.Map(func(c rune) rune {
		switch {
		case c >= 'a' && c <= 'z', c >= '0' && c <= '9':
			return c
		case c >= 'A' && c <= 'Z':
			return c + 'a' - 'A'
		}
		return -1
	}, name)
}

func isJSON(kind string) bool {
	media, _, err := mime.ParseMediaType(kind)
	return err == nil && (media == jsonType || media == "text/json" || strings.HasSuffix(media, "+json"))
}
