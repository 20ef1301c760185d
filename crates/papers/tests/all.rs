//! All integration tests of experiments, tables and plots in one program.

mod damaged;
mod papers;
mod phone;
mod plots;
mod visible;
