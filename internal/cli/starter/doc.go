// Package starter guesses how the server of a folder is started, and writes a
// first settings file for it.
package starter
