//! One policy against one request, in three-valued logic.
