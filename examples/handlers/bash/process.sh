#!/usr/bin/env bash
# Works on one message, for `bezoar work -- bash process.sh`. Needs jq.
set -euo pipefail

body=$(cat)
if ! jq -e . <<<"$body" >/dev/null 2>&1; then
	echo '{"reason": "no JSON"}' >&3 # says more than an exit code can
	exit 65 # never: a dead letter at once
fi
busy=$(jq -r '.busy // empty' <<<"$body")
if [[ $busy ]]; then
	jq -cn --argjson after "$busy" '{class: "throttled", retry_after: $after, downstream: "shop"}' >&3
	exit 75 # later
fi
if [[ $(jq -r '.crash // empty' <<<"$body") ]]; then kill -SEGV $$; fi
if [[ $(jq -r '.hang // empty' <<<"$body") ]]; then sleep 3600; fi
jq -r '.text | ascii_upcase' <<<"$body" # a text that is none: a bug
