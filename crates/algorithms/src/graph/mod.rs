//! Connected graphs: neighbours by position behind ports from 0.

pub mod echo;
