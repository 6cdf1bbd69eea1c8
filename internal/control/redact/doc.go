// Package redact keeps secrets out of what people read: settings that are shown,
// logs, verdicts and dead letters. There is one table of the names whose values
// are secret, and one reading of text that may hold some.
//
//   - [Names] judges the names of headers, parameters and attributes that callers
//     send. Nobody misses a value there, so it hides too much rather than too little.
//   - [Setting] judges names in settings, environments, arguments and text, where
//     "key: 5" and "PWD=/tmp" have to stay readable.
//   - [Text] hides what looks like a secret: passwords in URLs, credentials of HTTP,
//     and values behind a name of a secret.
//   - [Values] hides secrets that are known by their value, wherever they are.
//
// What it cannot know: a secret under an innocent name that no request in flight
// has sent, and one that a program prints in another form, such as encrypted or cut.
package redact
