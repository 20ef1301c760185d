//! The copy of the advisories in `deny/advisories`.

use std::collections::BTreeSet;
use std::fs;
use std::path::Path;
use std::process::Command;
use std::time::{SystemTime, UNIX_EPOCH};

use toml::{Table, Value};

use super::{Advisory, packages};

/// Where the copy is.
const FOLDER: &str = "deny/advisories";
/// When and for which packages it was made.
const ABOUT: &str = "copy.toml";
/// The licences of the advisories, as the database has them.
const LICENCES: [&str; 3] = ["LICENSE.txt", "LICENSES/CC0-1.0.txt", "LICENSES/CC-BY-4.0.txt"];

/// The advisories that name one of our packages.
pub(super) struct Copy {
    /// The day of the database's last change, counted from 1970.
    pub(super) day: i64,
    /// The packages that were looked up.
    pub(super) packages: BTreeSet<String>,
    /// The advisories.
    pub(super) advisories: Vec<Advisory>,
}

impl Copy {
    /// Reads the copy.
    pub(super) fn read(root: &Path) -> Result<Self, String> {
        let folder = root.join(FOLDER);
        let about: Table = read(&folder.join(ABOUT))?.parse().map_err(|error| format!("{FOLDER}/{ABOUT}: {error}"))?;
        let date = about.get("date").and_then(Value::as_str).unwrap_or_default();
        let day = day(date).ok_or_else(|| format!("{FOLDER}/{ABOUT}: `{date}` is not a date"))?;
        let names = about.get("packages").and_then(Value::as_array).into_iter().flatten();
        let packages = names.filter_map(Value::as_str).map(str::to_string).collect();
        Ok(Copy { day, packages, advisories: advisories_in(&folder)? })
    }
}

fn advisories_in(folder: &Path) -> Result<Vec<Advisory>, String> {
    let mut advisories = Vec::new();
    for path in list(folder)?.iter().filter(|path| path.extension().is_some_and(|extension| extension == "md")) {
        let advisory = Advisory::parse(&read(path)?).map_err(|error| format!("{}: {error}", path.display()))?;
        advisories.push(advisory);
    }
    Ok(advisories)
}

/// Rewrites the copy from a checkout of the advisory database.
pub(crate) fn refresh(root: &Path, database: &Path) -> Result<(), String> {
    let (date, commit) = last_commit(database)?;
    day(&date).ok_or_else(|| format!("`{date}` is not a date"))?;
    let packages: BTreeSet<String> = packages(root)?.into_keys().collect();
    let mut found = Vec::new();
    for package in &packages {
        let folder = database.join("crates").join(package);
        if folder.is_dir() {
            found.extend(list(&folder)?);
        }
    }
    if found.is_empty() {
        return Err(format!("{} has no advisories: is it a checkout of the database?", database.display()));
    }
    let folder = root.join(FOLDER);
    if folder.exists() {
        fs::remove_dir_all(&folder).map_err(|error| format!("{}: {error}", folder.display()))?;
    }
    fs::create_dir_all(folder.join("LICENSES")).map_err(|error| format!("{}: {error}", folder.display()))?;
    for path in &found {
        write(&folder.join(path.file_name().unwrap_or_default()), &read(path)?)?;
    }
    for licence in LICENCES {
        write(&folder.join(licence), &read(&database.join(licence))?)?;
    }
    write(&folder.join(ABOUT), &about(&date, &commit, &packages))?;
    // What was written can be read.
    let copy = Copy::read(root)?;
    println!("{} advisories about {} packages, as of {date}", copy.advisories.len(), packages.len());
    Ok(())
}

fn about(date: &str, commit: &str, packages: &BTreeSet<String>) -> String {
    let names: String = packages.iter().map(|name| format!("    \"{name}\",\n")).collect();
    format!(
        "# The RustSec advisories about packages in our lock files. `cargo xtask advisories refresh` writes this folder.\n\
         # Their licences are in LICENSE.txt and LICENSES.\n\
         source = \"https://github.com/rustsec/advisory-db\"\n\
         commit = \"{commit}\"\n\
         date = \"{date}\"\n\
         # All packages that were looked up; most have no advisory.\n\
         packages = [\n{names}]\n"
    )
}

/// The date and the hash of a checkout's last commit.
fn last_commit(database: &Path) -> Result<(String, String), String> {
    let output = Command::new("git")
        .args(["log", "-1", "--date=short", "--format=%cd %H"])
        .current_dir(database)
        .output()
        .map_err(|error| format!("git in {}: {error}", database.display()))?;
    let text = String::from_utf8_lossy(&output.stdout);
    let parts = text.trim().split_once(' ').filter(|_| output.status.success());
    let (date, commit) = parts.ok_or_else(|| format!("{} is not a git checkout", database.display()))?;
    Ok((date.to_string(), commit.to_string()))
}

/// A date such as `2026-08-21` as a number of days since 1970.
pub(super) fn day(date: &str) -> Option<i64> {
    let numbers: Vec<i64> = date.split('-').map(|part| part.parse().ok()).collect::<Option<_>>()?;
    let [year, month, day] = numbers[..] else { return None };
    if !(1..=12).contains(&month) || !(1..=31).contains(&day) {
        return None;
    }
    // Years begin in March here, so that the leap day is the last day of a year.
    let (year, month) = if month > 2 { (year, month - 3) } else { (year - 1, month + 9) };
    let leap_days = year.div_euclid(4) - year.div_euclid(100) + year.div_euclid(400);
    Some(365 * year + leap_days + (153 * month + 2) / 5 + day - 1 - 719_468)
}

/// Today as a number of days since 1970.
pub(super) fn today() -> i64 {
    let seconds = SystemTime::now().duration_since(UNIX_EPOCH).map_or(0, |since| since.as_secs());
    (seconds / 86_400) as i64
}

fn list(folder: &Path) -> Result<Vec<std::path::PathBuf>, String> {
    let entries = fs::read_dir(folder).map_err(|error| format!("{}: {error}", folder.display()))?;
    let mut paths: Vec<_> = entries.flatten().map(|entry| entry.path()).collect();
    paths.sort();
    Ok(paths)
}

fn read(path: &Path) -> Result<String, String> {
    fs::read_to_string(path).map_err(|error| format!("{}: {error}", path.display()))
}

fn write(path: &Path, text: &str) -> Result<(), String> {
    fs::write(path, text).map_err(|error| format!("{}: {error}", path.display()))
}
