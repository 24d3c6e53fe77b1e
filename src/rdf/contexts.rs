//! The JSON-LD contexts that are known, each pinned by URL and SHA-256. Nothing else is ever loaded.
