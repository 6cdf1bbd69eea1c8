// Package tell tells people: it posts a document to a webhook, runs a command
// with it, or sends a mail. Alarms about dead letters and pages of flows use it.
//
// # Guarantees
//
// A webhook answers with 2xx within five seconds, or is tried up to four times,
// with full jitter from half a second to five; other answers than 429 and 5xx are
// final, and so are redirects. A command gets the document on stdin, its own
// process group, and ten seconds; then the group is killed, as is what the command
// leaves behind.
//
// A mail is sent over SMTP with STARTTLS wherever the server offers it. A password
// never goes over a connection without TLS, but for one to this machine. A server
// that refuses for now (4xx) is asked again as a webhook is. Subjects and
// addresses cannot add header lines, and the text cannot end the message.
//
// # Not guaranteed
//
// A document may come twice, if a connection breaks after the receiver has taken
// it. A mail has the same Message-ID then.
package tell
