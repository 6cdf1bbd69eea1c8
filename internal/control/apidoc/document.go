package apidoc

import (
	_ "embed"
	"slices"
)

//go:embed openapi.json
var document []byte

// Document is the description of the admin API, as JSON.
func Document() []byte { return slices.Clone(document) }
