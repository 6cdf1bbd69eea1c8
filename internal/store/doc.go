// Package store opens the place a store URL names: a SQLite file, a PostgreSQL
// schema, or the memory of the process.
package store
