//! Policy-content binding (`mandate.md` 3): is this document the policy that the issuer signed for?
