package gateway

import (
	"strings"

	"github.com/bezoar-dev/bezoar/internal/gateway/h1"
)

// bindsConnection reports whether credentials, or a challenge, are of a scheme by which servers authenticate a connection, and
// not only the request: whatever comes on the connection afterwards is of that user for them.
func bindsConnection(value string) bool {
	scheme, _, _ := strings.Cut(value, " ")
	return h1.Fold(scheme, "ntlm") || h1.Fold(scheme, "negotiate")
}

// challengesConnection reports whether an answer asks for such credentials.
func challengesConnection(fields []h1.Field) bool {
	for i := range fields {
		if f := &fields[i]; f.Key == h1.Other && h1.Fold(f.Name, "www-authenticate") && bindsConnection(f.Value) {
			return true
		}
	}
	return false
}
