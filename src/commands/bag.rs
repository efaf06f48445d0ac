//! `jetlag inspect BAG`: the topics of a ROS 2 bag.

use std::path::Path;

use serde_json::json;

use super::outcome::{Outcome, WrongUse};
use super::output::{print, style};
use crate::cli::Format;
use crate::show::bag as show;
use crate::source::recordings;

/// Shows what a bag holds.
///
/// # Errors
/// There is no bag under this name.
pub(super) fn inspect(path: &Path, format: Format) -> anyhow::Result<Outcome> {
    let bag = recordings::contents(path).map_err(WrongUse::because)?;
    match format {
        Format::Text => print(&show::text(&bag, &style()))?,
        Format::Json => {
            let value = json!({ "kind": "bag", "file": path, "bag": bag });
            print(&(serde_json::to_string_pretty(&value)? + "\n"))?;
        }
    }
    // What could be read is shown, and that it is not all.
    Ok(match bag.losses.is_empty() {
        true => Outcome::Done,
        false => Outcome::Gaps,
    })
}
