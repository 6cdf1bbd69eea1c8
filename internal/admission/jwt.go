package admission

import (
	"encoding/base64"
	"encoding/json"
	"strings"
	"unicode/utf8"

	"github.com/bezoar-dev/bezoar/internal/gateway/h1"
	"github.com/bezoar-dev/bezoar/internal/jsonparts"
)

// maxToken bounds the encoded payload of a token that is decoded. Callers with longer tokens are counted by their address.
const maxToken = 8 << 10

// bearer returns the encoded payload of the JSON Web Token in an Authorization field; "" for none. It verifies nothing,
// because only the worker has the keys. So a claim tells callers apart and proves nothing.
func bearer(authorization string) string {
	scheme, token, ok := strings.Cut(authorization, " ")
	if !ok || !strings.EqualFold(scheme, "bearer") {
		return ""
	}
	_, rest, ok := strings.Cut(strings.TrimLeft(token, " "), ".")
	payload, signature, two := strings.Cut(rest, ".")
	if !ok || !two || strings.IndexByte(signature, '.') >= 0 || len(payload) > maxToken {
		return "" // not signed, or encrypted, or none of ours
	}
	return payload
}

// claimOf returns the claim of a token's payload as text: a string, or a number as it is written. Any other value, or a
// repeated one, counts as missing.
func claimOf(payload, name string) string {
	text, err := base64.RawURLEncoding.DecodeString(payload)
	if err != nil || !utf8.Valid(text) {
		return ""
	}
	object := jsonparts.Valid(text)
	if object == nil || object[0] != '{' {
		return ""
	}
	var found []byte
	for key, value := range jsonparts.Of(object) {
		if string(jsonparts.Text(key)) != name {
			continue
		}
		if found != nil {
			return ""
		}
		found = value
	}
	var claim string
	var number json.Number
	if json.Unmarshal(found, &claim) != nil && json.Unmarshal(found, &number) == nil {
		return number.String()
	}
	if !h1.PlainText([]byte(claim)) {
		return ""
	}
	return claim
}
