//! The text of a run: `a=bully&n=8&crash=7@0&do=12:crash:6`, as it stands in the address of the page.
//!
//! Keys are the options of `hustings sim`; `a` is the algorithm, `n` the number of nodes, `p` a parameter, `do` a list
//! of interventions with `;` between them. Nothing in it may name a file: the text comes from anywhere.

use hustings_elections::{Catalogue, Election};
use hustings_sim::simulate::{BuiltScenario, ElectionSpec, Field, FieldRef, SpecError, SpecProblem};
use hustings_text::nearest;

use crate::error::LabError;

/// The keys of fields, and whether they may be repeated.
const KEYS: &[(&str, Field, bool)] = &[
    ("n", Field::Nodes, false),
    ("ids", Field::Ids, false),
    ("values", Field::Values, false),
    ("votes", Field::Votes, false),
    ("cheat", Field::Cheats, true),
    ("best", Field::Best, false),
    ("topology", Field::Topology, false),
    ("initiators", Field::Initiators, false),
    ("notice", Field::Notice, false),
    ("runs", Field::Runs, false),
    ("crash", Field::Crashes, true),
    ("recover", Field::Recoveries, true),
    ("join", Field::Joins, true),
    ("retire", Field::Retirements, true),
    ("cut", Field::Cuts, true),
    ("heal", Field::Heals, true),
    ("partition", Field::Partitions, true),
    ("delay", Field::Delay, false),
    ("unordered", Field::Unordered, false),
    ("loss", Field::Loss, false),
    ("duplicate", Field::Duplicate, false),
    ("bandwidth", Field::Bandwidth, false),
    ("medium", Field::Medium, false),
    ("seed", Field::Seed, false),
    ("until", Field::Until, false),
    ("p", Field::Params, true),
    ("do", Field::Interventions, true),
];

/// Keys of the page itself, which the server ignores: the position in the run, and how it is shown.
const PAGE_KEYS: &[&str] = &["at", "view", "lesson", "with", "opened"];

/// The maximum length of a request's text.
pub const MAX_TEXT: usize = 256 * 1024;

/// How large a run may be.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Bounds {
    /// Nodes, on rings and graphs.
    pub nodes: u32,
    /// Nodes of a complete network, where an election may take n² messages, or of an election in runs.
    pub complete: u32,
    /// Links of a graph.
    pub links: u64,
    /// Records of a run; it is stopped there.
    pub records: u64,
    /// The time that a run may take.
    pub time: std::time::Duration,
}

impl Bounds {
    /// On the user's own machine.
    pub const OWN: Bounds = Bounds {
        nodes: 100_000,
        complete: 500,
        links: 400_000,
        records: 6_000_000,
        time: std::time::Duration::from_secs(20),
    };
    /// For a visitor of a class.
    pub const CLASS: Bounds = Bounds {
        nodes: 2_000,
        complete: 100,
        links: 20_000,
        records: 300_000,
        time: std::time::Duration::from_secs(5),
    };
}

/// The text of a run of this algorithm with these fields.
pub fn text(algorithm: &str, fields: &[(Field, String)]) -> String {
    let mut pairs = form_urlencoded::Serializer::new(String::new());
    pairs.append_pair("a", algorithm);
    for (field, value) in fields {
        // How many threads run it is nothing that a run depends on.
        if let Some((name, ..)) = KEYS.iter().find(|(_, known, _)| known == field) {
            pairs.append_pair(name, value);
        }
    }
    pairs.finish()
}

/// A run that can be made.
pub struct Request {
    /// The algorithm with its parameters.
    pub election: Box<dyn Election>,
    /// The scenario, with warnings.
    pub built: BuiltScenario,
}

impl std::fmt::Debug for Request {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Request").field("algorithm", &self.election.about().name).finish_non_exhaustive()
    }
}

/// Reads and checks the text of a run.
pub fn parse(text: &str, catalogue: &Catalogue, bounds: &Bounds) -> Result<Request, LabError> {
    if text.len() > MAX_TEXT {
        let problem = format!("the run is {} bytes long; at most {MAX_TEXT} are allowed", text.len());
        return Err(LabError::new("too-long", problem));
    }
    let mut spec = ElectionSpec::default();
    let (mut algorithm, mut params) = (None, Vec::new());
    let mut seen: Vec<String> = Vec::new();
    for (key, value) in form_urlencoded::parse(text.trim_start_matches('#').as_bytes()) {
        if value.is_empty() || PAGE_KEYS.contains(&&*key) {
            continue;
        }
        if key == "a" {
            algorithm = Some(value.to_string());
            continue;
        }
        let &(name, field, repeats) = KEYS.iter().find(|(name, ..)| *name == key).ok_or_else(|| unknown_key(&key))?;
        if !repeats && seen.iter().any(|other| *other == key) {
            return Err(LabError::field(name, format!("`{name}` is given twice; allowed: once")));
        }
        seen.push(key.to_string());
        refuse_files(name, field, &value)?;
        match field {
            Field::Params => params.push(value.to_string()),
            Field::Interventions => value.split(';').try_for_each(|one| set(&mut spec, name, field, one))?,
            _ => set(&mut spec, name, field, &value)?,
        }
    }
    let name = algorithm.ok_or_else(|| LabError::field("a", "no algorithm is named; allowed: a=NAME"))?;
    let known = catalogue.find(&name).ok_or_else(|| {
        let near = nearest(&name, catalogue.names()).map(str::to_string);
        LabError::field("a", format!("there is no algorithm `{}`", hustings_text::quote(&name))).with_nearest(near)
    })?;
    let election = known.election(&params).map_err(|error| spec_error(&error))?;
    check_size(&spec, &*election, bounds)?;
    let built = election.build(&spec).map_err(|error| spec_error(&error))?;
    let network = &built.scenario.network;
    if !matches!(network, hustings_sim::topology::Network::Complete(_)) && network.links() > bounds.links {
        let problem = format!("this network has {} links; at most {} are allowed here", network.links(), bounds.links);
        return Err(LabError::field("topology", problem));
    }
    Ok(Request { election, built })
}

fn set(spec: &mut ElectionSpec, name: &str, field: Field, value: &str) -> Result<(), LabError> {
    spec.set(field, value).map_err(|error| LabError::field(name, error.to_string()).with_nearest(error.nearest))
}

fn unknown_key(key: &str) -> LabError {
    let near = nearest(key, KEYS.iter().map(|(name, ..)| *name)).map(str::to_string);
    LabError::field(key, format!("`{}` is not known here", hustings_text::quote(key))).with_nearest(near)
}

/// Files of this machine are none of a page's business.
fn refuse_files(name: &str, field: Field, value: &str) -> Result<(), LabError> {
    let is_file = match field {
        Field::Ids | Field::Values => value.starts_with('@'),
        Field::Topology => value.starts_with("file:"),
        _ => false,
    };
    if is_file {
        let instead = if field == Field::Topology { "links:0-1,1-2,…" } else { "a list, such as 5,3,9" };
        return Err(LabError::field(name, format!("the page reads no files; allowed: {instead}")));
    }
    Ok(())
}

/// Refuses what is too large before it is built.
fn check_size(spec: &ElectionSpec, election: &dyn Election, bounds: &Bounds) -> Result<(), LabError> {
    use hustings_algorithms::NetworkKind;
    use hustings_sim::simulate::Ids;
    use hustings_sim::topology::Topology;
    let of_topology = spec.topology.as_ref().and_then(Topology::size);
    let of_ids = match &spec.ids {
        Some(Ids::List(ids)) => Some(ids.len() as u64),
        _ => None,
    };
    let size = spec.nodes.map(u64::from).or(of_topology).or(of_ids).unwrap_or(8);
    let is_complete = match &spec.topology {
        Some(topology) => *topology == Topology::Complete,
        None => election.about().network == NetworkKind::Complete,
    };
    let max = if is_complete || spec.runs { bounds.complete } else { bounds.nodes };
    if size > u64::from(max) {
        let what = if is_complete { " in a complete network" } else { "" };
        let problem = format!("{size} nodes{what} are too many here; at most {max} are allowed");
        return Err(LabError::field("n", problem).with_nearest(Some(max.to_string())));
    }
    Ok(())
}

/// The key of a field.
fn key_of(field: &FieldRef) -> &'static str {
    KEYS.iter().find(|(_, known, _)| *known == field.field).map_or("", |(name, ..)| name)
}

/// The error about a specification, in the terms of the page.
fn spec_error(error: &SpecError) -> LabError {
    let named = |field: &FieldRef| match &field.value {
        Some(value) => format!("{} {value}", key_of(field)),
        None => key_of(field).to_string(),
    };
    let near = match &error.problem {
        SpecProblem::Param { nearest, .. } => nearest.clone(),
        SpecProblem::WrongTopology { suitable, .. } => Some((*suitable).to_string()),
        _ => None,
    };
    let message = error.describe(named);
    let field = error.field.as_deref().map(|field| key_of(field).to_string());
    LabError { field, ..LabError::bad(message) }.with_nearest(near)
}

/// The error about an intervention that the run refused.
pub(crate) fn refused(refusal: &hustings_sim::outcome::Refusal) -> LabError {
    LabError::field("do", format!("intervention {} cannot be done: {}", refusal.index + 1, refusal.reason))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn error(text: &str) -> LabError {
        parse(text, &Catalogue::default(), &Bounds::OWN).expect_err(text)
    }

    #[test]
    fn a_run_is_read() {
        let text = "a=bully&n=8&crash=7%400&initiators=3&p=recovery%3Dannounce&do=4:crash:5;9:start:2&at=7";
        let request = parse(text, &Catalogue::default(), &Bounds::OWN).expect("it is valid");
        assert_eq!(request.election.about().name, "bully");
        assert_eq!(request.built.scenario.interventions.len(), 2);
        assert_eq!(request.built.scenario.starts.len(), 1);
    }

    #[test]
    fn the_text_of_fields_is_read_again() {
        let fields = [(Field::Nodes, "5"), (Field::Crashes, "4@0"), (Field::Params, "T=2"), (Field::Threads, "2")]
            .map(|(field, value)| (field, value.to_string()));
        let text = text("bully", &fields);
        assert_eq!(text, "a=bully&n=5&crash=4%400&p=T%3D2");
        assert!(parse(&text, &Catalogue::default(), &Bounds::OWN).is_ok());
    }

    #[test]
    fn what_is_wrong_names_its_field() {
        for (text, field, part) in [
            ("n=8", "a", "no algorithm"),
            ("a=buly", "a", "no algorithm `buly`"),
            ("a=bully&m=8", "m", "not known"),
            ("a=bully&n=8&n=9", "n", "given twice"),
            ("a=bully&n=501", "n", "at most 500"),
            ("a=chang-roberts&n=100001", "n", "at most 100000"),
            ("a=bully&topology=ring", "topology", "runs on a complete network"),
            ("a=echo-extinction&topology=file:secret", "topology", "reads no files"),
            ("a=bully&ids=@secret", "ids", "reads no files"),
            ("a=bully&values=@secret", "values", "reads no files"),
            ("a=bully&do=4:crush:5", "do", "not known"),
            ("a=bully&do=4:crash:99", "do", "no position 99"),
            ("a=bully&p=recovry%3Delect", "p", "no parameter"),
        ] {
            let found = error(text);
            assert_eq!(found.field.as_deref(), Some(field), "{text}: {found}");
            assert!(found.message.contains(part), "{text}: {found}");
        }
        assert_eq!(error("a=buly").nearest.as_deref(), Some("bully"));
        assert_eq!(error(&format!("a={}", "x".repeat(MAX_TEXT))).code, "too-long");
    }
}
