// Package pgtest starts private PostgreSQL servers for tests that stop servers,
// promote standbys or change settings: what they must not do to the server that
// BEZOAR_TEST_POSTGRES names. It uses the newest installed binaries.
package pgtest
