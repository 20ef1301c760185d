//! The command that repeats one run: a point of an experiment with a seed, as options of `hustings sim`.

use std::fmt::Write;

use super::phase::{is_later, split_faults};
use super::{Experiment, Kind, Point};

impl Experiment {
    /// The command for a point with this seed; `None` if its faults depend on a first run, which `sim` has not.
    pub(crate) fn command(&self, point: &Point, seed: u64) -> Option<String> {
        let mut command = format!("hustings sim {}", self.value(point, "algorithm")?);
        for (setting, value) in self.settings.iter().zip(&point.values) {
            let Some(value) = value else { continue };
            let name = &**setting.key.name();
            let mut option = |name: &str, value: &str| _ = write!(command, " --{name} {}", quoted(value));
            match setting.key.kind() {
                Kind::Algorithm | Kind::Let => {}
                Kind::Param => {
                    let param = format!("{}={value}", setting.key.param().unwrap_or(name));
                    let _ = write!(command, " -p {}", quoted(&param));
                }
                Kind::Flag if &**value == "true" => _ = write!(command, " --{name}"),
                Kind::Flag => {}
                Kind::Faults | Kind::Starts if is_later(value) => return None,
                Kind::Faults => split_faults(value).iter().for_each(|one| option(name, one)),
                Kind::Cheats => value.split(',').for_each(|one| option(name, one)),
                Kind::Starts | Kind::Integer | Kind::Float | Kind::Text => option(name, value),
            }
        }
        let _ = write!(command, " --seed {seed}");
        Some(command)
    }
}

/// A word for a shell.
fn quoted(text: &str) -> String {
    let is_plain = |c: char| c.is_ascii_alphanumeric() || "_@%+=:,./-".contains(c);
    if text.chars().all(is_plain) { text.to_string() } else { format!("'{}'", text.replace('\'', "'\\''")) }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn command(vary: &str) -> Option<String> {
        let text = format!("version = 1\nname = \"x\"\nseed = 1\n[vary]\n{vary}");
        let experiment = Experiment::parse("x.toml", &text).expect("it is an experiment");
        experiment.command(&experiment.points()[0], 5)
    }

    #[test]
    fn settings_become_options() {
        let all = "algorithm = \"sun\"\nnodes = 16\np.u = 4\ncrash = \"3@0, 4@9\"\nunordered = true\nlet.k = 3\ninitiators = \"0\"";
        assert_eq!(
            command(all).as_deref(),
            Some("hustings sim sun --nodes 16 -p u=4 --crash 3@0 --crash 4@9 --unordered --initiators 0 --seed 5")
        );
        assert_eq!(command("algorithm = \"bully\"\nnodes = 4\ncrash = \"leader@quiet+1\""), None);
        assert_eq!(
            command("algorithm = \"bully\"\nnodes = 4\nunordered = false").as_deref(),
            Some("hustings sim bully --nodes 4 --seed 5")
        );
        assert_eq!(quoted("a b'c"), "'a b'\\''c'");
    }
}
