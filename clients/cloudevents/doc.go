// Package cloudevents holds no code: in its tests the CloudEvents SDK reads what
// Bezoar's webhooks send, and the library of Standard Webhooks verifies who sent it.
package cloudevents
