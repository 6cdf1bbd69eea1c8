// Package redact keeps secrets out of what people read: displayed settings, logs, verdicts
// and dead letters. It has one table of names whose values are secret, and one parser of
// texts that may contain secrets.
//
//   - [Names] judges the names of headers, parameters and attributes that callers send. A
//     value hidden by mistake does little harm there, so it hides rather too much.
//   - [Setting] judges names in settings, environments, arguments and texts, where "key: 5"
//     and "PWD=/tmp" must stay readable.
//   - [Text] hides text that looks like a secret: passwords in URLs, HTTP credentials, and
//     values after the name of a secret.
//   - [Values] hides secrets that are known by their value, wherever they occur.
//
// It does not recognize a secret under an innocent name unless a request in flight contains
// it, and a secret that a program prints in another form, such as encrypted or cut.
package redact
