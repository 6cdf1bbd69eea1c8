// Package starter guesses how to start the server in a folder, and writes a first
// settings file for it.
package starter
