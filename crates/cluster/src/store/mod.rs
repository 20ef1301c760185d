//! What a node must not forget.
