//! Which frames a source has, as a hash: whether a recording is still the one that a run had.
//!
//! Contents are not read. A frame is told by what a dataset's tables say of it, or by its file's name and length, or by its time;
//! where the recording lies does not count, so it may move.

use std::path::Path;

use crate::record::Selection;
use crate::units::Nanos;

/// Frames, each told in its turn.
#[derive(Default)]
pub struct Frames {
    hasher: blake3::Hasher,
    frames: u64,
}

impl Frames {
    /// A frame that is a file: its name without folders, and its length. One that cannot be read has none.
    pub fn file(&mut self, path: &Path) {
        let name = path.file_name().unwrap_or_default().to_string_lossy();
        let length = std::fs::metadata(path).map_or(u64::MAX, |about| about.len());
        self.frame(&name, &[length]);
    }

    /// A frame of this time, and no more is known.
    pub fn time(&mut self, at: Nanos) {
        self.frame("", &[at.0.cast_unsigned()]);
    }

    /// A frame of this name, with these numbers.
    pub fn frame(&mut self, name: &str, numbers: &[u64]) {
        // Lengths in front, so that no two lists of frames give the same bytes.
        self.number(name.len() as u64);
        self.hasher.update(name.as_bytes());
        self.number(numbers.len() as u64);
        numbers.iter().for_each(|number| self.number(*number));
        self.frames += 1;
    }

    fn number(&mut self, number: u64) {
        self.hasher.update(&number.to_le_bytes());
    }

    /// All that were told.
    pub fn selection(self) -> Selection {
        Selection {
            frames: self.frames,
            hash: self.hasher.finalize().to_hex().to_string(),
            losses: Vec::new(),
        }
    }
}

/// Of files, each of which is a frame.
pub fn of_files<'p>(files: impl IntoIterator<Item = &'p Path>) -> Selection {
    let mut frames = Frames::default();
    files.into_iter().for_each(|file| frames.file(file));
    frames.selection()
}

/// Of several sources, whose frames come in turns; `None` where one of them is not known.
pub fn of_all(all: impl IntoIterator<Item = Option<Selection>>) -> Option<Selection> {
    let mut frames = Frames::default();
    let mut count = 0;
    let mut losses: Vec<String> = Vec::new();
    for one in all {
        let one = one?;
        // Several may be of one recording.
        losses.extend(
            one.losses
                .iter()
                .filter(|loss| !losses.contains(loss))
                .cloned()
                .collect::<Vec<_>>(),
        );
        frames.frame(&one.hash, &[one.frames]);
        count += one.frames;
    }
    Some(Selection {
        frames: count,
        losses,
        ..frames.selection()
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn files_may_move_but_not_change() {
        let folder = |second: &str, bytes: &str| {
            let folder = tempfile::tempdir().unwrap();
            std::fs::write(folder.path().join("a.png"), "1").unwrap();
            std::fs::write(folder.path().join(second), bytes).unwrap();
            let files = ["a.png", second].map(|name| folder.path().join(name));
            of_files(files.iter().map(|file| file.as_path()))
        };
        let first = folder("b.png", "22");
        assert_eq!(first.frames, 2);
        assert_eq!(first, folder("b.png", "33"), "as long, and of the same name");
        assert_ne!(first, folder("b.png", "333"));
        assert_ne!(first, folder("c.png", "22"));
    }

    #[test]
    fn what_is_told_of_frames_is_kept_apart() {
        let of = |told: &[(&str, &[u64])]| {
            let mut frames = Frames::default();
            told.iter()
                .for_each(|(name, numbers)| frames.frame(name, numbers));
            frames.selection().hash
        };
        assert_ne!(of(&[("a", &[1, 2])]), of(&[("a", &[1]), ("", &[2])]));
        assert_ne!(of(&[("a", &[]), ("b", &[])]), of(&[("b", &[]), ("a", &[])]));
        assert_ne!(of(&[("ab", &[])]), of(&[("a", &[])]));
    }

    #[test]
    fn several_are_known_where_all_are() {
        let one = |time| {
            let mut frames = Frames::default();
            frames.time(Nanos(time));
            Some(frames.selection())
        };
        assert_eq!(of_all([one(1), None]), None);
        let both = of_all([one(1), one(2)]).unwrap();
        assert_eq!(both.frames, 2);
        assert_ne!(Some(both), of_all([one(2), one(1)]));
    }
}
