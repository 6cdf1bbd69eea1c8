package fingerprint

import (
	"errors"
	"fmt"
	"slices"
	"strings"
)

// volatileNames are fields that differ between requests although the callers ask for the same. A name that ends in * stands
// for all names that begin with it.
const volatileNames = `
Age Date X-Request-Start X-Queue-Start X-Timestamp X-Request-Deadline
Sec-WebSocket-Key RTT Downlink ECT

Request-Id X-Request-Id X-Req-Id X-Correlation-Id Correlation-Id X-Trace-Id X-Span-Id X-Transaction-Id X-Unique-Id
X-Client-Request-Id Client-Request-Id Request-Context Correlation-Context X-Ms-Client-Request-Id X-Ms-Request-Id
X-Opaque-Id X-Kong-Request-Id X-GitHub-Delivery

Traceparent Tracestate Baggage B3 X-B3-* Sentry-Trace X-Datadog-* Uber-Trace-Id Jaeger-Debug-Id X-OT-Span-Context
OT-Tracer-* X-Cloud-Trace-Context X-Amzn-Trace-Id Grpc-Trace-Bin Grpc-Tags-Bin Elastic-Apm-Traceparent NewRelic
X-NewRelic-* SW6 SW8 SW8-Correlation SW8-X X-Dynatrace X-Dynatrace-* SingularityHeader X-Instana-* X-Honeycomb-Trace
X-Client-Trace-Id X-Envoy-Attempt-Count X-Envoy-Expected-Rq-Timeout-Ms X-Envoy-External-Address

Amz-Sdk-Invocation-Id Amz-Sdk-Request X-Amzn-RequestId X-Goog-Api-Client X-Goog-Gcs-Idempotency-Token
X-Stainless-Retry-Count X-Retry-Count X-Retry-Attempt

Forwarded X-Forwarded-* X-Original-Forwarded-For Via X-Real-IP X-Client-IP X-Cluster-Client-IP True-Client-IP
CDN-Loop CF-Ray CF-Request-Id CF-Connecting-IP CF-Connecting-IPv6 CF-Pseudo-IPv4 CF-EW-Via
X-Amz-Cf-Id CloudFront-Viewer-Address Fastly-Client-IP Fastly-FF X-Varnish X-Timer Akamai-Origin-Hop
X-Azure-Ref X-Azure-ClientIP X-Azure-SocketIP X-Azure-RequestChain X-ARR-Log-Id X-AppEngine-User-IP
X-AppEngine-Request-Log-Id Heroku-Request-Id Fly-Client-IP Fly-Request-Id X-Vercel-Id
X-Vercel-Forwarded-For X-Vercel-Proxied-For X-NF-Request-Id X-NF-Client-Connection-IP X-Railway-Request-Id
DO-Connecting-IP

X-Bezoar-*
`

// DefaultVolatile lists the header fields that are left out of every variant: request ids,
// traces, fields of proxies, clocks, and fields that Bezoar adds. A name that ends in *
// means all names that begin with it. Config.Volatile adds to the list.
//
// Signatures and what they sign (Authorization, X-Amz-Date, Stripe-Signature),
// Idempotency-Key, conditions (If-None-Match, If-Modified-Since) and cookies are not on
// it, because workers act on them. If the callers of a route sign each request anew, name
// these fields in Config.Volatile.
func DefaultVolatile() []string { return strings.Fields(volatileNames) }

// MaxVolatile is how many entries Config.Volatile may have.
const MaxVolatile = 64

// volatiles compiles the default list and the configured names.
func (r *rules) volatiles(more []string, chosen map[string]bool) (errs []error) {
	defaults := DefaultVolatile()
	r.volatile = make(map[string]bool, len(defaults)+len(more))
	for _, name := range defaults {
		name = strings.ToLower(name)
		if prefix, ok := strings.CutSuffix(name, "*"); ok {
			r.prefixes = append(r.prefixes, prefix)
			continue
		}
		r.volatile[name] = true
	}
	if n := len(more); n > MaxVolatile {
		errs = append(errs, fmt.Errorf("Volatile: %d entries, at most %d", n, MaxVolatile))
	}
	for i, name := range more {
		l := strings.ToLower(name)
		err := checkVolatile(name)
		switch {
		case err != nil:
		case chosen[l]:
			err = fmt.Errorf("%s is also chosen in Headers", name)
		case slices.ContainsFunc(more[:i], func(s string) bool { return strings.EqualFold(s, name) }):
			err = fmt.Errorf("%s is named twice", name)
		}
		if err != nil {
			errs = append(errs, fmt.Errorf("Volatile[%d]: %w", i, err))
			continue
		}
		r.volatile[l] = true
	}
	return errs
}

// checkVolatile accepts names of fields that may differ in every request.
func checkVolatile(name string) error {
	if err := checkHeader(name); err != nil {
		return err
	}
	switch {
	case strings.Contains(name, "*"):
		return fmt.Errorf("%.80q has a *: name each field", name)
	case strings.EqualFold(name, "host"):
		return errors.New("Host always counts, because it names the server")
	}
	return nil
}

// isVolatile reports whether the field, named in lower case, is left out.
func (r *rules) isVolatile(name []byte) bool {
	if r.volatile[string(name)] {
		return true
	}
	for _, p := range r.prefixes {
		if len(name) > len(p) && string(name[:len(p)]) == p {
			return true
		}
	}
	return false
}

// maxOrdinary bounds the values of volatile fields that are left out.
const maxOrdinary = 1024

// ordinary reports whether a value looks like an id, address, date or trace. Other values of volatile fields count.
// Otherwise a caller could hide what kills in X-Request-Id, and other callers with the same request would share the blame.
func ordinary(value string) bool {
	if len(value) > maxOrdinary {
		return false
	}
	for i := range len(value) {
		if c := value[i]; kindOf(c)&kAlnum == 0 && strings.IndexByte(`-_.:;=,/+@~|"()[]*% `, c) < 0 {
			return false
		}
	}
	return true
}
