// Package postgres implements the engines' stores in one schema of a PostgreSQL database.
// Any number of processes can share it.
//
// When a write returns nil, it is committed; the server's synchronous_commit determines its
// durability. The store works behind PgBouncer in transaction mode: it uses no prepared
// statements, session settings, session locks or LISTEN. With a direct connection, the URL
// parameter default_query_exec_mode=cache_statement saves some parsing. Other parameters of
// pgx (pool_max_conns, connect_timeout, sslmode …) work too.
//
// The server's clock decides about every lease. A call reads the clock once, in the
// statement or transaction of the decision. The most frequent statements are stored on the
// server as functions, which a program creates when it opens the schema. So each server
// session plans them once, even behind a pooler. Receivers are not notified of messages:
// they poll at the engine's interval.
//
// The total number of messages is the sum of small rows. Messages in flight or delayed are
// counted, at about 10⁷ per second. The content of a purged or deleted queue is removed in
// the background. Each receive skips copies that wait for a copy in flight one by one.
//
// The limit on letters holds whenever no PutLetter is running; each running one may exceed
// it by one.
package postgres
