//! Topologies as text: `ring`, `grid:3x4`, `random:5-10`, …

use std::fmt;
use std::path::PathBuf;
use std::str::FromStr;

use hustings_text::nearest;

use super::Topology;
use crate::parse::{ParseError, Problem, Reader};

/// The short form of all topologies.
const ALLOWED: &str = "ring, complete, line, star, tree:K, grid:RxC, torus:RxC, hypercube:D, random:MIN-MAX, \
                       small-world:K,P, scale-free:M, geometric:R, file:PATH, links:U-V,…";

/// All names and what may follow them.
const FORMS: [(&str, &str); 14] = [
    ("ring", "ring"),
    ("complete", "complete"),
    ("line", "line"),
    ("star", "star"),
    ("tree", "tree:K with K at least 1"),
    ("grid", "grid:RxC with R and C at least 1"),
    ("torus", "torus:RxC with R and C at least 3"),
    ("hypercube", "hypercube:D with D from 0 to 31"),
    ("random", "random:MIN-MAX with 1 ≤ MIN ≤ MAX"),
    ("small-world", "small-world:K,P with an even K at least 2 and P from 0 to 1"),
    ("scale-free", "scale-free:M with M at least 1"),
    ("geometric", "geometric:R with R above 0 and at most √2"),
    ("file", "file:PATH"),
    ("links", "links:U-V,… with positions from 0, such as links:0-1,1-2"),
];

impl FromStr for Topology {
    type Err = ParseError;

    fn from_str(text: &str) -> Result<Self, ParseError> {
        let (name, value) = match text.split_once(':') {
            Some((name, value)) => (name, Some(value)),
            None => (text, None),
        };
        let Some(&(name, allowed)) = FORMS.iter().find(|(known, _)| *known == name) else {
            let similar = nearest(&name.replace('_', "-"), FORMS.map(|(name, _)| name)).map(str::to_string);
            return Err(Reader::new(text, ALLOWED).wrong(Problem::Unknown(name.to_string()), similar));
        };
        let invalid = |problem: String| Reader::new(text, allowed).wrong(Problem::Invalid(problem), None);
        let topology = match (name, value) {
            ("ring", None) => Topology::Ring,
            ("complete", None) => Topology::Complete,
            ("line", None) => Topology::Line,
            ("star", None) => Topology::Star,
            ("ring" | "complete" | "line" | "star", Some(_)) => {
                return Err(invalid(format!("nothing may follow `{name}`")));
            }
            (_, None | Some("")) => return Err(invalid(format!("something must follow `{name}:`"))),
            (_, Some(value)) => with_value(name, value).map_err(invalid)?,
        };
        topology.check(text)?;
        Ok(topology)
    }
}

/// A topology with numbers or a path, from what follows its name.
fn with_value(name: &str, value: &str) -> Result<Topology, String> {
    let pair = |between: char| value.split_once(between).ok_or_else(|| format!("`{value}` has no `{between}`"));
    Ok(match name {
        "tree" => Topology::Tree(whole(value)?),
        "grid" => pair('x').and_then(|(rows, columns)| Ok(Topology::Grid(whole(rows)?, whole(columns)?)))?,
        "torus" => pair('x').and_then(|(rows, columns)| Ok(Topology::Torus(whole(rows)?, whole(columns)?)))?,
        "hypercube" => Topology::Hypercube(whole(value)?),
        "random" => pair('-').and_then(|(min, max)| Ok(Topology::Random { min: whole(min)?, max: whole(max)? }))?,
        "small-world" => {
            let (neighbours, rewire) = pair(',')?;
            Topology::SmallWorld { neighbours: whole(neighbours)?, rewire: real(rewire)? }
        }
        "scale-free" => Topology::ScaleFree(whole(value)?),
        "geometric" => Topology::Geometric(real(value)?),
        "links" => Topology::Links(links(value)?),
        _ => Topology::File(PathBuf::from(value)),
    })
}

/// The maximum number of links in a text; larger graphs come in files.
const MAX_LISTED_LINKS: usize = 20_000;

/// `U-V,…`, sorted.
fn links(text: &str) -> Result<Vec<(u32, u32)>, String> {
    let mut links = Vec::new();
    for piece in text.split(',') {
        let (from, to) = piece.split_once('-').ok_or_else(|| format!("`{piece}` has no `-`"))?;
        let (from, to) = (whole(from)?, whole(to)?);
        if from == to || from.max(to) as usize > MAX_LISTED_LINKS {
            let problem = if from == to { "leads from a node to itself" } else { "is beyond the last position, 20000" };
            return Err(format!("`{piece}` {problem}"));
        }
        links.push((from.min(to), from.max(to)));
    }
    if links.len() > MAX_LISTED_LINKS {
        return Err(format!("{} links are too many, at most {MAX_LISTED_LINKS}; a file can have more", links.len()));
    }
    links.sort_unstable();
    match links.windows(2).find(|pair| pair[0] == pair[1]) {
        Some(pair) => Err(format!("`{}-{}` is given twice", pair[0].0, pair[0].1)),
        None => Ok(links),
    }
}

fn whole(text: &str) -> Result<u32, String> {
    text.parse().map_err(|_| format!("`{text}` is not a whole number from 0 to {}", u32::MAX))
}

fn real(text: &str) -> Result<f64, String> {
    match text.parse::<f64>() {
        Ok(number) if number.is_finite() => Ok(number),
        _ => Err(format!("`{text}` is not a number")),
    }
}

impl Topology {
    /// Fails if the numbers are out of their bounds, whatever the size of the network.
    pub(super) fn check(&self, text: &str) -> Result<(), ParseError> {
        let (name, problem, nearest) = match *self {
            Topology::Tree(0) => ("tree", "a node needs room for at least one child", Topology::Tree(1)),
            Topology::Grid(rows, columns) if rows == 0 || columns == 0 => {
                ("grid", "there must be at least one row and one column", Topology::Grid(rows.max(1), columns.max(1)))
            }
            Topology::Torus(rows, columns) if rows < 3 || columns < 3 => (
                "torus",
                "with fewer than 3 rows or columns, two nodes would be linked twice",
                Topology::Torus(rows.max(3), columns.max(3)),
            ),
            Topology::Grid(rows, columns) if u64::from(rows) * u64::from(columns) > u32::MAX.into() => {
                ("grid", "this means more than 4294967295 nodes", Topology::Grid(rows, u32::MAX / rows))
            }
            Topology::Torus(rows, columns) if u64::from(rows) * u64::from(columns) > u32::MAX.into() => {
                let rows = rows.min(u32::MAX / 3);
                ("torus", "this means more than 4294967295 nodes", Topology::Torus(rows, u32::MAX / rows))
            }
            Topology::Hypercube(32..) => {
                ("hypercube", "this means more than 4294967295 nodes", Topology::Hypercube(31))
            }
            Topology::Random { min: 0, max } => {
                ("random", "a node without links is not connected", Topology::Random { min: 1, max: max.max(1) })
            }
            Topology::Random { min, max } if min > max => {
                ("random", "MIN is greater than MAX", Topology::Random { min: max, max: min })
            }
            Topology::SmallWorld { neighbours, rewire }
                if neighbours < 2 || neighbours % 2 == 1 || !(0.0..=1.0).contains(&rewire) =>
            {
                let rewire = if rewire.is_nan() { 0.0 } else { rewire.clamp(0.0, 1.0) };
                let neighbours = (neighbours & !1).max(2);
                let nearest = Topology::SmallWorld { neighbours, rewire };
                ("small-world", "K counts neighbours on both sides, and P is a probability", nearest)
            }
            Topology::ScaleFree(0) => ("scale-free", "a new node needs at least one link", Topology::ScaleFree(1)),
            Topology::Geometric(radius) if !(radius > 0.0 && radius <= std::f64::consts::SQRT_2) => {
                let nearest = if radius > 1.0 { std::f64::consts::SQRT_2 } else { 0.001 };
                ("geometric", "the points are in a square with sides of length 1", Topology::Geometric(nearest))
            }
            _ => return Ok(()),
        };
        let allowed = FORMS.iter().find(|(known, _)| *known == name).map_or("", |(_, form)| form);
        Err(Reader::new(text, allowed).wrong(Problem::Invalid(problem.to_string()), Some(nearest.to_string())))
    }
}

impl fmt::Display for Topology {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Topology::Ring => f.write_str("ring"),
            Topology::Complete => f.write_str("complete"),
            Topology::Line => f.write_str("line"),
            Topology::Star => f.write_str("star"),
            Topology::Tree(children) => write!(f, "tree:{children}"),
            Topology::Grid(rows, columns) => write!(f, "grid:{rows}x{columns}"),
            Topology::Torus(rows, columns) => write!(f, "torus:{rows}x{columns}"),
            Topology::Hypercube(dimension) => write!(f, "hypercube:{dimension}"),
            Topology::Random { min, max } => write!(f, "random:{min}-{max}"),
            Topology::SmallWorld { neighbours, rewire } => write!(f, "small-world:{neighbours},{rewire}"),
            Topology::ScaleFree(links) => write!(f, "scale-free:{links}"),
            Topology::Geometric(radius) => write!(f, "geometric:{radius}"),
            Topology::File(path) => write!(f, "file:{}", path.display()),
            Topology::Links(links) => {
                f.write_str("links:")?;
                let mut between = "";
                for (from, to) in links {
                    write!(f, "{between}{from}-{to}")?;
                    between = ",";
                }
                Ok(())
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_written_is_read() {
        let texts = [
            "ring",
            "complete",
            "line",
            "star",
            "tree:3",
            "grid:1x4",
            "torus:3x5",
            "hypercube:0",
            "random:5-10",
            "small-world:4,0.25",
            "small-world:2,1",
            "scale-free:2",
            "geometric:0.125",
            "file:a:b c",
            "links:0-1,0-2,1-2",
        ];
        for text in texts {
            assert_eq!(text.parse::<Topology>().unwrap().to_string(), text);
        }
    }

    #[test]
    fn what_is_wrong_is_explained() {
        let wrong = |text: &str| text.parse::<Topology>().unwrap_err();
        let text = |text: &str| wrong(text).to_string();
        assert_eq!(
            text("rign"),
            "`rign` is not known here; allowed: ring, complete, line, star, tree:K, grid:RxC, torus:RxC, hypercube:D, \
             random:MIN-MAX, small-world:K,P, scale-free:M, geometric:R, file:PATH, links:U-V,…"
        );
        let similar = [("Smallworld:2,3", "small-world"), ("scale_free:2", "scale-free"), ("tours:3x3", "torus")];
        for (text, name) in similar {
            assert_eq!(wrong(text).nearest.as_deref(), Some(name));
        }
        assert_eq!(wrong("rign").nearest.as_deref(), Some("ring"));
        assert_eq!(wrong("42").nearest, None);
        assert_eq!(text("ring:3"), "nothing may follow `ring`; allowed: ring");
        assert_eq!(text("grid:3"), "`3` has no `x`; allowed: grid:RxC with R and C at least 1");
        assert_eq!(text("tree"), "something must follow `tree:`; allowed: tree:K with K at least 1");
        assert!(text("random:5-x").contains("`x` is not a whole number"));
        assert!(text("small-world:4,NaN").contains("`NaN` is not a number"));
        assert!(text("file:").contains("something must follow"));
        assert!(text("links:0-1,2").contains("`2` has no `-`"));
        assert!(text("links:1-1").contains("`1-1` leads from a node to itself"));
        assert!(text("links:0-1,1-0").contains("`0-1` is given twice"));
        assert!(text("links:0-20001").contains("beyond the last position"));
        assert_eq!(FORMS.map(|(_, form)| form.split(' ').next().unwrap()).join(", "), ALLOWED);
    }

    #[test]
    fn numbers_out_of_bounds_are_refused_with_the_nearest() {
        for (text, nearest) in [
            ("tree:0", "tree:1"),
            ("grid:0x4", "grid:1x4"),
            ("grid:65536x65536", "grid:65536x65535"),
            ("torus:2x5", "torus:3x5"),
            ("torus:4294967295x3", "torus:1431655765x3"),
            ("hypercube:32", "hypercube:31"),
            ("random:0-4", "random:1-4"),
            ("random:9-5", "random:5-9"),
            ("small-world:5,0.1", "small-world:4,0.1"),
            ("small-world:4,1.5", "small-world:4,1"),
            ("scale-free:0", "scale-free:1"),
            ("geometric:0", "geometric:0.001"),
            ("geometric:2", "geometric:1.4142135623730951"),
        ] {
            assert_eq!(text.parse::<Topology>().unwrap_err().nearest.as_deref(), Some(nearest));
            assert!(nearest.parse::<Topology>().is_ok(), "{nearest}");
        }
    }
}
