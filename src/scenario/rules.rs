//! What the rules of a scenario share: what they look at beside it, and how a value that is out of range is told.

use std::path::{Component, Path, PathBuf};

use super::ResolveEnv;
use super::{ClockKind, Sharing};
use crate::units::Nanos;
use crate::written::{Place, ProblemKind, Reader, Spot, shown};

/// What the rules look at beside the scenario.
pub(super) struct Context<'a> {
    pub(super) env: &'a ResolveEnv,
    pub(super) base_dir: &'a Path,
}

impl Context<'_> {
    /// A path relative to the scenario's folder, or else to the current one; where neither exists, all
    /// that was tried.
    pub(super) fn find(&self, written: &str) -> Result<PathBuf, Vec<String>> {
        let written = Path::new(written);
        let mut tried = vec![self.base_dir.join(written)];
        if written.is_relative() && tried[0] != written {
            tried.push(written.to_owned());
        }
        match tried.iter().find(|path| path.exists()) {
            Some(found) => Ok(shortened(found)),
            None => Err(tried.iter().map(|path| path.display().to_string()).collect()),
        }
    }
}

/// The same file without ways into a folder and out of it again, as `configs/../engines` has one. Where the folder is a link, they lead
/// elsewhere, and stay.
fn shortened(path: &Path) -> PathBuf {
    let mut short = PathBuf::new();
    for part in path.components() {
        let is_out = part == Component::ParentDir;
        match short.components().next_back() {
            Some(Component::Normal(_)) if is_out => {
                short.pop();
            }
            _ => short.push(part),
        }
    }
    match (path.canonicalize(), short.canonicalize()) {
        (Ok(whole), Ok(same)) if whole == same => short,
        _ => path.to_owned(),
    }
}

/// What a tenant's rules need to know of the scenario.
pub(super) struct Whole {
    pub(super) seed: u64,
    pub(super) clock: ClockKind,
    /// When the run ends, from the common epoch.
    pub(super) end: Nanos,
}

/// Notes that a value is out of range unless `ok`.
pub(super) fn require<T: Shown>(
    r: &mut Reader,
    spot: &Spot<T>,
    ok: bool,
    what: impl Into<String>,
    wanted: &str,
) {
    if !ok {
        out_of_range(r, &spot.place, what, spot.value.shown(), wanted);
    }
}

/// Notes that what was found is out of range; `what` is a field, or a field of somebody.
pub(super) fn out_of_range(
    r: &mut Reader,
    place: &Place,
    what: impl Into<String>,
    found: String,
    wanted: &str,
) {
    let what: String = what.into();
    let kind = ProblemKind::OutOfRange {
        what: match what.contains('`') {
            true => what,
            false => format!("`{what}`"),
        },
        found,
        wanted: wanted.to_owned(),
    };
    r.report(place, kind);
}

/// How a value reads in a message.
pub(super) trait Shown {
    fn shown(&self) -> String;
}

impl Shown for String {
    fn shown(&self) -> String {
        format!("\"{}\"", shown(self))
    }
}

macro_rules! shown_by_display {
    ($($type:ty),*) => { $(impl Shown for $type {
        fn shown(&self) -> String { self.to_string() }
    })* };
}
shown_by_display!(Nanos, f32, f64, u16, u32, u64, usize);

/// Under the virtual clock there is only what can be simulated.
pub(super) fn sharing(sharing: Sharing, place: &Place, clock: ClockKind, r: &mut Reader) {
    let can_be_simulated = match sharing {
        Sharing::Streams | Sharing::RoundRobin | Sharing::Exclusive | Sharing::Edf => true,
        Sharing::SingleStream | Sharing::Priority | Sharing::Partition | Sharing::Processes => false,
    };
    if clock == ClockKind::Virtual && !can_be_simulated {
        let kind = ProblemKind::Contradiction {
            what: "`sharing`".into(),
            why: format!("{sharing:?} cannot be simulated under the Virtual clock"),
            advice: "use Streams, RoundRobin, Exclusive or Edf, or clock: Real".into(),
        };
        r.report(place, kind);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_way_into_a_folder_and_out_again_is_left_out_unless_it_leads_elsewhere() {
        let folder = tempfile::tempdir().unwrap();
        let at = |path: &str| folder.path().join(path);
        for made in ["configs", "engines", "far/engines", "far/away"] {
            std::fs::create_dir_all(at(made)).unwrap();
        }
        for file in ["engines/a.ron", "far/engines/a.ron"] {
            std::fs::write(at(file), file).unwrap();
        }
        assert_eq!(shortened(&at("configs/../engines/a.ron")), at("engines/a.ron"));
        assert_eq!(
            shortened(&at("far/away/../../engines/a.ron")),
            at("engines/a.ron")
        );
        std::os::unix::fs::symlink(at("far/away"), at("link")).unwrap();
        let through = at("link/../engines/a.ron");
        assert_eq!(std::fs::read_to_string(&through).unwrap(), "far/engines/a.ron");
        assert_eq!(shortened(&through), through);
        for kept in ["../a.ron", "a/../../b", "nowhere/../a"] {
            assert_eq!(shortened(Path::new(kept)), Path::new(kept));
        }
    }
}
