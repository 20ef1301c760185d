//! The loop around the machine.
