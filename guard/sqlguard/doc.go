// Package sqlguard puts a [guard.Guard] between an application and its database. It judges
// statements with their bound values before they are sent.
//
//	application ──► database/sql ──► guarded driver ──► driver ──► database
//	                                      │ judge
//	                                      ├─ accept, report   sent as it is
//	                                      ├─ cap              sent with a lower LIMIT
//	                                      └─ reject           *Rejected; nothing is sent
//
// [Connector] and [Driver] wrap a driver of database/sql. For pgx, set a [Tracer] in the
// configuration.
//
// # Guarantees
//
//   - A rejected statement does not reach the database. Its connection stays usable, and a
//     transaction around it stays open. The error matches *[Rejected] with errors.As, and
//     [ErrRejected] with errors.Is. Errors of the driver stay unchanged.
//   - A prepared statement is judged when it is prepared, without values, and each time it
//     runs, with its values. The guard counts both. Some drivers prepare every statement
//     with values, such as that of MySQL without interpolateParams; then both happen after
//     the first judgement of the text.
//   - A wrapped connection has the abilities of the inner one: contexts, bulk arguments,
//     named values, session resets, pings. If the driver lacks one, the wrapper behaves as
//     database/sql would without it.
//   - Unwrap returns the driver's own connection.
//
// # Not guaranteed
//
// Statements that bypass the wrapper are not judged: sql.Conn.Raw with Unwrap, COPY of pgx,
// pgconn. A cap on a value that is bound to a placeholder of a prepared statement is
// impossible, so the statement is rejected.
//
// A pgx tracer sees statements but cannot change them, so it rejects statements that would
// be capped. It rejects through the context that it returns: pgx checks this context before
// it sends anything, and returns the context's error, a *Rejected. If pgx runs a statement
// by the name of an earlier Prepare, the Tracer finds it by that name, across all
// connections. It remembers at most MaxNames names.
package sqlguard
