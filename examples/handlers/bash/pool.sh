#!/usr/bin/env bash
# Works on one message after another, for `bezoar work --mode pool -- bash pool.sh`.
# One jq reads the lines for all of them; a second one works.
set -uo pipefail

exec {answers}>&1 1>&2 # from now on prints are not answers

answer() { printf '{"bezoar":1%s}\n' "$1" >&"$answers"; }

# Prints what is worth saying of a message, as more members of the answer.
work() {
	local body=$1 busy
	if ! jq -e . <<<"$body" >/dev/null 2>&1; then
		echo ',"class":"invalid","reason":"no JSON"'
		return
	fi
	busy=$(jq -r '.busy // empty' <<<"$body")
	if [[ $busy ]]; then
		echo ",\"class\":\"throttled\",\"retry_after\":$busy,\"downstream\":\"shop\""
		return
	fi
	if [[ $(jq -r '.crash // empty' <<<"$body") ]]; then kill -SEGV $$; fi
	if [[ $(jq -r '.hang // empty' <<<"$body") ]]; then sleep 3600; fi
	jq -r '.text | ascii_upcase' <<<"$body" >&2 || echo ',"class":"bug","reason":"the text is none"'
}

# The id is quoted as it came; the body is in base64, which no shell stumbles over.
while IFS="|" read -r body id; do
	if [[ $id == null ]]; then
		answer '' # the hello
	else
		answer ",\"id\":$id$(work "$(base64 -d <<<"$body")")"
	fi
done < <(jq --unbuffered -r '"\(.body_base64 // (.body // "" | @base64))|\(.id | tojson)"')
