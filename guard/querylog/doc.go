// Package querylog reads the queries that logs of web servers and PostgreSQL hold, so that limits can be tried on what was really sent.
//
//	lines ──► detect: by what the first ones say ──► decoder ──► guard.Record: query, values,
//	           (or Options.Format)                               caller, how long it took
//
// What is read, beside the lines that [guard.ParseRecord] knows:
//
//   - access logs of nginx and Apache, common and combined, also as JSON (nginx,
//     Caddy, Traefik, Bezoar); request_time and rt= at the end say how long;
//   - PostgreSQL's log, as text with any prefix and as JSON, with the values of
//     parameters in DETAIL.
//
// # Guarantees
//
//   - One pass, and bounded memory: an entry has at most [MaxEntry] bytes, and at
//     most [MaxOpen] entries of PostgreSQL wait for their parameters. What is
//     longer is an error of that entry, and reading goes on.
//   - What is no query, such as a checkpoint or a favicon, is passed over. What
//     should be one and cannot be read is told, with its line.
//
// # Limits
//
// A log has what it has: access logs have no bodies. A record says so in Partial. Values are cut where the server cuts them
// (log_parameter_max_length), and a query that is cut is an error.
package querylog
