//! Words of commands that are suggested or handed to a shell, written so that a POSIX shell reads them back as they were.
//!
//! Whoever suggests a command with a name in it writes the name by [`word`] or [`path`]: names of files hold spaces, braces and
//! quotes, and a suggestion is copied without a look.

use std::borrow::Cow;
use std::path::Path;

/// A word in quotes.
pub fn quoted(word: &str) -> String {
    format!("'{}'", word.replace('\'', "'\\''"))
}

/// A word, in quotes where a shell would read it as something else.
pub fn word(word: &str) -> Cow<'_, str> {
    let is_plain = |c: char| {
        c.is_ascii_alphanumeric() || matches!(c, '_' | '-' | '.' | '/' | ':' | ',' | '+' | '@' | '%' | '=')
    };
    match !word.is_empty() && word.chars().all(is_plain) {
        true => Cow::Borrowed(word),
        false => Cow::Owned(quoted(word)),
    }
}

/// A whole command.
pub fn line<T: AsRef<str>>(words: &[T]) -> String {
    let words: Vec<Cow<'_, str>> = words.iter().map(|each| word(each.as_ref())).collect();
    words.join(" ")
}

/// A path as an argument: as [`word`], and no option where it begins as one.
pub fn path(path: &Path) -> String {
    let text = path.to_string_lossy();
    match text.starts_with('-') {
        true => word(&format!("./{text}")).into_owned(),
        false => word(&text).into_owned(),
    }
}

#[cfg(test)]
mod tests {
    use std::process::Command;

    use super::*;

    #[test]
    fn a_shell_reads_every_word_back_as_it_was() {
        for text in [
            "plain",
            "",
            "a b",
            "it's",
            "$HOME `x` \\ \"q\" *",
            "{a,b}.onnx",
            "~/net",
            "#net",
            "a;b&c|d>e<f(g)!",
            "tab\tnew\nline",
            "größe",
            "a=b",
        ] {
            for written in [quoted(text), word(text).into_owned(), path(Path::new(text))] {
                let output = Command::new("sh")
                    .args(["-c", &format!("printf %s {written}")])
                    .output()
                    .expect("a shell");
                assert_eq!(String::from_utf8_lossy(&output.stdout), text, "{written}");
            }
        }
    }

    #[test]
    fn plain_words_stay_and_a_path_is_no_option() {
        assert_eq!(word("mine/camera-scenario.ron"), "mine/camera-scenario.ron");
        assert_eq!(
            line(&["jetlag", "run", "my net.onnx"]),
            "jetlag run 'my net.onnx'"
        );
        assert_eq!(path(Path::new("-o.onnx")), "./-o.onnx");
        assert_eq!(path(Path::new("-o x.onnx")), "'./-o x.onnx'");
    }
}
