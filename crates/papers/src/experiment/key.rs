//! What can be varied: the options of `hustings sim` under their own names, `p.NAME`, `let.NAME`.

use std::str::FromStr;
use std::sync::Arc;

use hustings_elections::Catalogue;
use hustings_sim::parse::{self, CheatAt, Healing, Ids, LinkAt, NodeAt, Split, Starts, Values, Votes, nearest, short};
use hustings_sim::scenario::{Delay, Medium, Notice};
use hustings_sim::topology::Topology;

use super::mistake::Trouble;
use super::phase;

/// A key of `[vary]`.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub struct Key {
    name: Arc<str>,
    kind: Kind,
}

/// What a key takes.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub(crate) enum Kind {
    Algorithm,
    /// A whole number.
    Whole,
    /// A number.
    Real,
    /// True or false.
    Flag,
    /// Words of its own.
    Words,
    /// Faults and repairs, several in one.
    Faults,
    /// `initiators`.
    Starts,
    /// `cheat`, several in one.
    Cheats,
    /// A parameter of the algorithm.
    Param,
    /// A variable of the experiment.
    Let,
}

const OPTIONS: [(&str, Kind, &str); 25] = [
    ("algorithm", Kind::Algorithm, "algorithm"),
    ("nodes", Kind::Whole, "nodes"),
    ("ids", Kind::Words, "ids of the nodes"),
    ("values", Kind::Words, "values compared before the ids"),
    ("votes", Kind::Words, "who votes for whom"),
    ("best", Kind::Words, "which end of the order wins"),
    ("topology", Kind::Words, "who is linked to whom"),
    ("initiators", Kind::Starts, "who starts"),
    ("notice", Kind::Words, "how a dead leader is noticed"),
    ("runs", Kind::Flag, "whether elections are held anew among those who reach each other"),
    ("crash", Kind::Faults, "who stops, and when"),
    ("recover", Kind::Faults, "who comes back, and when"),
    ("join", Kind::Faults, "who enters, and when"),
    ("retire", Kind::Faults, "who leaves in good order, and when"),
    ("cut", Kind::Faults, "links that are cut"),
    ("heal", Kind::Faults, "links that work again"),
    ("partition", Kind::Faults, "groups between which nothing gets through"),
    ("delay", Kind::Words, "how long messages travel"),
    ("unordered", Kind::Flag, "whether messages overtake each other"),
    ("loss", Kind::Real, "probability that a message is lost"),
    ("duplicate", Kind::Real, "probability that a message is delivered twice"),
    ("bandwidth", Kind::Whole, "messages per tick in the whole network"),
    ("medium", Kind::Words, "what a send to all neighbours costs"),
    ("cheat", Kind::Cheats, "who cheats, and how"),
    ("until", Kind::Whole, "last tick"),
];

impl Key {
    /// The key of this name.
    pub fn parse(name: &str) -> Result<Key, Trouble> {
        let kind = match name.split_once('.') {
            Some(("p", rest)) if is_name(rest) => Some(Kind::Param),
            Some(("let", rest)) => return variable(name, rest),
            _ => OPTIONS.iter().find(|(option, ..)| *option == name).map(|&(_, kind, _)| kind),
        };
        kind.map(|kind| Key { name: name.into(), kind }).ok_or_else(|| {
            let names: Vec<&str> = OPTIONS.iter().map(|(option, ..)| *option).collect();
            let near = nearest(name, names.iter().copied()).map(str::to_string);
            let allowed = format!("{}, p.NAME, let.NAME", names.join(", "));
            Trouble { problem: format!("there is no key `{}` here", short(name)), allowed, nearest: near }
        })
    }

    /// Its name in the file; also that of its column.
    pub fn name(&self) -> &Arc<str> {
        &self.name
    }

    /// What it means, in a few words.
    pub fn about(&self) -> &'static str {
        match self.kind {
            Kind::Param => "parameter of the algorithm",
            Kind::Let => "variable of the experiment",
            _ => OPTIONS.iter().find(|(option, ..)| *option == &*self.name).map_or("", |(.., about)| about),
        }
    }

    pub(crate) fn kind(&self) -> Kind {
        self.kind
    }

    /// Whether its values are numbers: ranges may be given, and formulas may name it.
    pub(crate) fn is_number(&self) -> bool {
        matches!(self.kind, Kind::Whole | Kind::Real | Kind::Param | Kind::Let)
    }

    /// The name of a parameter, without `p.`.
    pub(crate) fn param(&self) -> Option<&str> {
        if self.kind == Kind::Param { self.name.strip_prefix("p.") } else { None }
    }

    /// Whether a formula may call it so: by its name, `n` for `nodes`, and variables without `let.`.
    pub(crate) fn is_called(&self, name: &str) -> bool {
        &*self.name == name
            || (name == "n" && &*self.name == "nodes")
            || (self.kind == Kind::Let && self.name.strip_prefix("let.") == Some(name))
    }

    /// The one text for a value, however it was written; `None` if it stands for an option that is absent.
    pub(crate) fn canonical(&self, text: &str, catalogue: &Catalogue) -> Result<Option<Arc<str>>, Trouble> {
        let text = text.trim();
        // Nobody starts: that is something else than nobody being named.
        let absent = text == "default" || (text == "none" && self.kind != Kind::Starts);
        if absent && !matches!(self.kind, Kind::Algorithm | Kind::Let) {
            return Ok(None);
        }
        let canonical: Arc<str> = match self.kind {
            Kind::Algorithm => return algorithm(text, catalogue).map(Some),
            Kind::Whole => match &*self.name {
                "nodes" => parse::node_count(text)?.to_string().into(),
                "bandwidth" => parse::bandwidth(text)?.to_string().into(),
                _ => parse::tick(text)?.to_string().into(),
            },
            Kind::Real => parse::probability(text)?.to_string().into(),
            Kind::Flag => match text {
                "true" => text.into(),
                "false" => return Ok(None),
                _ => return Err(Trouble::unknown("answer", text, &["true", "false"])),
            },
            Kind::Let => match text.parse::<f64>().ok().filter(|number| number.is_finite()) {
                Some(number) => (number + 0.0).to_string().into(),
                None => return Err(Trouble::new(format!("`{}` is not a number", short(text)), "a finite number")),
            },
            Kind::Param => text.into(),
            Kind::Words | Kind::Faults | Kind::Starts | Kind::Cheats => without_spaces(text).into(),
        };
        self.check(&canonical)?;
        Ok(Some(canonical))
    }

    /// Fails if the command line would not take it.
    fn check(&self, text: &str) -> Result<(), Trouble> {
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
                    CheatAt::from_str(one)?;
                }
            }
            "initiators" => {
                // The words for what is known later stand for some position and tick here.
                let (now, later) = phase::split_starts(text);
                for one in later {
                    Starts::from_str(&phase::Known::SOME.put_into(&one)?)?;
                }
                if !now.is_empty() {
                    Starts::from_str(&now)?;
                }
            }
            name if self.kind == Kind::Faults => {
                for one in phase::split_faults(text) {
                    let known = phase::Known::SOME.put_into(&one)?;
                    check_fault(name, &known).map_err(|mut trouble| {
                        trouble.allowed += "; `leader` or `other` may be the position, `quiet+K` the tick";
                        trouble
                    })?;
                }
            }
            _ => {}
        }
        Ok(())
    }
}

fn check_fault(name: &str, text: &str) -> Result<(), Trouble> {
    match name {
        "cut" => _ = LinkAt::from_str(text)?,
        "heal" => _ = Healing::from_str(text)?,
        "partition" => _ = Split::from_str(text)?,
        _ => _ = NodeAt::from_str(text)?,
    }
    Ok(())
}

fn algorithm(text: &str, catalogue: &Catalogue) -> Result<Arc<str>, Trouble> {
    let names = || catalogue.all().map(|known| known.about().name).collect::<Vec<_>>();
    let known = catalogue.find(text).ok_or_else(|| Trouble::unknown("algorithm", text, &names()))?;
    Ok(known.about().name.into())
}

/// A variable must not hide anything else that a formula may name.
fn variable(name: &str, rest: &str) -> Result<Key, Trouble> {
    let letters = rest.starts_with(|c: char| c.is_ascii_alphabetic() || c == '_');
    let plain = letters && rest.chars().all(|c| c.is_ascii_alphanumeric() || c == '_');
    let taken = rest == "n" || matches!(rest, "and" | "or") || OPTIONS.iter().any(|(option, ..)| *option == rest);
    if !plain || taken {
        let problem = format!("a variable cannot be called `{}`", short(rest));
        return Err(Trouble::new(problem, "a letter, then letters, digits and _; not n, and, or, nor an option"));
    }
    Ok(Key { name: name.into(), kind: Kind::Let })
}

fn is_name(text: &str) -> bool {
    !text.is_empty() && text.chars().all(|c| c.is_ascii_alphanumeric() || c == '_' || c == '-')
}

/// Lists may be written with spaces; the names of files keep theirs.
fn without_spaces(text: &str) -> String {
    if text.starts_with('@') || text.starts_with("file:") {
        return text.to_string();
    }
    text.chars().filter(|c| !c.is_whitespace()).collect()
}
