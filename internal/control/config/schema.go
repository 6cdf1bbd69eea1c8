package config

import _ "embed" // the schema is a file

//go:embed settings.schema.json
var schema []byte

// Schema returns a JSON Schema of the settings file, for editors. [Parse] checks more: a
// file that the schema accepts may have faults.
func Schema() []byte { return schema }
