//! The size of each crate: its public items and its lines of Rust. `docs/performance.md` records the figures.
//!
//! Two numbers say how large the interface is. *Declared* counts the items that the source declares `pub`, methods and
//! re-exports among them. Some of them cannot be named from outside: the state of an algorithm must be `pub` because
//! it is an associated type of a public trait, but its module is private. *Documented* counts the pages of `cargo doc`:
//! modules, types, traits, functions, constants and macros that users can name.

use std::fs;
use std::path::Path;
use std::process::Command;

use crate::lexer::{self, Class};
use crate::tidy;

/// What follows `pub` in the declaration of an item. Public fields have another word there and do not count.
const ITEMS: &[&str] = &[
    "async", "const", "enum", "extern", "fn", "macro", "mod", "static", "struct", "trait", "type", "union", "unsafe",
    "use",
];

/// What a crate has.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
struct Size {
    /// Items declared `pub` below `src`, methods and re-exports among them.
    public_items: usize,
    /// Lines of Rust, tests and benches among them.
    lines: usize,
}

/// Prints a table of all crates.
pub(crate) fn print(root: &Path) -> Result<(), String> {
    let folder = root.join("crates");
    let names = || -> std::io::Result<Vec<String>> {
        fs::read_dir(&folder)?.map(|entry| Ok(entry?.file_name().to_string_lossy().into_owned())).collect()
    };
    let mut names = names().map_err(|error| format!("the crates cannot be listed: {error}"))?;
    names.sort();
    let target = root.join("target");
    document(root, &target)?;
    println!("| crate | declared `pub` | documented | lines |\n|---|--:|--:|--:|");
    for name in names {
        let failed = |error: std::io::Error| format!("{name}: {error}");
        let Size { public_items, lines } = size(&folder.join(&name)).map_err(failed)?;
        let library = if name == "hustings" { name.clone() } else { format!("hustings_{name}") };
        let documented = documented(&target.join("doc").join(library)).map_err(failed)?;
        println!("| {name} | {public_items} | {documented} | {lines} |");
    }
    Ok(())
}

/// Writes the documentation of all crates, without pages that are left from an earlier version.
fn document(root: &Path, target: &Path) -> Result<(), String> {
    match fs::remove_dir_all(target.join("doc")) {
        Err(error) if error.kind() != std::io::ErrorKind::NotFound => return Err(format!("old pages: {error}")),
        _ => {}
    }
    let cargo = std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into());
    let arguments = ["doc", "--workspace", "--no-deps", "--locked", "--quiet", "--target-dir"];
    let status = Command::new(cargo).args(arguments).arg(target).current_dir(root).status();
    match status {
        Ok(status) if status.success() => Ok(()),
        Ok(status) => Err(format!("`cargo doc` failed: {status}")),
        Err(error) => Err(format!("`cargo doc` could not be started: {error}")),
    }
}

/// The number of items with a page below a folder; 0 for a crate without a library.
fn documented(folder: &Path) -> std::io::Result<usize> {
    if !folder.exists() {
        return Ok(0);
    }
    let mut files = Vec::new();
    tidy::collect(folder, folder, &mut files)?;
    let is_page =
        |file: &&std::path::PathBuf| file.file_name().is_some_and(|name| is_item_page(&name.to_string_lossy()));
    Ok(files.iter().filter(is_page).count())
}

/// Whether rustdoc gives this name to the page of an item, such as `struct.Outcome.html`; a module has `index.html`.
fn is_item_page(name: &str) -> bool {
    let kinds = ["index", "struct", "enum", "trait", "fn", "constant", "static", "type", "macro", "union"];
    let mut parts = name.split('.');
    let is_kind = parts.next().is_some_and(|kind| kinds.contains(&kind));
    // Macros also have a page with an exclamation mark, which leads to the other one.
    is_kind && parts.next_back() == Some("html") && !name.contains('!')
}

fn size(folder: &Path) -> std::io::Result<Size> {
    let mut files = Vec::new();
    tidy::collect(folder, folder, &mut files)?;
    let mut size = Size::default();
    for file in files.iter().filter(|file| file.extension().is_some_and(|extension| extension == "rs")) {
        let source = fs::read_to_string(folder.join(file))?;
        size.lines += source.lines().count();
        if file.starts_with("src") {
            size.public_items += public_items(&source);
        }
    }
    Ok(size)
}

/// The number of items that are declared `pub`. Items in private modules count as well: `unreachable_pub` warns about
/// those that nobody can reach.
fn public_items(source: &str) -> usize {
    let is_item = |code: &str| {
        let item = code.trim_start().strip_prefix("pub ").and_then(|rest| rest.split_whitespace().next());
        item.is_some_and(|word| ITEMS.contains(&word))
    };
    lexer::lines(source).iter().filter(|line| is_item(&line.only(Class::Code))).count()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn counts_what_is_declared_public() {
        let source = "pub mod a;\npub use b::C;\npub struct D {\n    pub field: u8,\n}\nimpl D {\n    \
                      pub const fn e() {}\n    pub(crate) fn f() {}\n    fn g() {}\n}\n// pub fn h() {}\n\"\npub fn i\"";
        assert_eq!(public_items(source), 4);
        assert_eq!(public_items("fn publish() {}\npublic!();\n"), 0);
    }

    #[test]
    fn counts_the_pages_of_items() {
        assert!(
            ["index.html", "struct.Outcome.html", "fn.simulate.html", "macro.kinds.html"].into_iter().all(is_item_page)
        );
        assert!(!["all.html", "sidebar-items.js", "macro.kinds!.html", "help.html"].into_iter().any(is_item_page));
    }
}
