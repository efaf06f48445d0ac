//! What a report that is sent to others must not tell: whose machine it is.

use std::path::Path;

use crate::board::Roots;

/// Names that every board has, and words of the report itself; a report may say them.
const COMMON: [&str; 18] = [
    "root",
    "orin",
    "thor",
    "xavier",
    "nano",
    "cuda",
    "gpu",
    "cpu",
    "max",
    "camera",
    "lidar",
    "nvidia",
    "jetson",
    "ubuntu",
    "user",
    "localhost",
    "jetlag",
    "tegra-ubuntu",
];
/// Shorter names than this are parts of other words.
const SHORTEST: usize = 3;

/// Words that are replaced, and by what.
#[derive(Clone, Debug, Default)]
pub(super) struct Redact {
    words: Vec<(String, &'static str)>,
}

impl Redact {
    /// The machine's name, its users' folders and names, and the folder that the self-test works in.
    pub(super) fn of(roots: &Roots, folder: &Path) -> Redact {
        let mut redact = Redact::default();
        redact.add(&folder.display().to_string(), "…");
        if !roots.is_this_machine() {
            redact.add(roots.root.display().to_string().trim_end_matches('/'), "");
        }
        for variable in ["HOME", "USERPROFILE"] {
            if let Some(home) = std::env::var_os(variable).filter(|home| home.len() > 1) {
                redact.add(&home.to_string_lossy(), "~");
            }
        }
        for variable in ["USER", "LOGNAME", "SUDO_USER"] {
            if let Ok(user) = std::env::var(variable) {
                redact.name(&user, "(user)");
            }
        }
        if let Some(host) = roots.text("/proc/sys/kernel/hostname") {
            redact.name(&host, "(host)");
        }
        redact
    }

    fn name(&mut self, name: &str, shown: &'static str) {
        if !COMMON.contains(&name) && name.len() >= SHORTEST {
            self.add(name, shown);
        }
    }

    fn add(&mut self, word: &str, shown: &'static str) {
        if !word.is_empty() {
            self.words.push((word.to_owned(), shown));
        }
    }

    /// The text without what it must not tell.
    pub(super) fn text(&self, text: &str) -> String {
        // Folders first: a user's name within them is told by no other word.
        let mut text = homes(text);
        for (word, shown) in &self.words {
            text = replace_word(&text, word, shown);
        }
        text
    }
}

/// Replaces a word where it is a whole one.
fn replace_word(text: &str, word: &str, shown: &str) -> String {
    let part = |c: Option<char>| c.is_some_and(|c| c.is_alphanumeric() || c == '_');
    let mut safe = String::with_capacity(text.len());
    let mut rest = text;
    while let Some(at) = rest.find(word) {
        let (before, from) = rest.split_at(at);
        let after = &from[word.len()..];
        safe.push_str(before);
        let inside = part(safe.chars().next_back()) || part(after.chars().next());
        safe.push_str(if inside { word } else { shown });
        rest = after;
    }
    safe + rest
}

/// `/home/NAME` as `~`, whoever that is.
fn homes(text: &str) -> String {
    let mut safe = String::with_capacity(text.len());
    let mut rest = text;
    while let Some(at) = rest.find("/home/") {
        safe.push_str(&rest[..at]);
        safe.push('~');
        let name = &rest[at + "/home/".len()..];
        let ends =
            |c: char| c == '/' || c.is_whitespace() || matches!(c, ':' | ',' | ';' | ')' | '"' | '\'' | '`');
        rest = &name[name.find(ends).unwrap_or(name.len())..];
    }
    safe + rest
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_and_homes_are_not_told_and_parts_of_words_stay() {
        let mut redact = Redact::default();
        redact.add("/tmp/x1", "…");
        redact.name("maria", "(user)");
        redact.name("hangar", "(host)");
        redact.name("nvidia", "(user)");
        assert_eq!(
            redact.text("/tmp/x1/run.mcap: /home/maria/net.onnx of maria@hangar, /home/bob: Hangar, hangars, /usr/lib/nvidia"),
            "…/run.mcap: ~/net.onnx of (user)@(host), ~: Hangar, hangars, /usr/lib/nvidia"
        );
        assert_eq!(redact.text("/home/"), "~");
    }
}
