//! Shell scripts that a test starts as programs.

use std::io::Write;
use std::path::Path;
use std::process::{Command, Stdio};

/// Writes a script that can be started; `body` stands below its `#!/bin/sh`.
///
/// A process of its own writes it. A file that this one has open for writing may be inherited by what another test's thread
/// starts at that moment, and until that has called `execve` the kernel starts nobody's program from the file (`ETXTBSY`).
pub fn script(path: &Path, body: &str) {
    let mut child = Command::new("/bin/sh")
        .args(["-c", r#"cat >"$1" && chmod 755 "$1""#, "sh"])
        .arg(path)
        .stdin(Stdio::piped())
        .spawn()
        .expect("a shell");
    let mut input = child.stdin.take().expect("piped");
    let text = format!("#!/bin/sh\n{}\n", body.trim_end());
    input.write_all(text.as_bytes()).expect("the shell reads");
    drop(input);
    let status = child.wait().expect("the shell ends");
    assert!(status.success(), "{} was not written: {status}", path.display());
}
