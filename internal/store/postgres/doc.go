// Package postgres keeps what the engines store in one schema of a PostgreSQL
// database, shared by any number of processes.
//
// A write that has returned nil is committed; how durable that is, is the
// server's synchronous_commit. It works behind a PgBouncer that pools
// transactions: no prepared statement, session setting, session lock or
// LISTEN is relied upon. Straight at the server, the URL parameter
// default_query_exec_mode=cache_statement saves it some parsing; the other
// parameters of pgx (pool_max_conns, connect_timeout, sslmode …) work too.
//
// The bound on letters holds whenever no PutLetter is under way; each one under
// way may exceed it by one.
package postgres
