// Package store opens the store that a URL names: a SQLite file, a PostgreSQL schema, or
// the memory of the process.
package store
