//! What a node decides, without I/O or clock.
