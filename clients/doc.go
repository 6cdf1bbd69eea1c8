// Package clients holds no code: its tests drive a real Bezoar with real SQS
// clients, on every store, and with a client of Elasticsearch, each in a
// process of its own. Everything that is needed is fetched by scripts/clients.
package clients
