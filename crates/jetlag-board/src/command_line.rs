//! How this program was called, for the manifest of a run.

use std::ffi::OsString;

/// How this program was called. Arguments need not be UTF-8; what is not is shown as `\u{fffd}`.
pub fn command_line() -> Vec<String> {
    texts(std::env::args_os())
}

fn texts(arguments: impl Iterator<Item = OsString>) -> Vec<String> {
    arguments
        .map(|argument| argument.to_string_lossy().into_owned())
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_argument_that_is_no_utf8_is_shown() {
        use std::os::unix::ffi::OsStringExt;
        // A user's own program, whose recording keeps how it was called, may be given anything.
        let arguments = [b"app".to_vec(), b"a\xffb".to_vec(), Vec::new()].map(OsString::from_vec);
        assert_eq!(texts(arguments.into_iter()), ["app", "a\u{fffd}b", ""]);
    }
}
