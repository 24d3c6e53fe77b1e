#!/usr/bin/env bash
# A client and an agent agree on a Protocol Document, each in a folder of its own, with files between them; then an intent
# is decided under it, and prose is not. Give the binary's path, or have `writgate` on the PATH:
# examples/negotiation.sh target/release/writgate
set -euo pipefail
writgate=$(realpath "$(command -v "${1:-writgate}")")
policies=$(realpath "$(dirname "${BASH_SOURCE[0]}")/../policies")
cd "$(mktemp -d)"
trap 'rm -rf "$PWD"' EXIT
run() { # the folder, then the arguments; standard output is the command's alone
    { printf '\n%s$ writgate' "$1" && printf ' %q' "${@:2}" && printf '\n'; } >&2
    (cd "$1" && "$writgate" "${@:2}")
}
client() { run client "$@"; }
agent() { run agent "$@"; }

# What each side says of the other: the identity that its transport authenticated, and the context of the exchange.
to_agent=(--role client --peer https://me.example/agent)
to_client=(--role agent --peer client-7)

mkdir agent client
cp "$policies/read.ttl" agent
cp "$policies/read.ttl" client
sed 's#/protocols/read#/protocols/read-too#g' "$policies/read.ttl" > client/second.ttl
OWNER=$("$writgate" key new --out owner.json)
CLIENT=$("$writgate" key new --out client/key.json)
HASH=$("$writgate" protocol hash "$policies/read.ttl")
SECOND=$("$writgate" protocol hash client/second.ttl)

# The agent speaks the document, and does not declare it on its card: an intent under it needs an agreement first.
cat > agent/writgate.toml <<END
domains = ["https://me.example/agent"]

[[roots]]
prefix = "https://me.example/"
principal = "$OWNER"

[[protocols]]
file = "read.ttl"
hash = "$HASH"
classes = ["https://schema.org/ReadAction"]

[ledger]
path = "ledger.db"
END

# The client offers it, and a second one, which bears on no security and which the agent does not speak. Its domain and its
# root are its own: nobody is judged by them here.
cat > client/writgate.toml <<END
domains = ["https://client.example/agent"]

[[roots]]
prefix = "https://client.example/"
principal = "$CLIENT"

[[protocols]]
file = "read.ttl"
hash = "$HASH"
classes = ["https://schema.org/ReadAction"]
source = "https://client.example/protocols/read"

[[protocols]]
file = "second.ttl"
hash = "$SECOND"
classes = ["https://schema.org/ReadAction"]
security_bearing = false
source = "https://client.example/protocols/read-too"

[ledger]
path = "ledger.db"
END
agent ledger init --first
client ledger init --first

# Before anything was offered, prose may be said. An open offer forbids it, until it is answered.
client conversation prose "${to_agent[@]}" --context c-1
client conversation offer "${to_agent[@]}" --context c-1 --hash "$HASH" | tee agent/offer.json
client conversation prose "${to_agent[@]}" --context c-1 || true
agent conversation receive "${to_client[@]}" --context c-1 offer.json | tee client/answer.json
client conversation receive "${to_agent[@]}" --context c-1 answer.json
agent conversation list
client conversation list

# Prose in that conversation is refused from now on.
cat > agent/prose.json <<'END'
{ "messageId": "p-1", "contextId": "c-1", "role": "ROLE_USER", "parts": [ { "text": "Just let me read it." } ] }
END
agent conversation receive "${to_client[@]}" --context c-1 prose.json || true

# An intent is decided under what was agreed, with this peer and in this context.
cat > policy.ttl <<END
@prefix odrl: <http://www.w3.org/ns/odrl/2/> .

<https://me.example/policies/1> a odrl:Agreement ;
    odrl:assigner <$OWNER> ;
    odrl:assignee <$CLIENT> ;
    odrl:permission [ odrl:action odrl:read ; odrl:target <https://me.example/diary> ] .
END
UNTIL=$(date -u -d '+30 days' +%Y-%m-%dT%H:%M:%SZ 2>/dev/null || date -u -v+30d +%Y-%m-%dT%H:%M:%SZ)
"$writgate" mandate issue --key owner.json --delegate "$CLIENT" --policy policy.ttl --until "$UNTIL" \
    --out client/mandate.json
cat > client/intent.ttl <<'END'
@prefix a2a:    <https://w3id.org/jeswr/a2a#> .
@prefix schema: <https://schema.org/> .

<urn:uuid:6c0e0a8e-52b7-4a2b-8f0c-1d7a9be0d1f5> a a2a:Intent ;
    a2a:action [ a schema:ReadAction ; schema:object <https://me.example/diary> ] .
END
CHALLENGE=$("$writgate" challenge)
message() { # its context
    (
        cd client
        parts=(--id "m-$1" --context "$1" --intent intent.ttl --protocol "$HASH")
        "$writgate" message new "${parts[@]}" --out draft.json
        BOUND=$("$writgate" challenge bind --message draft.json --nonce "$CHALLENGE" --domain https://me.example/agent)
        "$writgate" mandate present --key key.json --credential mandate.json --challenge "$BOUND" \
            --domain https://me.example/agent --out presentation.json
        "$writgate" message new "${parts[@]}" --presentation presentation.json --out "../agent/$1.json"
    )
}
message c-1
agent decide c-1.json --peer client-7 --challenge "$CHALLENGE"
message c-9
agent decide c-9.json --peer client-7 --challenge "$CHALLENGE" || true

# What the agent answers is checked too, before it leaves and when it comes in.
cat > client/response.json <<END
{
  "messageId": "r-1", "contextId": "c-1", "role": "ROLE_AGENT",
  "extensions": ["https://w3id.org/jeswr/a2a-rdf/v1"],
  "parts": [{
    "text": "<https://me.example/diary> <https://schema.org/text> \"Dear diary.\" .",
    "mediaType": "text/turtle",
    "metadata": {
      "https://w3id.org/jeswr/a2a-rdf/v1/kind": "intent-response",
      "https://w3id.org/jeswr/a2a-rdf/v1/protocolHash": "$HASH"
    }
  }]
}
END
client message check-response response.json --hash "$HASH" --context c-1

# An optional offer that is declined leaves prose; a required one does not, until a person forgets it.
declined() { # the context, then options of the offer
    client conversation offer "${to_agent[@]}" --context "$1" --hash "$SECOND" "${@:2}" > agent/offer.json
    agent conversation receive "${to_client[@]}" --context "$1" offer.json > client/answer.json || true
    client conversation receive "${to_agent[@]}" --context "$1" answer.json || true
    client conversation prose "${to_agent[@]}" --context "$1" || true
}
declined c-2
declined c-3 --required
client conversation list
client conversation forget --peer https://me.example/agent
client conversation prose "${to_agent[@]}" --context c-3
