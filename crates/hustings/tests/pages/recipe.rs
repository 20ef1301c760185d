//! How blocks are run: what `blocks.toml` says.

use std::collections::BTreeSet;
use std::fmt;
use std::fs;
use std::path::Path;

use toml::{Table, Value};

use super::blocks::Block;

#[derive(Debug)]
pub(super) struct Recipes {
    /// How many blocks and lines are not run.
    pub(super) exceptions: usize,
    pub(super) list: Vec<Recipe>,
}

#[derive(Debug)]
pub(super) struct Recipe {
    page: String,
    first: String,
    pub(super) how: How,
    /// Whether the page shows exactly what is printed, but for times and numbers.
    pub(super) is_printed: bool,
    /// Lines that are not run, each with its reason.
    pub(super) left_out: Vec<(String, String)>,
    /// Programs that it needs, and how to get them.
    pub(super) tools: Vec<(String, String)>,
    /// The exit codes that commands may have.
    pub(super) codes: String,
}

#[derive(Debug)]
pub(super) enum How {
    /// A test runs it.
    Test(String),
    /// It runs as a script.
    Script(Script),
    /// It is not run, because of this.
    Exception(String),
}

/// What is done around the block.
#[derive(Debug, Default)]
pub(super) struct Script {
    before: String,
    after: String,
    /// Texts of the block, and what stands there instead.
    replace: Vec<(String, String)>,
    /// The block is written into this file instead of being run.
    file: Option<String>,
}

impl Script {
    pub(super) fn describe(&self) -> String {
        format!("--- before\n{}--- after\n{}", self.before, self.after)
    }
}

impl fmt::Display for Recipe {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "`{}` in {}", self.first, self.page)
    }
}

impl Recipes {
    /// The list is read when the test runs, so that a change of it needs no build.
    pub(super) fn read() -> Recipes {
        let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/pages/blocks.toml");
        Recipes::parse(&fs::read_to_string(path).expect("the list is there"))
    }

    pub(super) fn parse(text: &str) -> Recipes {
        let table: Table = toml::from_str(text).unwrap_or_else(|error| panic!("blocks.toml: {error}"));
        let exceptions = table["exceptions"].as_integer().and_then(|count| usize::try_from(count).ok());
        let list = table.get("block").and_then(Value::as_array).into_iter().flatten();
        Recipes { exceptions: exceptions.expect("a number"), list: list.map(Recipe::parse).collect() }
    }
}

impl Recipe {
    fn parse(value: &Value) -> Recipe {
        let mut table = value.as_table().expect("a block is a table").clone();
        let mut text = |key: &str| match table.remove(key) {
            Some(Value::String(text)) => Some(text),
            None => None,
            Some(other) => panic!("{key} = {other:?}: expected a text"),
        };
        let (page, first) =
            (text("page").expect("a block has a page"), text("first").expect("a block has a first line"));
        let (test, exception, file) = (text("test"), text("exception"), text("file"));
        let (before, after) = (text("before").unwrap_or_default(), text("after").unwrap_or_default());
        let codes = text("codes").unwrap_or_else(|| "0".to_string());
        let mut pairs = |key: &str| -> Vec<(String, String)> {
            let list = match table.remove(key) {
                Some(Value::Array(list)) => list,
                None => Vec::new(),
                Some(other) => panic!("{key} = {other:?}: expected pairs"),
            };
            let pair = |pair: &Value| {
                let [Value::String(from), Value::String(to)] = pair.as_array().expect("a pair").as_slice() else {
                    panic!("{key}: expected pairs of texts")
                };
                (from.clone(), to.clone())
            };
            list.iter().map(pair).collect()
        };
        let (replace, left_out, tools) = (pairs("replace"), pairs("left-out"), pairs("tools"));
        let is_printed = table.remove("printed").is_some_and(|value| value.as_bool().expect("true or false"));
        assert!(table.is_empty(), "{page}: `{first}`: unknown keys {table:?}");
        let how = match (test, exception) {
            (Some(test), None) => How::Test(test),
            (None, Some(reason)) => How::Exception(reason),
            (None, None) => How::Script(Script { before, after, replace, file }),
            (Some(_), Some(_)) => panic!("{page}: `{first}` has a test and is an exception"),
        };
        Recipe { page, first, how, is_printed, left_out, tools, codes }
    }

    pub(super) fn is_for(&self, block: &Block) -> bool {
        self.page == block.page && self.first == block.first()
    }

    /// What bash runs.
    pub(super) fn script(&self, block: &Block, script: &Script) -> Result<String, String> {
        let mut body = match &script.file {
            None => block.commands(),
            Some(_) => block.lines.iter().map(|line| format!("{line}\n")).collect(),
        };
        for (line, _) in &self.left_out {
            let whole = format!("{line}\n");
            if !body.contains(&whole) {
                return Err(format!("it has no line `{line}`, which blocks.toml leaves out"));
            }
            body = body.replace(&whole, "");
        }
        for (from, to) in &script.replace {
            if !body.contains(from) {
                return Err(format!("it has no `{from}`, which blocks.toml replaces"));
            }
            body = body.replace(from, to);
        }
        if let Some(file) = &script.file {
            body = format!("cat > {file} <<'END_OF_BLOCK'\n{body}END_OF_BLOCK\n");
        }
        // Only what the block itself prints is compared.
        let (before, after) = (&script.before, &script.after);
        Ok(format!("exec 3>&1 >&2\n{before}\nexec >&3\n{body}\nexec >&2\n{after}\n"))
    }
}

/// The names of all tests.
pub(super) fn test_names(repository: &Path) -> BTreeSet<String> {
    let mut names = BTreeSet::new();
    let mut folders = vec![repository.join("crates")];
    while let Some(folder) = folders.pop() {
        for entry in fs::read_dir(folder).expect("the folder is there") {
            let path = entry.expect("the folder can be read").path();
            if path.is_dir() {
                folders.push(path);
            } else if path.extension().is_some_and(|extension| extension == "rs") {
                let text = fs::read_to_string(&path).expect("a source");
                let lines = text.lines().collect::<Vec<_>>();
                let is_test = |pair: &&[&str]| pair[0].trim() == "#[test]";
                let name = |pair: &[&str]| Some(pair[1].trim().strip_prefix("fn ")?.split('(').next()?.to_string());
                names.extend(lines.windows(2).filter(is_test).filter_map(name));
            }
        }
    }
    names
}
