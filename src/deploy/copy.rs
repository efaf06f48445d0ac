//! Bringing files to a board: what differs in length or time of change is sent, as one `tar` stream.
//!
//! tar and not rsync, because every board has it. Like rsync, it takes a file of equal length and time for equal.

use std::collections::{BTreeMap, BTreeSet};
use std::io::Write;
use std::process::{Command, Stdio};

use super::DeployError;
use super::payload::{Item, Only};
use super::ssh::Host;
use crate::units::Bytes;

/// The binary's place below the board's folder.
pub const BINARY: &str = "bin/jetlag";
/// Words of one command line; far below what any system takes.
const WORDS_AT_ONCE: usize = 200;

/// What a copy has sent, of what was wanted.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Sent {
    /// Files that were sent.
    pub files: usize,
    /// The length of these files together.
    pub bytes: Bytes,
    /// Files that were there already.
    pub kept: usize,
    /// Files that were removed, since a run there would take them for its own.
    pub removed: usize,
}

/// Length and last change of a file on the board.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Facts {
    /// Length in bytes.
    pub(super) bytes: u64,
    /// Whole seconds of its last change, since 1970.
    pub(super) changed_s: i64,
    /// Nanoseconds beside them.
    pub(super) nanos: u32,
}

/// Files below the board's folder.
type Listing = BTreeMap<String, Facts>;

/// Sends what the board does not have. `items` are the files; of what `only` covers beside them, nothing stays.
///
/// # Errors
/// A full disk, a lost connection, or a file that cannot be read here.
pub fn send(
    host: &Host,
    folder: &str,
    free: Bytes,
    items: &BTreeSet<Item>,
    only: &BTreeSet<Only>,
) -> Result<Sent, DeployError> {
    let there = listing(host, folder)?;
    let (same, new): (Vec<&Item>, Vec<&Item>) = items.iter().partition(|item| {
        let there = there.get(&item.remote);
        there.is_some_and(|there| (there.bytes, there.changed_s) == (item.bytes, item.changed_s))
    });
    let wanted: BTreeSet<&str> = items.iter().map(|item| item.remote.as_str()).collect();
    let stale: Vec<&str> = there
        .keys()
        .map(String::as_str)
        .filter(|path| only.iter().any(|only| only.covers(path)) && !wanted.contains(path))
        .collect();
    for some in stale.chunks(WORDS_AT_ONCE) {
        let mut words = vec!["remove", folder];
        words.extend(some);
        host.ask("removing old files", &words)?;
    }
    let bytes = Bytes(new.iter().map(|item| item.bytes).sum());
    if bytes.0 > free.0 {
        return Err(DeployError::would_be_full(host.name(), folder, free, bytes));
    }
    let (binary, files): (Vec<&Item>, Vec<&Item>) = new.iter().partition(|item| item.remote == BINARY);
    stream(host, folder, &binary, "s,.*,bin/jetlag,", "--mode=0755")?;
    stream(host, folder, &files, "s,^,files/,", "--mode=0644")?;
    Ok(Sent {
        files: new.len(),
        bytes,
        kept: same.len(),
        removed: stale.len(),
    })
}

fn listing(host: &Host, folder: &str) -> Result<Listing, DeployError> {
    let answer = host.ask("listing its files", &["list", folder])?;
    let text = String::from_utf8_lossy(&answer);
    Ok(text.split('\0').filter_map(entry).collect())
}

/// One of `find -printf '%T@ %s %p\0'`: `1763737308.1234567890 14680064 bin/jetlag`.
pub(super) fn entry(text: &str) -> Option<(String, Facts)> {
    let (time, rest) = text.split_once(' ')?;
    let (bytes, path) = rest.split_once(' ')?;
    let (seconds, fraction) = time.split_once('.').unwrap_or((time, ""));
    let nanos: String = fraction.chars().chain("000000000".chars()).take(9).collect();
    let facts = Facts {
        bytes: bytes.parse().ok()?,
        changed_s: seconds.parse().ok()?,
        nanos: nanos.parse().ok()?,
    };
    Some((path.to_owned(), facts))
}

/// Packs files here and unpacks them there; `rename` is a tar transformation of their absolute paths without
/// the first slash.
fn stream(
    host: &Host,
    folder: &str,
    items: &[&Item],
    rename: &str,
    mode: &'static str,
) -> Result<(), DeployError> {
    if items.is_empty() {
        return Ok(());
    }
    let cannot = |error| DeployError::NoProgram {
        program: "tar",
        package: "tar",
        error,
    };
    let mut tar = Command::new("tar")
        .args(["-c", "-f", "-", "-C", "/", "--dereference", "--no-recursion"])
        .args([
            "--owner=0",
            "--group=0",
            mode,
            "--null",
            "--verbatim-files-from",
            "--files-from=-",
        ])
        // Names alone: where a link in an archive leads is nothing to rename.
        .arg(format!("--transform=flags=r;{rename}"))
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .map_err(cannot)?;
    let (list, archive) = (tar.stdin.take(), tar.stdout.take());
    let names: Vec<u8> = items
        .iter()
        .flat_map(|item| {
            let path = item.local.to_string_lossy();
            let mut name = path.trim_start_matches('/').as_bytes().to_vec();
            name.push(0);
            name
        })
        .collect();
    let Some(archive) = archive else {
        return Err(cannot(std::io::ErrorKind::BrokenPipe.into()));
    };
    let remote = ["tar", "-x", "-f", "-", "--no-same-owner", "-C", folder];
    let call = host.start(&remote, archive.into(), Stdio::null())?;
    if let Some(mut list) = list {
        // Where tar has ended already, its exit code says more than this write.
        let _ = list.write_all(&names);
    }
    call.finish("copying files")?;
    let packed = tar.wait_with_output().map_err(cannot)?;
    if !packed.status.success() {
        return Err(DeployError::File {
            path: "tar".to_owned(),
            problem: format!(
                "cannot pack the local files: {}",
                String::from_utf8_lossy(&packed.stderr).trim()
            ),
        });
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_listing_is_read_with_blanks_in_names() {
        assert_eq!(
            entry("1763737308.1234567890 14680064 files/a b.onnx"),
            Some((
                "files/a b.onnx".to_owned(),
                Facts {
                    bytes: 14_680_064,
                    changed_s: 1_763_737_308,
                    nanos: 123_456_789
                }
            ))
        );
        assert_eq!(entry("5.25 1 a").map(|(_, facts)| facts.nanos), Some(250_000_000));
        assert_eq!(entry(""), None);
        assert_eq!(entry("x y z"), None);
    }
}
