//! Who can change the folder of the persistent state.

use std::fs;
use std::os::unix::fs::MetadataExt;
use std::path::Path;

use rustix::process::geteuid;

use super::NodeError;

/// Fails if everybody can write the folder. Returns what needs attention: a group that can write it, as volumes of
/// Kubernetes have one, or another owner. A folder that does not exist yet will be the node's own.
pub(super) fn check(folder: &Path) -> Result<Option<String>, NodeError> {
    // If it cannot be inspected, it cannot be opened either, which is told there.
    let Ok(found) = fs::metadata(folder) else { return Ok(None) };
    let mode = found.mode() & 0o7777;
    if mode & 0o002 != 0 {
        return Err(NodeError::OpenDataFolder { folder: folder.to_path_buf(), mode });
    }
    let own = geteuid().as_raw();
    let who = match found.uid() {
        _ if mode & 0o020 != 0 => format!("the group {} can write it (mode {mode:03o}); chmod 700 it", found.gid()),
        owner if owner != 0 && owner != own => format!("the user {owner} owns it, but the node runs as {own}"),
        _ => return Ok(None),
    };
    Ok(Some(format!("{}: whoever changes the data folder changes votes, and {who}", folder.display())))
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::PermissionsExt;

    use super::*;

    #[test]
    fn a_folder_that_everybody_can_write_is_refused() {
        let folder = tempfile::tempdir().expect("a folder for the test");
        let with = |mode| {
            fs::set_permissions(folder.path(), fs::Permissions::from_mode(mode)).expect("it is ours");
            check(folder.path()).map_err(|error| error.to_string())
        };
        assert_eq!((with(0o700), with(0o755)), (Ok(None), Ok(None)));
        let warned = with(0o2770).expect("a group is accepted").expect("but not silently");
        assert!(warned.contains("can write it (mode 2770)"), "{warned}");
        for mode in [0o777, 0o1777, 0o702] {
            let refused = with(mode).expect_err("everybody can write it");
            assert!(refused.contains("other users can write the data folder"), "{refused}");
        }
        assert_eq!(check(&folder.path().join("new")).map_err(|error| error.to_string()), Ok(None));
    }
}
