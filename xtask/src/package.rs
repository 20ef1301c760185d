//! `cargo xtask package`: a .deb and a tarball, with the unit, manual pages and completions.

use std::collections::BTreeMap;
use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::Command;

/// What to do.
#[derive(Debug, Default, PartialEq, Eq)]
pub(crate) struct Options {
    /// A program that is built already.
    pub(crate) binary: Option<PathBuf>,
    /// Whether to install the packages in a container that boots systemd.
    pub(crate) test: bool,
}

impl Options {
    pub(crate) fn parse(arguments: &[String]) -> Result<Options, String> {
        let mut options = Options::default();
        let mut rest = arguments.iter();
        while let Some(argument) = rest.next() {
            match argument.as_str() {
                "--test" => options.test = true,
                "--binary" => {
                    let path = rest.next().ok_or("`--binary` needs a file")?;
                    options.binary = Some(PathBuf::from(path));
                }
                other => return Err(format!("`package` has no option `{other}`; allowed: --binary FILE, --test")),
            }
        }
        Ok(options)
    }
}

const DOCUMENTS: [&str; 8] = [
    "README.md",
    "CHANGELOG.md",
    "docs/operations.md",
    "docs/configuration.md",
    "docs/run.md",
    "docs/api.md",
    "docs/monitoring.md",
    "docs/troubleshooting.md",
];
/// What other systems need to work with a node.
const CONTRIB: &str = "contrib";

/// The libraries that the program may link, the package of each, and the prefix of their versions.
const LIBRARIES: [(&str, &str, &str); 4] = [
    ("libc.so.6", "libc6", "GLIBC_"),
    ("libm.so.6", "libc6", "GLIBC_"),
    ("ld-linux-", "libc6", "GLIBC_"),
    ("libgcc_s.so.1", "libgcc-s1", "GCC_"),
];

/// Builds the packages. Returns what could not be done.
pub(crate) fn run(root: &Path, options: &Options) -> Result<(), String> {
    let binary = match &options.binary {
        Some(binary) => root.join(binary),
        None => build(root)?,
    };
    let version = version(&binary)?;
    let out = root.join("target/package");
    let stage = out.join("stage");
    if stage.exists() {
        fs::remove_dir_all(&stage).map_err(told(&stage))?;
    }
    stage_files(root, &binary, &stage)?;
    println!("{}", tarball(root, &out, &stage, &version)?.display());
    let depends = depends(&binary)?;
    let new = deb(root, &out, &stage, &version, &depends)?;
    println!("{}", new.display());
    if options.test {
        // The same files under an older version, to upgrade from.
        let old = deb(root, &out, &stage, &format!("{version}~0"), &depends)?;
        let script = root.join("packaging/test-in-systemd");
        call(Command::new("bash").arg(script).arg(&old).arg(&new))?;
        fs::remove_file(&old).map_err(told(&old))?;
    }
    fs::remove_dir_all(&stage).map_err(told(&stage))
}

fn build(root: &Path) -> Result<PathBuf, String> {
    let cargo = std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into());
    call(Command::new(cargo).args(["build", "--release", "--locked", "-p", "hustings"]).current_dir(root))?;
    Ok(root.join("target/release/hustings"))
}

/// The program's own version.
fn version(binary: &Path) -> Result<String, String> {
    let text = output(Command::new(binary).arg("--version"))?;
    let version = text.split_whitespace().nth(1).map(str::to_string);
    version.ok_or_else(|| format!("{} does not say its version", binary.display()))
}

/// Puts everything in its place below a folder.
fn stage_files(root: &Path, binary: &Path, stage: &Path) -> Result<(), String> {
    let put = |path: &str, mode: u32, bytes: &[u8]| {
        let path = stage.join(path);
        let folder = path.parent().expect("a file is in a folder");
        fs::create_dir_all(folder).map_err(told(folder))?;
        fs::write(&path, bytes).map_err(told(&path))?;
        fs::set_permissions(&path, fs::Permissions::from_mode(mode)).map_err(told(&path))
    };
    let read = |path: &Path| fs::read(path).map_err(told(path));
    put("usr/bin/hustings", 0o755, &read(binary)?)?;
    put("usr/lib/systemd/system/hustings.service", 0o644, &read(&root.join("packaging/hustings.service"))?)?;
    put("usr/lib/sysusers.d/hustings.conf", 0o644, &read(&root.join("packaging/hustings.sysusers"))?)?;
    for document in DOCUMENTS {
        let name = Path::new(document).file_name().expect("it is a file").to_string_lossy();
        put(&format!("usr/share/doc/hustings/{name}"), 0o644, &read(&root.join(document))?)?;
    }
    for path in files_below(&root.join(CONTRIB)).map_err(told(&root.join(CONTRIB)))? {
        let name = path.strip_prefix(root).expect("it is below the root").display();
        put(&format!("usr/share/doc/hustings/{name}"), 0o644, &read(&path)?)?;
    }
    let licences = [read(&root.join("LICENSE-MIT"))?, read(&root.join("LICENSE-APACHE"))?].concat();
    put("usr/share/doc/hustings/copyright", 0o644, &licences)?;
    for (shell, path) in [
        ("bash", "usr/share/bash-completion/completions/hustings"),
        ("zsh", "usr/share/zsh/vendor-completions/_hustings"),
        ("fish", "usr/share/fish/vendor_completions.d/hustings.fish"),
    ] {
        let script = output(Command::new(binary).args(["completions", shell]))?;
        put(path, 0o644, script.as_bytes())?;
    }
    for page in commands(binary)? {
        let mut man = Command::new(binary);
        man.arg("man").args(page.as_deref());
        let name = page.map_or_else(|| "hustings".to_string(), |command| format!("hustings-{command}"));
        let path = format!("usr/share/man/man1/{name}.1");
        put(&path, 0o644, output(&mut man)?.as_bytes())?;
        // `-n`: without the time, so that the same page gives the same bytes.
        call(Command::new("gzip").args(["-9nf"]).arg(stage.join(&path)))?;
    }
    Ok(())
}

fn files_below(folder: &Path) -> std::io::Result<Vec<PathBuf>> {
    let mut files = Vec::new();
    for entry in fs::read_dir(folder)? {
        let entry = entry?;
        match entry.file_type()?.is_dir() {
            true => files.extend(files_below(&entry.path())?),
            false => files.push(entry.path()),
        }
    }
    files.sort();
    Ok(files)
}

/// What the package depends on: for each library that the program links, the highest version of a symbol that it uses.
fn depends(binary: &Path) -> Result<String, String> {
    let read = |option| output(Command::new("readelf").arg(option).arg("-W").arg(binary));
    let missing = |error| format!("{error}; readelf is part of binutils");
    dependencies(&read("-d").map_err(missing)?, &read("-V")?)
}

/// The same, of what `readelf` prints: the dynamic section, and the versions of symbols.
fn dependencies(dynamic: &str, versions: &str) -> Result<String, String> {
    let mut packages: BTreeMap<&str, Vec<u32>> = BTreeMap::new();
    let needed = dynamic.lines().filter_map(|line| line.split_once("Shared library: [")?.1.split(']').next());
    for library in needed {
        let known = LIBRARIES.iter().find(|(name, ..)| library.starts_with(name));
        let (_, package, prefix) =
            known.ok_or_else(|| format!("the program links {library}, of an unknown package"))?;
        let names = versions.lines().filter_map(|line| line.split_once("Name: ")?.1.split_whitespace().next());
        let used = names.filter_map(|name| version_of(name.strip_prefix(prefix)?));
        let highest = packages.entry(package).or_default();
        *highest = used.max().unwrap_or_default().max(std::mem::take(highest));
    }
    if packages.is_empty() {
        return Err("the program links no library, or readelf prints something else".to_string());
    }
    let one = |(package, version): (&str, Vec<u32>)| {
        let version: Vec<String> = version.iter().map(ToString::to_string).collect();
        if version.is_empty() { package.to_string() } else { format!("{package} (>= {})", version.join(".")) }
    };
    Ok(packages.into_iter().map(one).collect::<Vec<_>>().join(", "))
}

/// The numbers of a version, which are compared one by one: 2.35 comes after 2.9.
fn version_of(text: &str) -> Option<Vec<u32>> {
    text.split('.').map(|part| part.parse().ok()).collect()
}

/// The pages of the manual: the program's, and one for each of its commands.
fn commands(binary: &Path) -> Result<Vec<Option<String>>, String> {
    let help = output(Command::new(binary).arg("--help"))?;
    let list = help.split("Commands:\n").nth(1).and_then(|rest| rest.split("\n\n").next());
    let list = list.ok_or("the program's help lists no commands")?;
    let names = list.lines().filter_map(|line| line.split_whitespace().next()).map(str::to_string);
    Ok(std::iter::once(None).chain(names.map(Some)).collect())
}

fn tarball(root: &Path, out: &Path, stage: &Path, version: &str) -> Result<PathBuf, String> {
    let name = format!("hustings-{version}-{}", std::env::consts::ARCH);
    let folder = out.join(&name);
    if folder.exists() {
        fs::remove_dir_all(&folder).map_err(told(&folder))?;
    }
    fs::create_dir_all(&folder).map_err(told(&folder))?;
    call(Command::new("cp").arg("-a").arg(stage.join("usr")).arg(&folder))?;
    for (from, to) in [("packaging/install.sh", "install.sh"), ("packaging/debian/postinst", "postinst")] {
        fs::copy(root.join(from), folder.join(to)).map_err(told(&folder.join(to)))?;
    }
    let path = out.join(format!("{name}.tar.gz"));
    let owner = ["--owner=0", "--group=0", "--sort=name"];
    call(Command::new("tar").args(owner).arg("-czf").arg(&path).arg("-C").arg(out).arg(&name))?;
    fs::remove_dir_all(&folder).map_err(told(&folder))?;
    Ok(path)
}

fn deb(root: &Path, out: &Path, stage: &Path, version: &str, depends: &str) -> Result<PathBuf, String> {
    let architecture = output(Command::new("dpkg").arg("--print-architecture"))?;
    let architecture = architecture.trim();
    let control = stage.join("DEBIAN");
    fs::create_dir_all(&control).map_err(told(&control))?;
    let template = root.join("packaging/debian/control");
    let text = fs::read_to_string(&template).map_err(told(&template))?;
    let text = text.replace("@VERSION@", version).replace("@ARCHITECTURE@", architecture);
    let text = text.replace("@DEPENDS@", depends);
    fs::write(control.join("control"), text).map_err(told(&control))?;
    for script in ["postinst", "prerm", "postrm"] {
        let path = control.join(script);
        fs::copy(root.join("packaging/debian").join(script), &path).map_err(told(&path))?;
        fs::set_permissions(&path, fs::Permissions::from_mode(0o755)).map_err(told(&path))?;
    }
    let path = out.join(format!("hustings_{version}_{architecture}.deb"));
    call(Command::new("dpkg-deb").args(["--root-owner-group", "-Zgzip", "--build"]).arg(stage).arg(&path))?;
    fs::remove_dir_all(&control).map_err(told(&control))?;
    Ok(path)
}

pub(crate) fn told(path: &Path) -> impl FnOnce(std::io::Error) -> String {
    move |error| format!("{}: {error}", path.display())
}

pub(crate) fn call(command: &mut Command) -> Result<(), String> {
    let status = command.status().map_err(|error| format!("{command:?} could not be started: {error}"))?;
    if status.success() { Ok(()) } else { Err(format!("{command:?} failed: {status}")) }
}

pub(crate) fn output(command: &mut Command) -> Result<String, String> {
    let output = command.output().map_err(|error| format!("{command:?} could not be started: {error}"))?;
    if !output.status.success() {
        return Err(format!("{command:?} failed: {}", output.status));
    }
    String::from_utf8(output.stdout).map_err(|_| format!("{command:?} printed something that is not text"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn dependencies_follow_from_the_symbols_in_use() {
        let dynamic = " 0x1 (NEEDED)  Shared library: [libgcc_s.so.1]\n 0x1 (NEEDED)  Shared library: [libc.so.6]\n";
        let versions = "  0x1:   Name: GLIBC_2.9  Flags: none  Version: 4\n  0x2:   Name: GLIBC_2.35  Flags: none\n  \
                        0x3:   Name: GLIBC_2.4  Flags: none\n  0x4:   Name: GCC_4.2.0  Flags: none\n";
        let expected = "libc6 (>= 2.35), libgcc-s1 (>= 4.2.0)";
        assert_eq!(dependencies(dynamic, versions).as_deref(), Ok(expected));
        assert!(dependencies("", versions).is_err());
        let unknown = dependencies(" (NEEDED)  Shared library: [libssl.so.3]\n", versions);
        assert!(unknown.is_err_and(|error| error.contains("libssl.so.3")));
    }

    /// This program was linked on this host, so the host has what it depends on.
    #[test]
    fn a_real_program_depends_on_a_libc_that_is_here() {
        let depends = depends(&std::env::current_exe().expect("this program")).expect("binutils come with the linker");
        let version = depends.split_once("libc6 (>= 2.").and_then(|(_, rest)| rest.split(')').next());
        let version: u32 = version.and_then(|text| text.parse().ok()).unwrap_or_else(|| panic!("{depends}"));
        let here = output(Command::new("getconf").arg("GNU_LIBC_VERSION")).expect("glibc has it");
        let here: u32 = here.trim().rsplit('.').next().and_then(|text| text.parse().ok()).expect("a version");
        assert!((17..=here).contains(&version), "{depends}, but here is {here}");
    }

    #[test]
    fn options_are_named_or_refused() {
        let parse = |arguments: &[&str]| Options::parse(&arguments.iter().map(ToString::to_string).collect::<Vec<_>>());
        assert_eq!(parse(&[]), Ok(Options::default()));
        let expected = Options { binary: Some("x".into()), test: true };
        assert_eq!(parse(&["--binary", "x", "--test"]), Ok(expected));
        assert!(parse(&["--binary"]).is_err() && parse(&["--tset"]).is_err_and(|error| error.contains("--test")));
    }
}
