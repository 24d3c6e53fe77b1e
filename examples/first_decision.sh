#!/usr/bin/env bash
# From keys to an allow: the README's commands, in a folder of their own. Give the binary's path, or have `writgate` on
# the PATH: examples/first_decision.sh target/release/writgate
set -euo pipefail
writgate=$(realpath "$(command -v "${1:-writgate}")")
policies=$(realpath "$(dirname "${BASH_SOURCE[0]}")/../policies")
cd "$(mktemp -d)"
trap 'rm -rf "$PWD"' EXIT
run() { printf '\n$ writgate'; printf ' %q' "$@"; printf '\n'; "$writgate" "$@"; }

# Keys: each agent is the did:key of its own.
OWNER=$("$writgate" key new --out owner.json)
AGENT=$("$writgate" key new --out agent.json)
echo "owner $OWNER"
echo "agent $AGENT"

# The owner's policy, and the mandate that binds it.
cat > policy.ttl <<EOF
@prefix odrl: <http://www.w3.org/ns/odrl/2/> .
@prefix acl:  <http://www.w3.org/ns/auth/acl#> .

<https://me.example/policies/1> a odrl:Agreement ;
    odrl:assigner <$OWNER> ;
    odrl:assignee <$AGENT> ;
    odrl:permission [
        odrl:action acl:Control ;
        odrl:target <https://me.example/notes/> ;
        odrl:constraint [
            odrl:leftOperand odrl:recipient ;
            odrl:operator odrl:eq ;
            odrl:rightOperand <https://bob.example/profile#me> ] ] .
EOF
UNTIL=$(date -u -d '+30 days' +%Y-%m-%dT%H:%M:%SZ 2>/dev/null || date -u -v+30d +%Y-%m-%dT%H:%M:%SZ)
run mandate issue --key owner.json --delegate "$AGENT" --policy policy.ttl --until "$UNTIL" --out mandate.json

# The server: its domain, who owns what, the protocol that it speaks, its ledger.
cp "$policies/grant-access.ttl" .
HASH=$("$writgate" protocol hash grant-access.ttl)
cat > writgate.toml <<EOF
domains = ["https://me.example/agent"]

[[roots]]
prefix = "https://me.example/"
principal = "$OWNER"

[[protocols]]
file = "grant-access.ttl"
hash = "$HASH"
classes = ["https://w3id.org/jeswr/a2a#GrantAction"]
declared = true
source = "https://me.example/protocols/grant-access"

[ledger]
path = "ledger.db"

[audit]
key = "audit-key.json"
checkpoints = "checkpoints.jsonl"
EOF
run ledger init --first
CHALLENGE=$("$writgate" challenge)

# The agent: an intent, a presentation for this message and no other, and the message.
cat > intent.ttl <<'EOF'
@prefix a2a:    <https://w3id.org/jeswr/a2a#> .
@prefix acl:    <http://www.w3.org/ns/auth/acl#> .
@prefix schema: <https://schema.org/> .

<urn:uuid:0a4e2a0a-5c0e-4f7a-9a53-2f0c8f6f7c11> a a2a:Intent ;
    a2a:action [ a a2a:GrantAction ;
        schema:object    <https://me.example/notes/> ;
        schema:recipient <https://bob.example/profile#me> ;
        a2a:mode         acl:Read ] .
EOF
run message new --id m-1 --intent intent.ttl --protocol "$HASH" --out draft.json
BOUND=$("$writgate" challenge bind --message draft.json --nonce "$CHALLENGE" --domain https://me.example/agent)
run mandate present --key agent.json --credential mandate.json --challenge "$BOUND" \
    --domain https://me.example/agent --out presentation.json
run message new --id m-1 --intent intent.ttl --protocol "$HASH" --presentation presentation.json --out message.json

# The decision; the same message again; and with Carol in Bob's place, under a challenge of its own.
run decide message.json --challenge "$CHALLENGE" --explain
run decide message.json --challenge "$CHALLENGE" || true
sed 's/bob.example/carol.example/' intent.ttl > carol.ttl
CHALLENGE=$("$writgate" challenge)
"$writgate" message new --id m-2 --intent carol.ttl --protocol "$HASH" --out draft.json
BOUND=$("$writgate" challenge bind --message draft.json --nonce "$CHALLENGE" --domain https://me.example/agent)
"$writgate" mandate present --key agent.json --credential mandate.json --challenge "$BOUND" \
    --domain https://me.example/agent --out presentation.json
"$writgate" message new --id m-2 --intent carol.ttl --protocol "$HASH" --presentation presentation.json --out carol.json
run decide carol.json --challenge "$CHALLENGE" || true

# Afterwards: what the ledger recorded, whether it is what was written, and whether the same comes out again.
run audit list
LAST=$("$writgate" audit list --json | tail -n 1 | sed 's/.*"decisionId":"\([^"]*\)".*/\1/')
run audit explain "$LAST"
run audit verify --checkpoints checkpoints.jsonl
run audit replay --all
run audit query --name refusals
run audit report --html audit.html
