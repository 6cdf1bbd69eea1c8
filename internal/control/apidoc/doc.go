// Package apidoc holds the description of the admin API in the format of OpenAPI
// 3.1. Its test makes the description from the contract in internal/control/adminapi and
// internal/flow/flowapi: their paths, their types, and what the source says of each
// field. Regenerate it with go test ./internal/control/apidoc -update.
package apidoc
