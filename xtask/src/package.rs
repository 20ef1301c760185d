//! `cargo xtask package`: a .deb and a tarball, with the unit, manual pages and completions.

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

const DOCUMENTS: [&str; 4] = ["README.md", "CHANGELOG.md", "docs/operations.md", "docs/configuration.md"];

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
    let new = deb(root, &out, &stage, &version)?;
    println!("{}", new.display());
    if options.test {
        // The same files under an older version, to upgrade from.
        let old = deb(root, &out, &stage, &format!("{version}~0"))?;
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

fn deb(root: &Path, out: &Path, stage: &Path, version: &str) -> Result<PathBuf, String> {
    let architecture = output(Command::new("dpkg").arg("--print-architecture"))?;
    let architecture = architecture.trim();
    let control = stage.join("DEBIAN");
    fs::create_dir_all(&control).map_err(told(&control))?;
    let template = root.join("packaging/debian/control");
    let text = fs::read_to_string(&template).map_err(told(&template))?;
    let text = text.replace("@VERSION@", version).replace("@ARCHITECTURE@", architecture);
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
    fn options_are_named_or_refused() {
        let parse = |arguments: &[&str]| Options::parse(&arguments.iter().map(ToString::to_string).collect::<Vec<_>>());
        assert_eq!(parse(&[]), Ok(Options::default()));
        let expected = Options { binary: Some("x".into()), test: true };
        assert_eq!(parse(&["--binary", "x", "--test"]), Ok(expected));
        assert!(parse(&["--binary"]).is_err() && parse(&["--tset"]).is_err_and(|error| error.contains("--test")));
    }
}
