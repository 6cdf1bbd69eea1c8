// Package app turns a [config.Config] into a running Bezoar: it opens the
// store and the listeners, makes a fleet, a ledger and a dispatcher for every
// fleet of the configuration, and joins them with the gateway and the admin
// API. Nothing below it knows both a front and a store.
//
// # Lifecycle
//
// [New] opens everything that can fail and starts nothing. [App.Run] serves until its
// context ends and then stops in this order: the gateway takes no new connections and
// finishes requests in flight; the supervisors drain, end and reap their workers, while
// the lanes still run; the ledgers write what is not stored yet; the admin API, the
// journals and the store close.
package app
