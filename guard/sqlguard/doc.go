// Package sqlguard puts a [guard.Guard] between an application and its
// database: statements are judged before they are sent, with the values that
// are bound to them.
//
//	application ──► database/sql ──► guarded driver ──► driver ──► database
//	                                      │ judge
//	                                      ├─ accept, report   sent as it is
//	                                      ├─ cap              sent with a lower LIMIT
//	                                      └─ reject           *Rejected; nothing is sent
//
// [Connector] and [Driver] wrap what database/sql talks to. For pgx there is
// [Tracer], which only has to be named in a configuration.
//
// # Guarantees
//
//   - A statement that is rejected does not reach the database, and its
//     connection stays usable; a transaction around it stays open. The error is
//     a *[Rejected], which errors.As finds through whatever wraps it, and errors.Is
//     as [ErrRejected]. Errors of the driver are its own.
//   - A prepared statement is judged twice: its shape when it is prepared, and
//     with the bound values each time it runs. Both are counted by the guard. A
//     driver that wants each statement with values prepared, as that of MySQL does
//     without interpolateParams, asks for both after the first look.
//   - A wrapped connection has the abilities of the one inside: contexts, bulk
//     arguments, named values, session resets, pings. What the driver lacks is
//     answered as database/sql itself would.
//   - Whoever needs the driver's own connection gets it: Unwrap.
//
// # Not guaranteed
//
// What goes around the wrapper is not judged: sql.Conn.Raw with Unwrap, COPY of
// pgx, pgconn. A cap on a value that is bound to a placeholder cannot be written
// into the text of a statement that is prepared: it is rejected. A tracer of pgx
// sees statements but cannot change them: it rejects what would be capped, and
// refuses through the context that it hands back, whose error is the *Rejected;
// pgx looks at it before it sends anything. Statements that pgx runs by the name
// of an earlier Prepare are known to a Tracer by that name, for all connections
// alike, and at most MaxNames of them.
package sqlguard
