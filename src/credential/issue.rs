//! Making papers: keys, mandates and presentations (`writgate key new`, `mandate issue`, `mandate present`).
