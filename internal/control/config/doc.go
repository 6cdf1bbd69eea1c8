// Package config reads bezoar.yaml: strictly, completely and with the place of
// every fault.
//
// [Parse] refuses what it does not know, what has the wrong type and what
// cannot work, all at once and bounded by [MaxFaults]. Each [Fault] says the
// line, the column, the field, what is wrong and the fix. Nothing is guessed:
// a duration needs its unit, and a second document is not silently dropped.
//
// A [Config] built elsewhere, from flags for instance, passes the same rules
// through [Config.Validate]. [Config.YAML] prints the effective settings with
// defaults filled in and secrets masked; without secrets, its output parses
// back to the same Config.
//
// The struct tags hold the format: yaml names the key, range bounds the value,
// mask says what must not be shown. Adding a key means adding a field.
package config
