// Package flowpage tells people about flows: it is the [flow.Pager] that calls the hooks
// of a definition by webhook, command and mail.
//
// The engine pages once for each run and failure group, and records it in the store. It
// pages again, with the same document id, when one of the hooks failed, or when Bezoar
// died before the page was recorded as sent. The same process does not call a hook again
// that took the document.
//
// Not guaranteed: exactly one delivery. A receiver recognises a repetition by the id
// (X-Bezoar-Event, BEZOAR_EVENT, Message-ID).
package flowpage
