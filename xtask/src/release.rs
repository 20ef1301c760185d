//! `cargo xtask release VERSION`: everything that a release consists of, in one folder.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use crate::package::{self, call, output, told};
use crate::sbom;

/// Which commit each release was made from. Clones may lack the tags.
const RELEASES: &str = "packaging/releases.toml";
const CHANGELOG: &str = "CHANGELOG.md";
const CITATION: &str = "CITATION.cff";
const CHECKSUMS: &str = "SHA256SUMS";

/// What to do.
#[derive(Debug, Default, PartialEq, Eq)]
pub(crate) struct Options {
    pub(crate) version: String,
    /// Nothing is tagged or recorded, and the changes may be unreleased.
    pub(crate) is_dry_run: bool,
    /// Where everything goes; `target/release-VERSION` by default.
    pub(crate) out: Option<PathBuf>,
    /// A program that is built already; with a dry run only.
    pub(crate) binary: Option<PathBuf>,
}

impl Options {
    pub(crate) fn parse(arguments: &[String]) -> Result<Options, String> {
        let mut options = Options::default();
        let mut rest = arguments.iter();
        while let Some(argument) = rest.next() {
            let mut file = || rest.next().map(PathBuf::from).ok_or_else(|| format!("`{argument}` needs a path"));
            match argument.as_str() {
                "--dry-run" => options.is_dry_run = true,
                "--out" => options.out = Some(file()?),
                "--binary" => options.binary = Some(file()?),
                option if option.starts_with('-') => {
                    let allowed = "--dry-run, --out DIR, --binary FILE";
                    return Err(format!("`release` has no option `{option}`; allowed: {allowed}"));
                }
                version if options.version.is_empty() => {
                    semver::Version::parse(version).map_err(|error| format!("the version `{version}`: {error}"))?;
                    options.version = version.to_string();
                }
                other => return Err(format!("`release` takes one version, not also `{other}`")),
            }
        }
        if options.version.is_empty() {
            return Err("`release` needs a version, such as 0.1.0".to_string());
        }
        if options.binary.is_some() && !options.is_dry_run {
            return Err("`--binary` is for `--dry-run`: a release is built from its commit".to_string());
        }
        Ok(options)
    }
}

/// Makes a release, or only its files. Returns what could not be done.
pub(crate) fn run(root: &Path, options: &Options) -> Result<(), String> {
    let version = &options.version;
    let manifest = read(&root.join("Cargo.toml"))?;
    let citation = read(&root.join(CITATION))?;
    check_version(&manifest, &citation, version)?;
    let notes = notes(&read(&root.join(CHANGELOG))?, version, options.is_dry_run)?;
    let commit = git(root, &["rev-parse", "HEAD"])?;
    let date = git(root, &["show", "--no-patch", "--format=%cI", "HEAD"])?;
    let releases = read(&root.join(RELEASES))?;
    let recorded = record(&releases, version, &commit, &date)?;
    if !options.is_dry_run {
        check_date(&citation)?;
        if !git(root, &["status", "--porcelain"])?.is_empty() {
            return Err("there are changes that are not committed: a release is a commit".to_string());
        }
        if !git(root, &["tag", "--list", &tag(version)])?.is_empty() {
            return Err(format!("the tag {} exists already", tag(version)));
        }
    }
    let out = prepare(root, options)?;
    let write = |name: &str, text: &str| fs::write(out.join(name), text).map_err(told(&out.join(name)));
    write("NOTES.md", &notes)?;
    let bill = sbom::bill(root, version, &date)?;
    write(&format!("hustings-{version}.cdx.json"), &format!("{bill:#}\n"))?;
    source(root, &out, version)?;
    packages(root, &out, options)?;
    write(CHECKSUMS, &checksums(&out)?)?;
    if !options.is_dry_run {
        let message = out.join("NOTES.md").display().to_string();
        git(root, &["tag", "--annotate", "--cleanup=verbatim", "--file", &message, &tag(version)])?;
        fs::write(root.join(RELEASES), recorded).map_err(told(&root.join(RELEASES)))?;
        println!("tagged {}; commit {RELEASES}, then push the commit and the tag", tag(version));
    }
    println!("{}", out.display());
    Ok(())
}

/// The folder for everything, empty.
fn prepare(root: &Path, options: &Options) -> Result<PathBuf, String> {
    let own = root.join(format!("target/release-{}", options.version));
    let out = options.out.as_ref().map_or(own.clone(), |out| root.join(out));
    if out == own && out.exists() {
        fs::remove_dir_all(&out).map_err(told(&out))?;
    }
    fs::create_dir_all(&out).map_err(told(&out))?;
    match fs::read_dir(&out).map_err(told(&out))?.next() {
        None => Ok(out),
        Some(_) => Err(format!("{} is not empty", out.display())),
    }
}

fn tag(version: &str) -> String {
    format!("v{version}")
}

fn read(path: &Path) -> Result<String, String> {
    fs::read_to_string(path).map_err(told(path))
}

fn git(root: &Path, arguments: &[&str]) -> Result<String, String> {
    output(Command::new("git").args(arguments).current_dir(root)).map(|text| text.trim().to_string())
}

/// The version of the workspace, and the one to cite, must be the one that is asked for.
fn check_version(manifest: &str, citation: &str, version: &str) -> Result<(), String> {
    let manifest: toml::Table = toml::from_str(manifest).map_err(|error| format!("Cargo.toml: {error}"))?;
    let found = manifest["workspace"]["package"]["version"].as_str().unwrap_or_default();
    if found != version {
        return Err(format!("the version in Cargo.toml is {found}, not {version}: change it there first"));
    }
    match citation.lines().any(|line| line == format!("version: {version}")) {
        true => Ok(()),
        false => Err(format!("{CITATION} has no line `version: {version}`: change it there first")),
    }
}

/// Reports name the day of the release.
fn check_date(citation: &str) -> Result<(), String> {
    match citation.lines().any(|line| line.starts_with("date-released: ")) {
        true => Ok(()),
        false => Err(format!("{CITATION} has no line `date-released: YYYY-MM-DD`: add it there first")),
    }
}

/// The section of the changelog: `## 0.1.0 (2026-01-31)`. A dry run takes what is unreleased if there is none.
fn notes(changelog: &str, version: &str, is_dry_run: bool) -> Result<String, String> {
    let section = |is_it: &dyn Fn(&str) -> bool| {
        let mut sections = changelog.split("\n## ").skip(1);
        sections.find(|section| is_it(section.lines().next().unwrap_or_default())).map(str::to_string)
    };
    let is_released = |heading: &str| heading.strip_prefix(version).is_some_and(is_date);
    let found = section(&is_released).or_else(|| is_dry_run.then(|| section(&|heading| heading == "Unreleased"))?);
    let text = found.ok_or(format!("{CHANGELOG} has no section `## {version} (YYYY-MM-DD)`"))?;
    let body = text.split_once('\n').map_or("", |(_, body)| body).trim();
    if body.is_empty() {
        return Err(format!("the section of {version} in {CHANGELOG} is empty"));
    }
    Ok(format!("Hustings {version}\n\n{body}\n"))
}

/// Whether this is ` (YYYY-MM-DD)`.
fn is_date(text: &str) -> bool {
    let date = text.strip_prefix(" (").and_then(|rest| rest.strip_suffix(')'));
    let digit = |(index, c): (usize, char)| if index == 4 || index == 7 { c == '-' } else { c.is_ascii_digit() };
    date.is_some_and(|date| date.len() == 10 && date.chars().enumerate().all(digit))
}

/// The list of releases with one more.
fn record(releases: &str, version: &str, commit: &str, date: &str) -> Result<String, String> {
    let table: toml::Table = toml::from_str(releases).map_err(|error| format!("{RELEASES}: {error}"))?;
    let list = table.get("release").and_then(toml::Value::as_array).cloned().unwrap_or_default();
    let version_of = |release: &toml::Value| release.get("version").and_then(toml::Value::as_str).map(str::to_string);
    if list.iter().any(|release| version_of(release).as_deref() == Some(version)) {
        return Err(format!("{version} was released already, says {RELEASES}"));
    }
    let day = date.split('T').next().unwrap_or_default();
    Ok(format!("{releases}\n[[release]]\nversion = \"{version}\"\ncommit = \"{commit}\"\ndate = \"{day}\"\n"))
}

/// The sources, as the commit has them.
fn source(root: &Path, out: &Path, version: &str) -> Result<(), String> {
    let path = out.join(format!("hustings-{version}-source.tar.gz"));
    let prefix = format!("--prefix=hustings-{version}/");
    let mut archive = Command::new("git");
    call(archive.args(["archive", "--format=tar.gz", &prefix, "--output"]).arg(path).arg("HEAD").current_dir(root))
}

/// The `.deb` and the tarball.
fn packages(root: &Path, out: &Path, options: &Options) -> Result<(), String> {
    package::run(root, &package::Options { binary: options.binary.clone(), test: false })?;
    let folder = root.join("target/package");
    let version = &options.version;
    let is_wanted = |name: &str| {
        let of_version = [format!("hustings-{version}-"), format!("hustings_{version}_")];
        of_version.iter().any(|start| name.starts_with(start)) && (name.ends_with(".deb") || name.ends_with(".tar.gz"))
    };
    let mut copied = 0;
    for entry in fs::read_dir(&folder).map_err(told(&folder))? {
        let path = entry.map_err(told(&folder))?.path();
        let name = path.file_name().unwrap_or_default().to_string_lossy().into_owned();
        if is_wanted(&name) {
            fs::copy(&path, out.join(&name)).map_err(told(&path))?;
            copied += 1;
        }
    }
    if copied == 2 { Ok(()) } else { Err(format!("expected a .deb and a tarball of {version}, found {copied} files")) }
}

/// What `sha256sum --check` reads: all files, by name.
fn checksums(out: &Path) -> Result<String, String> {
    let mut names = Vec::new();
    for entry in fs::read_dir(out).map_err(told(out))? {
        names.push(entry.map_err(told(out))?.file_name());
    }
    names.sort();
    output(Command::new("sha256sum").arg("--").args(names).current_dir(out))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn options(arguments: &[&str]) -> Result<Options, String> {
        Options::parse(&arguments.iter().map(ToString::to_string).collect::<Vec<_>>())
    }

    #[test]
    fn options_are_named_or_refused() {
        let given = options(&["0.1.0", "--dry-run", "--out", "x", "--binary", "y"]).unwrap();
        assert_eq!((given.version.as_str(), given.is_dry_run), ("0.1.0", true));
        assert_eq!((given.out, given.binary), (Some("x".into()), Some("y".into())));
        for (wrong, why) in [
            (&["--dry-run"][..], "needs a version"),
            (&["0.1"], "0.1"),
            (&["0.1.0", "0.2.0"], "not also"),
            (&["0.1.0", "--out"], "needs a path"),
            (&["0.1.0", "--tag"], "--dry-run"),
            (&["0.1.0", "--binary", "y"], "built from its commit"),
        ] {
            assert!(options(wrong).is_err_and(|error| error.contains(why)), "{wrong:?}");
        }
    }

    #[test]
    fn notes_are_the_section_of_the_version() {
        let log = "# Changelog\n\n## Unreleased\n\nNew.\n\n## 0.2.0 (2026-01-31)\n\n### Added\n\n- One.\n\n## 0.1.0 (2025-01-01)\n";
        assert_eq!(notes(log, "0.2.0", false).unwrap(), "Hustings 0.2.0\n\n### Added\n\n- One.\n");
        assert_eq!(notes(log, "0.3.0", true).unwrap(), "Hustings 0.3.0\n\nNew.\n");
        assert!(notes(log, "0.3.0", false).is_err_and(|error| error.contains("## 0.3.0 (YYYY-MM-DD)")));
        assert!(notes(log, "0.1.0", false).is_err_and(|error| error.contains("empty")));
        assert!(notes("## 0.2\n\n## 0.2.0\nx", "0.2.0", false).is_err(), "without a date");
    }

    #[test]
    fn only_its_own_folder_is_replaced() {
        let root = std::env::temp_dir().join(format!("hustings-release-{}", std::process::id()));
        let mut options = options(&["0.1.0", "--dry-run"]).unwrap();
        let own = prepare(&root, &options).unwrap();
        fs::write(own.join("file"), "").unwrap();
        assert_eq!(prepare(&root, &options), Ok(own.clone()));
        assert!(!own.join("file").exists());
        options.out = Some("other".into());
        let other = prepare(&root, &options).unwrap();
        fs::write(other.join("file"), "").unwrap();
        assert!(prepare(&root, &options).is_err_and(|error| error.contains("is not empty")));
        assert!(other.join("file").exists());
        fs::remove_dir_all(&root).unwrap();
    }

    #[test]
    fn a_release_is_recorded_once() {
        let once = record("# Releases.\n", "0.1.0", "abc", "2026-01-31T10:00:00+00:00").unwrap();
        assert_eq!(once, "# Releases.\n\n[[release]]\nversion = \"0.1.0\"\ncommit = \"abc\"\ndate = \"2026-01-31\"\n");
        assert!(record(&once, "0.1.0", "def", "2026-02-01").is_err());
        assert!(record(&once, "0.2.0", "def", "2026-02-01").is_ok_and(|twice| twice.starts_with(&once)));
    }

    #[test]
    fn the_version_must_be_that_of_the_workspace() {
        let manifest = "[workspace.package]\nversion = \"0.1.0\"\n";
        assert_eq!(check_version(manifest, "version: 0.1.0\n", "0.1.0"), Ok(()));
        assert!(check_version(manifest, "", "0.2.0").is_err_and(|error| error.contains("0.1.0, not 0.2.0")));
        assert!(check_version(manifest, "version: 0.0.9\n", "0.1.0").is_err_and(|error| error.contains("CITATION")));
        assert_eq!(check_date("version: 0.1.0\ndate-released: 2026-01-31\n"), Ok(()));
        assert!(check_date("version: 0.1.0\n").is_err_and(|error| error.contains("date-released")));
    }
}
