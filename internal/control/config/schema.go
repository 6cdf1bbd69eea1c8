package config

import _ "embed" // the schema is a file

//go:embed settings.schema.json
var schema []byte

// Schema is a JSON Schema of the settings file, for editors. A file that it
// accepts may still have faults: [Parse] knows more.
func Schema() []byte { return schema }
