//! What nodes say to each other.
