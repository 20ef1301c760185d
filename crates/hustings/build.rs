//! Leaves the tables for unwinding the stack out of the program.
//!
//! A release aborts on a panic, and its symbols are stripped: nothing unwinds its stack; a backtrace would be a list
//! of numbers. The tables would be a seventh of the program. The compiler's option for that would also concern the
//! profiles that do unwind, so the linker leaves them out. Profilers and debuggers need them:
//! `HUSTINGS_UNWIND_TABLES=1` keeps them.

#![allow(clippy::print_stdout, reason = "this is how a build script speaks to cargo")]

use std::env;

fn main() {
    println!("cargo::rerun-if-changed=build.rs");
    println!("cargo::rerun-if-changed=no-unwind-tables.ld");
    println!("cargo::rerun-if-env-changed=HUSTINGS_UNWIND_TABLES");
    let is = |key: &str, value: &str| env::var(key).is_ok_and(|found| found == value);
    let is_linux = is("CARGO_CFG_TARGET_OS", "linux") && is("CARGO_CFG_TARGET_ENV", "gnu");
    if is("PROFILE", "release") && is_linux && !is_linker_chosen() && !is("HUSTINGS_UNWIND_TABLES", "1") {
        let folder = env::var("CARGO_MANIFEST_DIR").expect("cargo sets it");
        println!("cargo::rustc-link-arg-bins=-T{folder}/no-unwind-tables.ld");
    }
}

/// Whether somebody chose how to link. The linkers that the compiler uses by default know such scripts; others, such as
/// mold, reject them.
fn is_linker_chosen() -> bool {
    let flags = env::var("CARGO_ENCODED_RUSTFLAGS").unwrap_or_default();
    env::var_os("RUSTC_LINKER").is_some() || ["link", "crt-static"].iter().any(|flag| flags.contains(flag))
}
