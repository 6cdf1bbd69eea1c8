// Package tables keeps an outbox in the tables of a database that needs no more than
// plain SQL: SQLite, MySQL and MariaDB. Their packages make the tables, and say in a
// [Dialect] what differs.
package tables
