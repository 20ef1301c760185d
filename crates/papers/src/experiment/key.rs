//! The keys of `[vary]`: the options of `hustings sim`, `p.NAME` and `let.NAME`.

use std::sync::Arc;

use hustings_elections::Catalogue;
use hustings_sim::simulate::{ElectionSpec, Field};
use hustings_text::{nearest, quote};

use super::error::Diagnostic;
use super::phase;

/// A key of `[vary]`.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub(crate) struct Key {
    name: Arc<str>,
    kind: Kind,
}

/// The kind of values of a key.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub(crate) enum Kind {
    Algorithm,
    /// An integer.
    Integer,
    /// A number.
    Float,
    /// True or false.
    Flag,
    /// Text with its own syntax.
    Text,
    /// A list of faults or repairs.
    Faults,
    /// `initiators`.
    Starts,
    /// A list of `cheat` options.
    Cheats,
    /// A parameter of the algorithm.
    Param,
    /// A variable of the experiment.
    Let,
}

/// A row of the table of keys.
struct Row {
    name: &'static str,
    kind: Kind,
    /// The field of an election that it sets.
    field: Option<Field>,
    about: &'static str,
}

const fn row(name: &'static str, kind: Kind, field: Field, about: &'static str) -> Row {
    Row { name, kind, field: Some(field), about }
}

const KEYS: [Row; 25] = [
    Row { name: "algorithm", kind: Kind::Algorithm, field: None, about: "algorithm" },
    row("nodes", Kind::Integer, Field::Nodes, "nodes"),
    row("ids", Kind::Text, Field::Ids, "ids of the nodes"),
    row("values", Kind::Text, Field::Values, "values compared before the ids"),
    row("votes", Kind::Text, Field::Votes, "votes"),
    row("best", Kind::Text, Field::Best, "whether the lowest or the highest wins"),
    row("topology", Kind::Text, Field::Topology, "topology"),
    row("initiators", Kind::Starts, Field::Initiators, "initiators"),
    row("notice", Kind::Text, Field::Notice, "failure detection"),
    row("runs", Kind::Flag, Field::Runs, "whether elections are repeated when reachability changes"),
    row("crash", Kind::Faults, Field::Crashes, "crashes"),
    row("recover", Kind::Faults, Field::Recoveries, "recoveries"),
    row("join", Kind::Faults, Field::Joins, "joining nodes"),
    row("retire", Kind::Faults, Field::Retirements, "retiring nodes"),
    row("cut", Kind::Faults, Field::Cuts, "cut links"),
    row("heal", Kind::Faults, Field::Heals, "healed links"),
    row("partition", Kind::Faults, Field::Partitions, "partitions"),
    row("delay", Kind::Text, Field::Delay, "message delay"),
    row("unordered", Kind::Flag, Field::Unordered, "whether messages may be reordered"),
    row("loss", Kind::Float, Field::Loss, "probability that a message is lost"),
    row("duplicate", Kind::Float, Field::Duplicate, "probability that a message is delivered twice"),
    row("bandwidth", Kind::Integer, Field::Bandwidth, "messages per tick in the whole network"),
    row("medium", Kind::Text, Field::Medium, "medium"),
    row("cheat", Kind::Cheats, Field::Cheats, "cheating nodes"),
    row("until", Kind::Integer, Field::Until, "last tick"),
];

impl Key {
    /// Parses the name of a key.
    pub(crate) fn parse(name: &str) -> Result<Key, Diagnostic> {
        let kind = match name.split_once('.') {
            Some(("p", rest)) if is_name(rest) => Some(Kind::Param),
            Some(("let", rest)) => return variable(name, rest),
            _ => KEYS.iter().find(|row| row.name == name).map(|row| row.kind),
        };
        kind.map(|kind| Key { name: name.into(), kind }).ok_or_else(|| {
            let names: Vec<&str> = KEYS.iter().map(|row| row.name).collect();
            let near = nearest(name, names.iter().copied()).map(str::to_string);
            let allowed = format!("{}, p.NAME, let.NAME", names.join(", "));
            Diagnostic { problem: format!("unknown key `{}`", quote(name)), allowed, nearest: near }
        })
    }

    /// The name in the file and in results.
    pub(crate) fn name(&self) -> &Arc<str> {
        &self.name
    }

    /// A short description.
    pub(crate) fn about(&self) -> &'static str {
        match self.kind {
            Kind::Param => "parameter of the algorithm",
            Kind::Let => "variable of the experiment",
            _ => self.row().map_or("", |row| row.about),
        }
    }

    pub(crate) fn kind(&self) -> Kind {
        self.kind
    }

    fn row(&self) -> Option<&'static Row> {
        KEYS.iter().find(|row| row.name == &*self.name)
    }

    /// Whether its values are numbers, so that ranges and formulas are allowed.
    pub(crate) fn is_number(&self) -> bool {
        matches!(self.kind, Kind::Integer | Kind::Float | Kind::Param | Kind::Let)
    }

    /// The name of a parameter, without `p.`.
    pub(crate) fn param(&self) -> Option<&str> {
        if self.kind == Kind::Param { self.name.strip_prefix("p.") } else { None }
    }

    /// Whether a name in a formula refers to it: its name, `n` for `nodes`, and variables without `let.`.
    pub(crate) fn has_name(&self, name: &str) -> bool {
        &*self.name == name
            || (name == "n" && &*self.name == "nodes")
            || (self.kind == Kind::Let && self.name.strip_prefix("let.") == Some(name))
    }

    /// The canonical text of a value; `None` for an absent option.
    pub(crate) fn canonical(&self, text: &str, catalogue: &Catalogue) -> Result<Option<Arc<str>>, Diagnostic> {
        let text = text.trim();
        // `initiators = "none"` means that no node starts, not that the option is absent.
        let absent = text == "default" || (text == "none" && self.kind != Kind::Starts);
        if absent && !matches!(self.kind, Kind::Algorithm | Kind::Let) {
            return Ok(None);
        }
        let canonical: Arc<str> = match self.kind {
            Kind::Algorithm => return algorithm(text, catalogue).map(Some),
            // What is not a number is rejected below.
            Kind::Integer => text.parse::<u64>().map_or_else(|_| text.into(), |number| number.to_string().into()),
            Kind::Float => text.parse::<f64>().map_or_else(|_| text.into(), |number| (number + 0.0).to_string().into()),
            Kind::Flag => match text {
                "true" => text.into(),
                "false" => return Ok(None),
                _ => return Err(Diagnostic::unknown("boolean", text, &["true", "false"])),
            },
            Kind::Let => match text.parse::<f64>().ok().filter(|number| number.is_finite()) {
                Some(number) => (number + 0.0).to_string().into(),
                None => return Err(Diagnostic::new(format!("`{}` is not a number", quote(text)), "a finite number")),
            },
            Kind::Param => text.into(),
            Kind::Text | Kind::Faults | Kind::Starts | Kind::Cheats => without_spaces(text).into(),
        };
        self.check(&canonical)?;
        Ok(Some(canonical))
    }

    /// Rejects values that the command line would reject.
    fn check(&self, text: &str) -> Result<(), Diagnostic> {
        // Names of the first run are replaced by an example to check the syntax.
        let example = phase::FirstPhase::EXAMPLE;
        match self.kind {
            Kind::Cheats => text.split(',').try_for_each(|one| self.check_one(one)),
            Kind::Starts => {
                let (now, later) = phase::split_starts(text);
                for one in later {
                    self.check_one(&example.substitute(&one)?)?;
                }
                if now.is_empty() { Ok(()) } else { self.check_one(&now) }
            }
            Kind::Faults => phase::split_faults(text).into_iter().try_for_each(|one| {
                self.check_one(&example.substitute(&one)?).map_err(|mut diagnostic| {
                    diagnostic.allowed += "; `leader` or `other` may be the position, `quiet+K` the tick";
                    diagnostic
                })
            }),
            _ => self.check_one(text),
        }
    }

    fn check_one(&self, text: &str) -> Result<(), Diagnostic> {
        match self.row().and_then(|row| row.field) {
            Some(field) => Ok(ElectionSpec::default().set(field, text)?),
            None => Ok(()),
        }
    }
}

/// The field that a key sets.
pub(crate) fn field_of(key: &str) -> Option<Field> {
    KEYS.iter().find(|row| row.name == key).and_then(|row| row.field)
}

/// The key that sets a field.
pub(crate) fn key_of(field: Field) -> &'static str {
    KEYS.iter().find(|row| row.field == Some(field)).map_or(field.name(), |row| row.name)
}

fn algorithm(text: &str, catalogue: &Catalogue) -> Result<Arc<str>, Diagnostic> {
    let names = || catalogue.all().map(|known| known.about().name).collect::<Vec<_>>();
    let known = catalogue.find(text).ok_or_else(|| Diagnostic::unknown("algorithm", text, &names()))?;
    Ok(known.about().name.into())
}

/// Parses a variable. It must not shadow another name of formulas.
fn variable(name: &str, rest: &str) -> Result<Key, Diagnostic> {
    let letters = rest.starts_with(|c: char| c.is_ascii_alphabetic() || c == '_');
    let plain = letters && rest.chars().all(|c| c.is_ascii_alphanumeric() || c == '_');
    let taken = rest == "n" || matches!(rest, "and" | "or") || KEYS.iter().any(|row| row.name == rest);
    if !plain || taken {
        let problem = format!("a variable cannot be called `{}`", quote(rest));
        return Err(Diagnostic::new(problem, "a letter, then letters, digits and _; not n, and, or, nor an option"));
    }
    Ok(Key { name: name.into(), kind: Kind::Let })
}

fn is_name(text: &str) -> bool {
    !text.is_empty() && text.chars().all(|c| c.is_ascii_alphanumeric() || c == '_' || c == '-')
}

/// Removes spaces from lists, but not from file names.
fn without_spaces(text: &str) -> String {
    if text.starts_with('@') || text.starts_with("file:") {
        return text.to_string();
    }
    text.chars().filter(|c| !c.is_whitespace()).collect()
}
