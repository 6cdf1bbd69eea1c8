// Package cli is the command line of Bezoar: flags, exit codes, and what people
// read in a terminal.
//
// [Main] runs one command inside the calling process, so tests can run it directly. It
// decides nothing about work: commands that serve call the [Engine] that cmd/bezoar
// wires, all others call the admin API.
//
// # The rules for text
//
// Data goes to stdout, messages go to stderr. With --json stdout carries one document
// with stable names and nothing else. Messages are lower case without a full stop: what
// was attempted, on which item, what is wrong. Hints follow, one per line. Colour is
// never needed to understand the output; NO_COLOR turns it off. Text from requests is
// hostile, so control characters are removed before it reaches a terminal.
package cli
