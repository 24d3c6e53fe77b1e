//! `writgate challenge`, and a configuration that issues challenges.
