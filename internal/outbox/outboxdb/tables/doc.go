// Package tables keeps an outbox in tables of SQLite, MySQL or MariaDB, with plain SQL. The
// packages of these databases create the tables, and describe the differences in a
// [Dialect]. PostgreSQL has what operators ask for from here, and its own functions for relays.
package tables
