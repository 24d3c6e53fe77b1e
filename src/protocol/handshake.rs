//! The upgrade handshake's payloads (OFFER-*, RESP-*, SEC-4/5) and the rule that no answer but one permits prose (DG-1).
