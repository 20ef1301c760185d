//! Authenticated connections between members.
