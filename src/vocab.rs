//! The IRIs that Writgate knows, each written once.

/// The A2A RDF extension, compared exactly (`/v2` is another extension: URI-1, VER-1).
pub const EXTENSION: &str = "https://w3id.org/jeswr/a2a-rdf/v1";
/// Part metadata key: which of the extension's payloads a part holds (PMETA-1).
pub const META_KIND: &str = "https://w3id.org/jeswr/a2a-rdf/v1/kind";
/// Part metadata key: the pinned Protocol Document's hash (PMETA-2).
pub const META_PROTOCOL_HASH: &str = "https://w3id.org/jeswr/a2a-rdf/v1/protocolHash";
/// Error metadata key: the wire code (ERR-1..3).
pub const META_ERROR: &str = "https://w3id.org/jeswr/a2a-rdf/v1/error";

macro_rules! iris {
    ($( $(#[$doc:meta])* $name:ident = $base:literal $(+ $local:literal)? ; )*) => {
        $( #[allow(missing_docs, reason = "the value is the documentation")] $(#[$doc])* pub const $name: &str = concat!($base $(, $local)?); )*
    };
}

/// The vocabulary of the extension itself.
pub mod a2a {
    iris! {
        NS = "https://w3id.org/jeswr/a2a#";
        INTENT = "https://w3id.org/jeswr/a2a#" + "Intent";
        ACTION = "https://w3id.org/jeswr/a2a#" + "action";
        MODE = "https://w3id.org/jeswr/a2a#" + "mode";
        PARAMETER = "https://w3id.org/jeswr/a2a#" + "parameter";
        PARAM_KEY = "https://w3id.org/jeswr/a2a#" + "paramKey";
        PARAM_VALUE = "https://w3id.org/jeswr/a2a#" + "paramValue";
        LIST_ACTION = "https://w3id.org/jeswr/a2a#" + "ListAction";
        QUERY_ACTION = "https://w3id.org/jeswr/a2a#" + "QueryAction";
        SUBSCRIBE_ACTION = "https://w3id.org/jeswr/a2a#" + "SubscribeAction";
        APPEND_ACTION = "https://w3id.org/jeswr/a2a#" + "AppendAction";
        GRANT_ACTION = "https://w3id.org/jeswr/a2a#" + "GrantAction";
        PROTOCOL_DOCUMENT = "https://w3id.org/jeswr/a2a#" + "ProtocolDocument";
        REQUEST_SHAPE = "https://w3id.org/jeswr/a2a#" + "requestShape";
        RESPONSE_SHAPE = "https://w3id.org/jeswr/a2a#" + "responseShape";
        UPGRADE_OFFER = "https://w3id.org/jeswr/a2a#" + "UpgradeOffer";
        UPGRADE_RESPONSE = "https://w3id.org/jeswr/a2a#" + "UpgradeResponse";
        PROTOCOL_HASH = "https://w3id.org/jeswr/a2a#" + "protocolHash";
        PROTOCOL_SOURCE = "https://w3id.org/jeswr/a2a#" + "protocolSource";
        PROTOCOL_NAME = "https://w3id.org/jeswr/a2a#" + "protocolName";
        REQUIRED = "https://w3id.org/jeswr/a2a#" + "required";
        ACCEPT = "https://w3id.org/jeswr/a2a#" + "accept";
        REASON = "https://w3id.org/jeswr/a2a#" + "reason";
    }
}

/// schema.org terms that intents use.
pub mod schema {
    iris! {
        NS = "https://schema.org/";
        OBJECT = "https://schema.org/" + "object";
        TARGET = "https://schema.org/" + "target";
        RECIPIENT = "https://schema.org/" + "recipient";
        AGENT = "https://schema.org/" + "agent";
        READ_ACTION = "https://schema.org/" + "ReadAction";
        CREATE_ACTION = "https://schema.org/" + "CreateAction";
        UPDATE_ACTION = "https://schema.org/" + "UpdateAction";
        DELETE_ACTION = "https://schema.org/" + "DeleteAction";
        ENCODING_FORMAT = "https://schema.org/" + "encodingFormat";
    }
}

/// Web Access Control terms.
pub mod acl {
    iris! {
        NS = "http://www.w3.org/ns/auth/acl#";
        READ = "http://www.w3.org/ns/auth/acl#" + "Read";
        WRITE = "http://www.w3.org/ns/auth/acl#" + "Write";
        APPEND = "http://www.w3.org/ns/auth/acl#" + "Append";
        CONTROL = "http://www.w3.org/ns/auth/acl#" + "Control";
    }
}

/// ODRL 2.2 terms.
pub mod odrl {
    iris! {
        NS = "http://www.w3.org/ns/odrl/2/";
        POLICY = "http://www.w3.org/ns/odrl/2/" + "Policy";
        SET = "http://www.w3.org/ns/odrl/2/" + "Set";
        OFFER = "http://www.w3.org/ns/odrl/2/" + "Offer";
        AGREEMENT = "http://www.w3.org/ns/odrl/2/" + "Agreement";
        ASSERTION = "http://www.w3.org/ns/odrl/2/" + "Assertion";
        PRIVACY = "http://www.w3.org/ns/odrl/2/" + "Privacy";
        REQUEST = "http://www.w3.org/ns/odrl/2/" + "Request";
        TICKET = "http://www.w3.org/ns/odrl/2/" + "Ticket";
        HAS_POLICY = "http://www.w3.org/ns/odrl/2/" + "hasPolicy";
        UID = "http://www.w3.org/ns/odrl/2/" + "uid";
        PROFILE = "http://www.w3.org/ns/odrl/2/" + "profile";
        CONFLICT = "http://www.w3.org/ns/odrl/2/" + "conflict";
        PERM = "http://www.w3.org/ns/odrl/2/" + "perm";
        PROHIBIT = "http://www.w3.org/ns/odrl/2/" + "prohibit";
        INVALID = "http://www.w3.org/ns/odrl/2/" + "invalid";
        INHERIT_FROM = "http://www.w3.org/ns/odrl/2/" + "inheritFrom";
        PERMISSION = "http://www.w3.org/ns/odrl/2/" + "permission";
        PROHIBITION = "http://www.w3.org/ns/odrl/2/" + "prohibition";
        OBLIGATION = "http://www.w3.org/ns/odrl/2/" + "obligation";
        DUTY = "http://www.w3.org/ns/odrl/2/" + "duty";
        REMEDY = "http://www.w3.org/ns/odrl/2/" + "remedy";
        CONSEQUENCE = "http://www.w3.org/ns/odrl/2/" + "consequence";
        ASSIGNER = "http://www.w3.org/ns/odrl/2/" + "assigner";
        ASSIGNEE = "http://www.w3.org/ns/odrl/2/" + "assignee";
        TARGET = "http://www.w3.org/ns/odrl/2/" + "target";
        ACTION = "http://www.w3.org/ns/odrl/2/" + "action";
        CONSTRAINT = "http://www.w3.org/ns/odrl/2/" + "constraint";
        REFINEMENT = "http://www.w3.org/ns/odrl/2/" + "refinement";
        LEFT_OPERAND = "http://www.w3.org/ns/odrl/2/" + "leftOperand";
        OPERATOR = "http://www.w3.org/ns/odrl/2/" + "operator";
        RIGHT_OPERAND = "http://www.w3.org/ns/odrl/2/" + "rightOperand";
        AND = "http://www.w3.org/ns/odrl/2/" + "and";
        OR = "http://www.w3.org/ns/odrl/2/" + "or";
        XONE = "http://www.w3.org/ns/odrl/2/" + "xone";
        AND_SEQUENCE = "http://www.w3.org/ns/odrl/2/" + "andSequence";
        PART_OF = "http://www.w3.org/ns/odrl/2/" + "partOf";
        SOURCE = "http://www.w3.org/ns/odrl/2/" + "source";
        USE = "http://www.w3.org/ns/odrl/2/" + "use";
        TRANSFER = "http://www.w3.org/ns/odrl/2/" + "transfer";
        GRANT_USE = "http://www.w3.org/ns/odrl/2/" + "grantUse";
        NEXT_POLICY = "http://www.w3.org/ns/odrl/2/" + "nextPolicy";
        READ = "http://www.w3.org/ns/odrl/2/" + "read";
        WRITE = "http://www.w3.org/ns/odrl/2/" + "write";
        WRITE_TO = "http://www.w3.org/ns/odrl/2/" + "writeTo";
        MODIFY = "http://www.w3.org/ns/odrl/2/" + "modify";
        DELETE = "http://www.w3.org/ns/odrl/2/" + "delete";
        APPEND = "http://www.w3.org/ns/odrl/2/" + "append";
        APPEND_TO = "http://www.w3.org/ns/odrl/2/" + "appendTo";
        EQ = "http://www.w3.org/ns/odrl/2/" + "eq";
        NEQ = "http://www.w3.org/ns/odrl/2/" + "neq";
        LT = "http://www.w3.org/ns/odrl/2/" + "lt";
        LTEQ = "http://www.w3.org/ns/odrl/2/" + "lteq";
        GT = "http://www.w3.org/ns/odrl/2/" + "gt";
        GTEQ = "http://www.w3.org/ns/odrl/2/" + "gteq";
        IS_A = "http://www.w3.org/ns/odrl/2/" + "isA";
        HAS_PART = "http://www.w3.org/ns/odrl/2/" + "hasPart";
        IS_PART_OF = "http://www.w3.org/ns/odrl/2/" + "isPartOf";
        IS_ALL_OF = "http://www.w3.org/ns/odrl/2/" + "isAllOf";
        IS_ANY_OF = "http://www.w3.org/ns/odrl/2/" + "isAnyOf";
        IS_NONE_OF = "http://www.w3.org/ns/odrl/2/" + "isNoneOf";
        DATE_TIME = "http://www.w3.org/ns/odrl/2/" + "dateTime";
        COUNT = "http://www.w3.org/ns/odrl/2/" + "count";
        PURPOSE = "http://www.w3.org/ns/odrl/2/" + "purpose";
        RECIPIENT = "http://www.w3.org/ns/odrl/2/" + "recipient";
    }
}

/// The ODRL Agent-Delegation Profile.
pub mod odrld {
    iris! {
        PROFILE = "https://w3id.org/jeswr/odrl-delegation";
        NS = "https://w3id.org/jeswr/odrl-delegation#";
        DELEGATED_UNDER = "https://w3id.org/jeswr/odrl-delegation#" + "delegatedUnder";
        DELEGATION_DEPTH = "https://w3id.org/jeswr/odrl-delegation#" + "delegationDepth";
        REVOCATION = "https://w3id.org/jeswr/odrl-delegation#" + "Revocation";
        REVOKED_POLICY = "https://w3id.org/jeswr/odrl-delegation#" + "revokedPolicy";
    }
}

/// Agent Authorization Credentials.
pub mod svc {
    iris! {
        NS = "https://w3id.org/jeswr/solid-vc#";
        AGENT_AUTHORIZATION_CREDENTIAL = "https://w3id.org/jeswr/solid-vc#" + "AgentAuthorizationCredential";
        AUTHORIZES = "https://w3id.org/jeswr/solid-vc#" + "authorizes";
        POLICY = "https://w3id.org/jeswr/solid-vc#" + "policy";
        ACTION = "https://w3id.org/jeswr/solid-vc#" + "action";
        TARGET = "https://w3id.org/jeswr/solid-vc#" + "target";
        TYPE = "https://w3id.org/jeswr/solid-vc#" + "type";
        STATUS_LIST_CLASS = "https://w3id.org/jeswr/solid-vc#" + "BitstringStatusListCredential";
    }
}

/// Verifiable Credentials Data Model 2.0, as its context maps it.
pub mod cred {
    iris! {
        CONTEXT_V2 = "https://www.w3.org/ns/credentials/v2";
        VERIFIABLE_CREDENTIAL = "https://www.w3.org/2018/credentials#" + "VerifiableCredential";
        VERIFIABLE_PRESENTATION = "https://www.w3.org/2018/credentials#" + "VerifiablePresentation";
        HAS_CREDENTIAL = "https://www.w3.org/2018/credentials#" + "verifiableCredential";
        HOLDER = "https://www.w3.org/2018/credentials#" + "holder";
        ISSUER = "https://www.w3.org/2018/credentials#" + "issuer";
        SUBJECT = "https://www.w3.org/2018/credentials#" + "credentialSubject";
        STATUS = "https://www.w3.org/2018/credentials#" + "credentialStatus";
        VALID_FROM = "https://www.w3.org/2018/credentials#" + "validFrom";
        VALID_UNTIL = "https://www.w3.org/2018/credentials#" + "validUntil";
        RELATED_RESOURCE = "https://www.w3.org/2018/credentials#" + "relatedResource";
        DIGEST_SRI = "https://www.w3.org/2018/credentials#" + "digestSRI";
        STATUS_LIST_ENTRY = "https://www.w3.org/ns/credentials/status#" + "BitstringStatusListEntry";
        STATUS_PURPOSE = "https://www.w3.org/ns/credentials/status#" + "statusPurpose";
        STATUS_LIST_INDEX = "https://www.w3.org/ns/credentials/status#" + "statusListIndex";
        STATUS_LIST_CREDENTIAL = "https://www.w3.org/ns/credentials/status#" + "statusListCredential";
        STATUS_LIST_CLASS = "https://www.w3.org/ns/credentials/status#" + "BitstringStatusListCredential";
        ENCODED_LIST = "https://www.w3.org/ns/credentials/status#" + "encodedList";
        TTL = "https://www.w3.org/ns/credentials/status#" + "ttl";
    }
}

/// The security vocabulary.
pub mod sec {
    iris! {
        NS = "https://w3id.org/security#";
        PROOF = "https://w3id.org/security#" + "proof";
        DATA_INTEGRITY_PROOF = "https://w3id.org/security#" + "DataIntegrityProof";
        CRYPTOSUITE = "https://w3id.org/security#" + "cryptosuite";
        CRYPTOSUITE_STRING = "https://w3id.org/security#" + "cryptosuiteString";
        VERIFICATION_METHOD = "https://w3id.org/security#" + "verificationMethod";
        PROOF_PURPOSE = "https://w3id.org/security#" + "proofPurpose";
        PROOF_VALUE = "https://w3id.org/security#" + "proofValue";
        PREVIOUS_PROOF = "https://w3id.org/security#" + "previousProof";
        CHALLENGE = "https://w3id.org/security#" + "challenge";
        DOMAIN = "https://w3id.org/security#" + "domain";
        NONCE = "https://w3id.org/security#" + "nonce";
        EXPIRATION = "https://w3id.org/security#" + "expiration";
        ASSERTION_METHOD = "https://w3id.org/security#" + "assertionMethod";
        AUTHENTICATION_METHOD = "https://w3id.org/security#" + "authenticationMethod";
        AUTHENTICATION = "https://w3id.org/security#" + "authentication";
        DIGEST_MULTIBASE = "https://w3id.org/security#" + "digestMultibase";
        MULTIBASE = "https://w3id.org/security#" + "multibase";
    }
}

/// PROV-O, as far as the audit trail uses it.
pub mod prov {
    iris! {
        NS = "http://www.w3.org/ns/prov#";
        ACTIVITY = "http://www.w3.org/ns/prov#" + "Activity";
        AGENT_CLASS = "http://www.w3.org/ns/prov#" + "Agent";
        ENTITY_CLASS = "http://www.w3.org/ns/prov#" + "Entity";
        PLAN = "http://www.w3.org/ns/prov#" + "Plan";
        ASSOCIATION = "http://www.w3.org/ns/prov#" + "Association";
        DELEGATION = "http://www.w3.org/ns/prov#" + "Delegation";
        USAGE = "http://www.w3.org/ns/prov#" + "Usage";
        STARTED_AT_TIME = "http://www.w3.org/ns/prov#" + "startedAtTime";
        ENDED_AT_TIME = "http://www.w3.org/ns/prov#" + "endedAtTime";
        WAS_ASSOCIATED_WITH = "http://www.w3.org/ns/prov#" + "wasAssociatedWith";
        QUALIFIED_ASSOCIATION = "http://www.w3.org/ns/prov#" + "qualifiedAssociation";
        AGENT = "http://www.w3.org/ns/prov#" + "agent";
        HAD_PLAN = "http://www.w3.org/ns/prov#" + "hadPlan";
        HAD_ACTIVITY = "http://www.w3.org/ns/prov#" + "hadActivity";
        ACTED_ON_BEHALF_OF = "http://www.w3.org/ns/prov#" + "actedOnBehalfOf";
        QUALIFIED_DELEGATION = "http://www.w3.org/ns/prov#" + "qualifiedDelegation";
        USED = "http://www.w3.org/ns/prov#" + "used";
        QUALIFIED_USAGE = "http://www.w3.org/ns/prov#" + "qualifiedUsage";
        ENTITY = "http://www.w3.org/ns/prov#" + "entity";
    }
}

/// Our own terms of the audit trail (docs/audit.md lists them). The namespace is a UUID that we drew: nobody else can
/// have it, and there is nothing to look up under it. A term is this followed by its local name.
pub const AUDIT_NS: &str = "urn:uuid:6f1d9c1e-3b0a-4c55-9a57-0e6b2f4d8c31#";

/// Dublin Core terms.
pub mod dcterms {
    iris! {
        NS = "http://purl.org/dc/terms/";
        CREATED = "http://purl.org/dc/terms/" + "created";
        TITLE = "http://purl.org/dc/terms/" + "title";
    }
}

/// SHACL terms.
pub mod sh {
    iris! {
        NS = "http://www.w3.org/ns/shacl#";
        NODE_SHAPE = "http://www.w3.org/ns/shacl#" + "NodeShape";
        PATH = "http://www.w3.org/ns/shacl#" + "path";
    }
}

/// RDF, RDFS, OWL, SKOS and XSD terms.
pub mod rdf {
    iris! {
        NS = "http://www.w3.org/1999/02/22-rdf-syntax-ns#";
        TYPE = "http://www.w3.org/1999/02/22-rdf-syntax-ns#" + "type";
        FIRST = "http://www.w3.org/1999/02/22-rdf-syntax-ns#" + "first";
        REST = "http://www.w3.org/1999/02/22-rdf-syntax-ns#" + "rest";
        NIL = "http://www.w3.org/1999/02/22-rdf-syntax-ns#" + "nil";
        VALUE = "http://www.w3.org/1999/02/22-rdf-syntax-ns#" + "value";
        RDFS_NS = "http://www.w3.org/2000/01/rdf-schema#";
        OWL_NS = "http://www.w3.org/2002/07/owl#";
        OWL_IMPORTS = "http://www.w3.org/2002/07/owl#" + "imports";
        SKOS_NS = "http://www.w3.org/2004/02/skos/core#";
        XSD_NS = "http://www.w3.org/2001/XMLSchema#";
        XSD_STRING = "http://www.w3.org/2001/XMLSchema#" + "string";
        XSD_BOOLEAN = "http://www.w3.org/2001/XMLSchema#" + "boolean";
        XSD_INTEGER = "http://www.w3.org/2001/XMLSchema#" + "integer";
        XSD_DECIMAL = "http://www.w3.org/2001/XMLSchema#" + "decimal";
        XSD_DOUBLE = "http://www.w3.org/2001/XMLSchema#" + "double";
        XSD_DATE_TIME = "http://www.w3.org/2001/XMLSchema#" + "dateTime";
        XSD_DURATION = "http://www.w3.org/2001/XMLSchema#" + "duration";
    }
}

/// Namespaces of annotations: they say something about a policy or a statement and change nothing of it (`mandate.md` 7).
pub(crate) const ANNOTATIONS: [&str; 4] = [rdf::RDFS_NS, dcterms::NS, rdf::SKOS_NS, schema::NS];
