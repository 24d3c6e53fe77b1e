#!/usr/bin/env bash
# An owner mandates an agent, the agent attenuates to an organisation, and that to its own agent: each hop may do less
# than the one before it. Give the binary's path, or have `writgate` on the PATH:
# examples/delegation.sh target/release/writgate
set -euo pipefail
writgate=$(realpath "$(command -v "${1:-writgate}")")
policies=$(realpath "$(dirname "${BASH_SOURCE[0]}")/../policies")
cd "$(mktemp -d)"
trap 'rm -rf "$PWD"' EXIT
run() { printf '\n$ writgate'; printf ' %q' "$@"; printf '\n'; "$writgate" "$@"; }

OWNER=$("$writgate" key new --out owner.json)
AGENT=$("$writgate" key new --out agent.json)
ORG=$("$writgate" key new --out org.json)
WORKER=$("$writgate" key new --out worker.json)
printf 'owner        %s\nagent        %s\norganisation %s\nits agent    %s\n' "$OWNER" "$AGENT" "$ORG" "$WORKER"

# The owner lets the agent use the diary, and pass that on two hops deep, but delete nothing.
cat > policy.ttl <<END
@prefix odrl:  <http://www.w3.org/ns/odrl/2/> .
@prefix odrld: <https://w3id.org/jeswr/odrl-delegation#> .

<https://me.example/policies/1> a odrl:Agreement ;
    odrl:assigner <$OWNER> ;
    odrl:assignee <$AGENT> ;
    odrl:permission
        [ odrl:action odrl:use ; odrl:target <https://me.example/diary> ;
          odrl:duty [ odrl:action odrl:attribute ] ] ,
        [ odrl:action odrl:grantUse ; odrl:target <https://me.example/diary> ;
          odrl:constraint [ odrl:leftOperand odrld:delegationDepth ; odrl:operator odrl:lteq ; odrl:rightOperand 2 ] ] ;
    odrl:prohibition [ odrl:action odrl:delete ] .
END
UNTIL=$(date -u -d '+30 days' +%Y-%m-%dT%H:%M:%SZ 2>/dev/null || date -u -v+30d +%Y-%m-%dT%H:%M:%SZ)
run mandate issue --key owner.json --delegate "$AGENT" --policy policy.ttl --until "$UNTIL" --out owner-to-agent.json

# The agent passes on reading alone, one hop deeper; the organisation passes that on, and its agent may not.
run mandate attenuate --parent owner-to-agent.json --key agent.json --delegate "$ORG" --action read --depth 1 \
    --out agent-to-org.json
run mandate attenuate --parent agent-to-org.json --key org.json --delegate "$WORKER" --depth 0 --out org-to-worker.json

# More than the parent gives is named, and not signed.
run mandate attenuate --parent agent-to-org.json --key org.json --delegate "$WORKER" --action write --depth 1 || true
run mandate attenuate --parent agent-to-org.json --key org.json --delegate "$WORKER" --depth 1 || true

# Drawn, and judged: the chain as such, then for reading, then for writing.
run mandate inspect org-to-worker.json owner-to-agent.json agent-to-org.json
run mandate verify --root "$OWNER" org-to-worker.json owner-to-agent.json agent-to-org.json \
    --action read --target https://me.example/diary
run mandate verify --root "$OWNER" org-to-worker.json owner-to-agent.json agent-to-org.json \
    --action write --target https://me.example/diary || true

# The server, and a message by the organisation's agent with all three papers.
cp "$policies/read.ttl" .
HASH=$("$writgate" protocol hash read.ttl)
cat > writgate.toml <<END
domains = ["https://me.example/agent"]
obligations = ["http://www.w3.org/ns/odrl/2/attribute"]

[[roots]]
prefix = "https://me.example/"
principal = "$OWNER"

[[protocols]]
file = "read.ttl"
hash = "$HASH"
classes = ["https://schema.org/ReadAction"]
declared = true
source = "https://me.example/protocols/read"

[ledger]
path = "ledger.db"
END
"$writgate" ledger init --first
cat > intent.ttl <<'END'
@prefix a2a:    <https://w3id.org/jeswr/a2a#> .
@prefix schema: <https://schema.org/> .

<urn:uuid:6c0e0a8e-52b7-4a2b-8f0c-1d7a9be0d1f4> a a2a:Intent ;
    a2a:action [ a schema:ReadAction ; schema:object <https://me.example/diary> ] .
END
message() { # key, then the credentials
    CHALLENGE=$("$writgate" challenge)
    "$writgate" message new --id "m-$1" --intent intent.ttl --protocol "$HASH" --out draft.json
    BOUND=$("$writgate" challenge bind --message draft.json --nonce "$CHALLENGE" --domain https://me.example/agent)
    local key=$1.json papers=()
    for paper in "${@:2}"; do papers+=(--credential "$paper.json"); done
    "$writgate" mandate present --key "$key" "${papers[@]}" --challenge "$BOUND" --domain https://me.example/agent \
        --out presentation.json
    "$writgate" message new --id "m-$1" --intent intent.ttl --protocol "$HASH" --presentation presentation.json \
        --out message.json
}
message worker owner-to-agent agent-to-org org-to-worker
run decide message.json --challenge "$CHALLENGE" --explain

# Without the middle hop there is no chain.
message worker owner-to-agent org-to-worker
run decide message.json --challenge "$CHALLENGE" --explain || true
