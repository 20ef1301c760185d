//! The size of each crate: its public items and its lines of Rust. `docs/performance.md` records the figures.

use std::fs;
use std::path::Path;

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
    println!("| crate | public items | lines |\n|---|--:|--:|");
    for name in names {
        let Size { public_items, lines } = size(&folder.join(&name)).map_err(|error| format!("{name}: {error}"))?;
        println!("| {name} | {public_items} | {lines} |");
    }
    Ok(())
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
}
