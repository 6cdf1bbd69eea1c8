// Package querylog reads queries from logs of web servers and PostgreSQL, so that you can
// test limits against real traffic.
//
//	lines ──► detect: by what the first ones say ──► decoder ──► guard.Record: query, values,
//	           (or Options.Format)                               caller, how long it took
//
// It reads the lines that [guard.ParseRecord] accepts, and:
//
//   - access logs of nginx and Apache, common and combined, also as JSON (nginx, Caddy,
//     Traefik, Bezoar); request_time and rt= at the end of a line give the duration;
//   - PostgreSQL's log, as text with any prefix and as JSON, with the values of parameters
//     in DETAIL.
//
// # Guarantees
//
//   - Reading takes one pass and bounded memory: an entry has at most [MaxEntry] bytes, and
//     at most [MaxOpen] entries of PostgreSQL wait for their parameters. A longer entry is
//     an error, and reading continues with the next one.
//   - Entries that are not queries, such as a checkpoint or a favicon, are skipped. An entry
//     that should contain a query and cannot be read is reported with its line.
//
// # Limits
//
// A log contains only what the server wrote: access logs have no bodies, and Partial of the
// record says so. Servers cut long values (log_parameter_max_length). A query that was cut
// is an error.
package querylog
