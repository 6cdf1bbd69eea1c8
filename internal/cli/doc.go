// Package cli is the command line of Bezoar: flags, exit codes, and what people
// read in a terminal.
//
// [Main] runs one command inside the process that it is given, so tests run it
// as it is. It decides nothing about work: commands that serve call the
// [Engine] that cmd/bezoar wires, all others call the admin API.
//
// # The rules for text
//
// Data goes to stdout, messages go to stderr. With --json stdout carries one
// document with stable names and nothing else. Messages are lower case without
// a full stop: what was attempted, on which item, what is wrong; then hints,
// each on a line of its own. Colour only helps: a terminal without it, or
// NO_COLOR, loses nothing. What came with a request is written by an attacker
// and reaches a terminal only after its control characters are gone.
package cli
