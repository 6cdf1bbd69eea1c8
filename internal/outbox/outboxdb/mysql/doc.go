// Package mysql keeps an outbox in an application's MySQL or MariaDB database, in tables
// whose names begin with the outbox's schema.
//
// It needs MySQL 8.0 or MariaDB 10.6, or later versions: older ones may assign a position
// twice after a restart. The relay works at the isolation level READ COMMITTED. The
// application may use any level.
package mysql
