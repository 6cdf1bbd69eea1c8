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
// Queues are shared by any number of processes as well. The server's clock
// judges every lease; a call reads it once, in the statement or transaction that
// it judges. What is asked for most is kept on the server as functions, made
// when a program that needs them opens the schema: so it is planned once for
// each of the server's sessions, whatever lies between. Nobody is notified of
// messages: who waits asks again, as often as the engine says.
//
// The number of messages is added up from small rows, not counted; what is in
// flight or delayed is counted, at about 10⁷ a second. A purged or deleted
// queue's content goes in the background. Copies that wait for one of theirs in
// flight are passed over one by one by each receive.
//
// The bound on letters holds whenever no PutLetter is under way; each one under
// way may exceed it by one.
package postgres
