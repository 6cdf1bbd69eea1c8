package gateway

import (
	"github.com/bezoar-dev/bezoar/internal/gateway/h1"
)

// contentType returns the answer's media type with its parameters.
func contentType(fields []h1.Field) string {
	for i := range fields {
		if fields[i].Key == h1.ContentType {
			return fields[i].Value
		}
	}
	return ""
}
