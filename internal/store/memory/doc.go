// Package memory keeps what the engines store in the memory of the process,
// bounded, for demonstrations and tests. It passes the same suites as the
// databases, except that nothing outlives the process.
package memory
