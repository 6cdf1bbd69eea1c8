// Package check holds what Bezoar has for other programs against the libraries of
// those programs: alert rules and dashboard against Prometheus' own parser and
// engine, manifests against the types and the schema of Kubernetes, units against
// systemd-analyze, the description of the admin API against the specification of OpenAPI, and the prose against a list of
// common misspellings.
package check
