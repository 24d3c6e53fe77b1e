//! Reading a policy from its graph.
