// Package config parses bezoar.yaml strictly, and reports every fault with its place.
//
// [Parse] rejects unknown keys, wrong types and settings that cannot work. It reports all
// faults at once, up to [MaxFaults]. Each [Fault] has the line, the column, the field, the
// problem and a fix. Parse guesses nothing: a duration needs a unit, and a second document
// is an error.
//
// A [Config] from another origin, such as flags, is checked by the same rules with
// [Config.Validate]. [Config.YAML] prints the effective settings, with defaults filled in
// and secrets masked. If there are no secrets, its output parses back to the same Config.
//
// The struct tags define the format: yaml is the key, range the allowed values, and mask
// marks values that must not be shown. To add a key, add a field.
package config
