//! The last that a program has written to stderr.

/// Bytes that are kept: a few lines.
const KEPT: usize = 2048;
/// Lines of them that are told.
const TOLD: usize = 3;
/// Characters of them that are told, at most.
const LONGEST: usize = 400;

/// What was written last; never more than a few lines.
#[derive(Debug, Default)]
pub(crate) struct Said(Vec<u8>);

impl Said {
    /// More was written.
    pub(crate) fn add(&mut self, bytes: &[u8]) {
        self.0.extend_from_slice(bytes);
        let surplus = self.0.len().saturating_sub(KEPT);
        self.0.drain(..surplus);
    }

    /// Its last lines, as one.
    pub(crate) fn words(&self) -> String {
        let text = String::from_utf8_lossy(&self.0);
        let lines: Vec<&str> = text
            .split(['\n', '\r'])
            .map(str::trim)
            .filter(|line| !line.is_empty())
            .collect();
        let last = &lines[lines.len().saturating_sub(TOLD)..];
        let clean = last.join("; ").replace(char::is_control, " ");
        let surplus = clean.chars().count().saturating_sub(LONGEST);
        clean.chars().skip(surplus).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::Said;

    #[test]
    fn the_last_lines_are_kept_whatever_comes() {
        let mut said = Said::default();
        assert_eq!(said.words(), "");
        for n in 0..100_000 {
            said.add(format!("line {n}\n").as_bytes());
        }
        assert_eq!(said.words(), "line 99997; line 99998; line 99999");
        said.add(&[0xff; 10_000]);
        assert!(said.0.len() <= 2048 && said.words().chars().count() <= 400);
        let mut said = Said::default();
        said.add(b"50%\r100%\r\n\x1b[31mNo such file\x1b[0m\n\n");
        assert_eq!(said.words(), "50%; 100%;  [31mNo such file [0m");
    }
}
