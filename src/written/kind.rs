//! What kind of file a RON file is, told by the name that its value begins with.

use std::path::Path;

use super::format::Format;
use super::tree::{Kind, parse};
use crate::files;
use crate::units::Bytes;

/// As long as any of them may be.
const ANY: Format = Format {
    what: "RON file",
    longest: Bytes(4 << 20),
    begins: "Scenario(…)",
};

/// `Scenario`, `Camera`, `Network`; none for a file that cannot be read, or whose value has no name. What is no regular file is not
/// read: it may be read only once.
pub(crate) fn root_name(path: &Path) -> Option<String> {
    if !path.is_file() {
        return None;
    }
    let text = files::read_given_text(path, ANY.longest).ok()?;
    match parse(&text, &ANY).0?.kind {
        Kind::Call(call) => call.name,
        _ => None,
    }
}
