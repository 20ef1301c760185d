//! The catalogue as the page's form needs it.

use hustings_algorithms::{Family, Identity, Initiators, NetworkKind};
use hustings_elections::Catalogue;
use serde::Serialize;

/// An algorithm, for the form.
#[derive(Clone, PartialEq, Debug, Serialize)]
pub(crate) struct Listed {
    name: &'static str,
    summary: &'static str,
    family: &'static str,
    /// The topologies that it runs on, the default first.
    topologies: Vec<&'static str>,
    kinds: &'static [&'static str],
    params: Vec<Param>,
    anonymous: bool,
    votes: bool,
    cheats: bool,
    /// Whether a later start holds another election, so that a dead leader can be noticed.
    repeats: bool,
    initiators: &'static str,
    min_nodes: u32,
    costs: Vec<String>,
    source: String,
    /// Its section of the specification.
    docs: String,
}

#[derive(Clone, PartialEq, Debug, Serialize)]
struct Param {
    name: &'static str,
    default: String,
    allowed: &'static str,
    help: &'static str,
}

/// All algorithms.
pub(crate) fn all(catalogue: &Catalogue) -> Vec<Listed> {
    catalogue
        .all()
        .map(|known| {
            let (entry, about) = (known.entry(), known.about());
            // Without parameters given, every algorithm has its defaults.
            let defaults = known.election(&[]).map(|election| election.params()).unwrap_or_default();
            let default = |name: &str| {
                defaults.iter().find(|(other, _)| *other == name).map(|(_, value)| value.clone()).unwrap_or_default()
            };
            let param = |one: &hustings_algorithms::Parameter| Param {
                name: one.name,
                default: default(one.name),
                allowed: one.allowed,
                help: one.help,
            };
            Listed {
                name: about.name,
                summary: about.summary,
                family: family(about.family),
                topologies: topologies(about.network),
                kinds: entry.kinds,
                params: entry.parameters.iter().map(param).collect(),
                anonymous: about.assumptions.identity == Identity::Anonymous,
                votes: about.inputs.votes,
                cheats: about.inputs.cheats,
                repeats: about.repeats,
                initiators: match about.initiators {
                    Initiators::All => "all",
                    Initiators::LowestLive => "the lowest",
                },
                min_nodes: about.min_nodes,
                costs: about
                    .costs
                    .iter()
                    .map(|cost| format!("{:?}: {}", cost.case, cost.formula).to_lowercase())
                    .collect(),
                source: format!("{}: {}", about.source.authors, about.source.title),
                docs: ["docs/model.md", about.name].join("#"),
            }
        })
        .collect()
}

fn family(family: Family) -> &'static str {
    match family {
        Family::Ring => "Rings",
        Family::Hierarchy => "Hierarchies",
        Family::Complete => "Complete networks",
        Family::Graph => "Graphs",
        Family::Anonymous => "Anonymous networks",
    }
}

fn topologies(kind: NetworkKind) -> Vec<&'static str> {
    match kind {
        NetworkKind::Ring | NetworkKind::InformedRing => vec!["ring"],
        NetworkKind::Complete => vec!["complete"],
        NetworkKind::Graph => vec![
            "complete",
            "random:3-5",
            "ring",
            "line",
            "star",
            "tree:2",
            "grid:3x4",
            "torus:3x4",
            "hypercube:3",
            "small-world:4,0.2",
            "scale-free:2",
            "geometric:0.4",
        ],
        NetworkKind::Tree => vec!["tree:2", "tree:3", "line", "star"],
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::request::{Bounds, parse};

    #[test]
    fn every_algorithm_runs_as_the_form_offers_it() {
        let catalogue = Catalogue::default();
        let listed = all(&catalogue);
        assert_eq!(listed.len(), catalogue.all().len());
        for one in listed {
            for topology in &one.topologies {
                let own_size = ["grid", "torus", "hypercube"].iter().any(|name| topology.starts_with(name));
                let size = if own_size { "" } else { "&n=16" };
                let text = format!("a={}&topology={topology}{size}", one.name);
                parse(&text, &catalogue, &Bounds::OWN).unwrap_or_else(|error| panic!("{text}: {error}"));
            }
            for param in &one.params {
                let text = format!("a={}&n=16&p={}={}", one.name, param.name, param.default);
                parse(&text, &catalogue, &Bounds::OWN).unwrap_or_else(|error| panic!("{text}: {error}"));
            }
        }
    }
}
