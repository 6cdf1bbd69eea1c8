// Package flowpage tells people about flows: it is the [flow.Pager] that tells the
// hooks of a definition by webhook, command and mail.
//
// The engine pages once for each run and failure group, and remembers it in the
// store. It pages again when one of the hooks failed, or when Bezoar died before the
// page was known to be sent. The document's id is the same then. A hook that took
// the document is not told again by the same process.
//
// What it does not guarantee: exactly one delivery. A receiver knows a repetition
// by the id (X-Bezoar-Event, BEZOAR_EVENT, Message-ID).
package flowpage
