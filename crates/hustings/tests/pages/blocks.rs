//! The blocks of the pages.

use std::fmt;
use std::fs;
use std::path::{Path, PathBuf};

/// A fenced block that has commands, or is a file that some program reads.
#[derive(Debug)]
pub(super) struct Block {
    pub(super) page: String,
    line: usize,
    label: String,
    pub(super) lines: Vec<String>,
}

impl fmt::Display for Block {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}:{}: `{}`", self.page, self.line, self.first())
    }
}

impl Block {
    pub(super) fn first(&self) -> &str {
        self.lines.first().map_or("", String::as_str)
    }

    /// Whether commands have a prompt, and everything else is output.
    fn has_prompts(&self) -> bool {
        self.lines.iter().any(|line| line.starts_with("$ ")) || self.label == "console"
    }

    fn prompted(line: &str) -> Option<&str> {
        line.strip_prefix("$ ").or_else(|| line.strip_prefix("# "))
    }

    /// The commands, as a script.
    pub(super) fn commands(&self) -> String {
        let mut script = String::new();
        let mut continues = false;
        for line in &self.lines {
            let command = match Self::prompted(line) {
                _ if !self.has_prompts() || continues => Some(line.as_str()),
                prompted => prompted,
            };
            if let Some(command) = command {
                script += &format!("{command}\n");
                continues = command.ends_with('\\');
            }
        }
        script
    }

    /// What the page says that the commands print.
    pub(super) fn output(&self) -> Vec<&str> {
        let is_output = |line: &&str| self.has_prompts() && Self::prompted(line).is_none();
        self.lines.iter().map(String::as_str).filter(is_output).collect()
    }

    /// Whether the tests of `docs.rs` run each of its lines: simulations and checks, which need no files and no nodes.
    pub(super) fn is_run_line_by_line(&self) -> bool {
        let is_one = |line: &String| line.starts_with("$ hustings sim ") || line.starts_with("$ hustings check ");
        let is_left_out = |line: &String| line.contains("--all") || line.split(' ').any(is_large);
        self.lines.iter().all(|line| is_one(line) && !is_left_out(line))
    }

    /// Whether it must be run. Plain text shows output; a block without a label is whatever it says.
    fn counts(&self) -> bool {
        match self.label.as_str() {
            "text" => {
                let starts = ["$ ", "hustings ", "tar "];
                let is_command = |line: &String| starts.iter().any(|start| line.starts_with(start));
                self.lines.iter().take(2).any(is_command) && !self.first().starts_with("hustings run:")
            }
            _ => true,
        }
    }
}

/// Elections of so many nodes are left out by `docs.rs`.
fn is_large(word: &str) -> bool {
    word.len() >= 7 && word.parse::<u64>().is_ok()
}

/// The blocks of a page, outside of which nothing is looked at.
pub(super) fn parse(page: &str, text: &str) -> Vec<Block> {
    let mut blocks = Vec::new();
    let mut open: Option<(Block, usize)> = None;
    for (number, line) in text.lines().enumerate() {
        let indent = line.len() - line.trim_start().len();
        let fence = line.trim_start().strip_prefix("```");
        open = match (open, fence) {
            (None, None) => None,
            (None, Some(label)) => {
                let (page, label) = (page.to_string(), label.trim().to_string());
                Some((Block { page, line: number + 1, label, lines: Vec::new() }, indent))
            }
            (Some((block, _)), Some(_)) => {
                blocks.push(block);
                None
            }
            (Some((mut block, indent)), None) => {
                block.lines.push(line.get(indent..).unwrap_or_default().to_string());
                Some((block, indent))
            }
        };
    }
    assert!(open.is_none(), "{page}: the last block does not end");
    blocks.retain(Block::counts);
    blocks
}

/// The blocks of the README, of CONTRIBUTING and of all pages below `docs/`.
pub(super) fn blocks_of(repository: &Path) -> Vec<Block> {
    let mut pages = vec![PathBuf::from("README.md"), PathBuf::from("CONTRIBUTING.md")];
    let mut folders = vec![PathBuf::from("docs")];
    while let Some(folder) = folders.pop() {
        for entry in fs::read_dir(repository.join(&folder)).expect("the folder is there") {
            let path = folder.join(entry.expect("the folder can be read").file_name());
            if repository.join(&path).is_dir() {
                folders.push(path);
            } else if path.extension().is_some_and(|extension| extension == "md") {
                pages.push(path);
            }
        }
    }
    pages.sort();
    let read = |page: &PathBuf| {
        let text = fs::read_to_string(repository.join(page)).expect("the page can be read");
        parse(&page.display().to_string(), &text)
    };
    pages.iter().flat_map(read).collect()
}
