//! The keys of `[vary]`: the options of `hustings sim`, `p.NAME` and `let.NAME`.

use std::str::FromStr;
use std::sync::Arc;

use hustings_elections::Catalogue;
use hustings_sim::parse::{
    self, Ids, LinkFault, NodeCheat, NodeFault, Partition, Repair, Starts, Values, Votes, nearest, short,
};
use hustings_sim::scenario::{Delay, Medium, Notice};
use hustings_sim::topology::Topology;

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

const OPTIONS: [(&str, Kind, &str); 25] = [
    ("algorithm", Kind::Algorithm, "algorithm"),
    ("nodes", Kind::Integer, "nodes"),
    ("ids", Kind::Text, "ids of the nodes"),
    ("values", Kind::Text, "values compared before the ids"),
    ("votes", Kind::Text, "votes"),
    ("best", Kind::Text, "whether the lowest or the highest wins"),
    ("topology", Kind::Text, "topology"),
    ("initiators", Kind::Starts, "initiators"),
    ("notice", Kind::Text, "failure detection"),
    ("runs", Kind::Flag, "whether elections are repeated when reachability changes"),
    ("crash", Kind::Faults, "crashes"),
    ("recover", Kind::Faults, "recoveries"),
    ("join", Kind::Faults, "joining nodes"),
    ("retire", Kind::Faults, "retiring nodes"),
    ("cut", Kind::Faults, "cut links"),
    ("heal", Kind::Faults, "healed links"),
    ("partition", Kind::Faults, "partitions"),
    ("delay", Kind::Text, "message delay"),
    ("unordered", Kind::Flag, "whether messages may be reordered"),
    ("loss", Kind::Float, "probability that a message is lost"),
    ("duplicate", Kind::Float, "probability that a message is delivered twice"),
    ("bandwidth", Kind::Integer, "messages per tick in the whole network"),
    ("medium", Kind::Text, "medium"),
    ("cheat", Kind::Cheats, "cheating nodes"),
    ("until", Kind::Integer, "last tick"),
];

impl Key {
    /// Parses the name of a key.
    pub(crate) fn parse(name: &str) -> Result<Key, Diagnostic> {
        let kind = match name.split_once('.') {
            Some(("p", rest)) if is_name(rest) => Some(Kind::Param),
            Some(("let", rest)) => return variable(name, rest),
            _ => OPTIONS.iter().find(|(option, ..)| *option == name).map(|&(_, kind, _)| kind),
        };
        kind.map(|kind| Key { name: name.into(), kind }).ok_or_else(|| {
            let names: Vec<&str> = OPTIONS.iter().map(|(option, ..)| *option).collect();
            let near = nearest(name, names.iter().copied()).map(str::to_string);
            let allowed = format!("{}, p.NAME, let.NAME", names.join(", "));
            Diagnostic { problem: format!("unknown key `{}`", short(name)), allowed, nearest: near }
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
            _ => OPTIONS.iter().find(|(option, ..)| *option == &*self.name).map_or("", |(.., about)| about),
        }
    }

    pub(crate) fn kind(&self) -> Kind {
        self.kind
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
            Kind::Integer => match &*self.name {
                "nodes" => parse::node_count(text)?.to_string().into(),
                "bandwidth" => parse::bandwidth(text)?.to_string().into(),
                _ => parse::tick(text)?.to_string().into(),
            },
            Kind::Float => parse::probability(text)?.to_string().into(),
            Kind::Flag => match text {
                "true" => text.into(),
                "false" => return Ok(None),
                _ => return Err(Diagnostic::unknown("boolean", text, &["true", "false"])),
            },
            Kind::Let => match text.parse::<f64>().ok().filter(|number| number.is_finite()) {
                Some(number) => (number + 0.0).to_string().into(),
                None => return Err(Diagnostic::new(format!("`{}` is not a number", short(text)), "a finite number")),
            },
            Kind::Param => text.into(),
            Kind::Text | Kind::Faults | Kind::Starts | Kind::Cheats => without_spaces(text).into(),
        };
        self.check(&canonical)?;
        Ok(Some(canonical))
    }

    /// Rejects values that the command line would reject.
    fn check(&self, text: &str) -> Result<(), Diagnostic> {
        match &*self.name {
            "ids" => _ = Ids::from_str(text)?,
            "values" => _ = Values::from_str(text)?,
            "votes" => _ = Votes::from_str(text)?,
            "best" => _ = parse::best(text)?,
            "topology" => _ = Topology::from_str(text)?,
            "notice" => _ = Notice::from_str(text)?,
            "delay" => _ = Delay::from_str(text)?,
            "medium" => _ = Medium::from_str(text)?,
            "cheat" => {
                for one in text.split(',') {
                    NodeCheat::from_str(one)?;
                }
            }
            "initiators" => {
                // Names of the first run are replaced by an example to check the syntax.
                let (now, later) = phase::split_starts(text);
                for one in later {
                    Starts::from_str(&phase::FirstPhase::EXAMPLE.substitute(&one)?)?;
                }
                if !now.is_empty() {
                    Starts::from_str(&now)?;
                }
            }
            name if self.kind == Kind::Faults => {
                for one in phase::split_faults(text) {
                    let known = phase::FirstPhase::EXAMPLE.substitute(&one)?;
                    check_fault(name, &known).map_err(|mut diagnostic| {
                        diagnostic.allowed += "; `leader` or `other` may be the position, `quiet+K` the tick";
                        diagnostic
                    })?;
                }
            }
            _ => {}
        }
        Ok(())
    }
}

fn check_fault(name: &str, text: &str) -> Result<(), Diagnostic> {
    match name {
        "cut" => _ = LinkFault::from_str(text)?,
        "heal" => _ = Repair::from_str(text)?,
        "partition" => _ = Partition::from_str(text)?,
        _ => _ = NodeFault::from_str(text)?,
    }
    Ok(())
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
    let taken = rest == "n" || matches!(rest, "and" | "or") || OPTIONS.iter().any(|(option, ..)| *option == rest);
    if !plain || taken {
        let problem = format!("a variable cannot be called `{}`", short(rest));
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
