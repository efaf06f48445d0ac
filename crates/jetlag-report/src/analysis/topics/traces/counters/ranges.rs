//! NVTX ranges of a kernel, as ncu writes them in one cell:
//! `516  "jetlag:camera 7 submit:none:none:none:none:none:none"  "TensorRT:/conv1/Conv:none:…" `.
//!
//! Names may hold colons; the six parts behind the name may not, but for the last, which is a message. Ranges stand from the
//! outermost to the innermost.

/// Parts of a range behind its name: payload type and value, colour type and colour, message type and message.
const BEHIND: usize = 6;

/// One range.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Range {
    /// Its domain; none for the default one.
    pub(super) domain: Option<String>,
    /// Its name.
    pub(super) name: String,
}

/// A stage of one of jetlag's frames.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Frame {
    pub(super) tenant: String,
    pub(super) number: u64,
}

/// The stages that jetlag has ranges of.
const STAGES: [&str; 6] = ["acquire", "decode", "preprocess", "submit", "wait", "postprocess"];

/// The ranges in a cell, outermost first.
pub(super) fn ranges(cell: &str) -> Vec<Range> {
    // Quotes stand around each range, and none within one: odd parts are ranges.
    let mut all: Vec<Range> = cell.split('"').skip(1).step_by(2).filter_map(range).collect();
    if all.is_empty() && !cell.trim().is_empty() && !cell.contains('"') {
        // Other versions write the names alone.
        let name = cell.trim();
        let name = name
            .split_once(char::is_whitespace)
            .map_or(name, |(first, rest)| {
                if first.bytes().all(|b| b.is_ascii_digit()) {
                    rest.trim()
                } else {
                    name
                }
            });
        all.extend(range(name).or_else(|| {
            (!name.is_empty()).then(|| Range {
                domain: None,
                name: name.to_owned(),
            })
        }));
    }
    all
}

fn range(text: &str) -> Option<Range> {
    // The domain ends at the first colon that is not of a `::`.
    let mut at = 0;
    let colon = loop {
        let found = at + text.get(at..)?.find(':')?;
        if text.get(found..)?.starts_with("::") {
            at = found + 2;
        } else {
            break found;
        }
    };
    let (domain, rest) = (text.get(..colon)?, text.get(colon + 1..)?);
    // From behind: what NVTX adds to a name begins with a payload's type.
    let parts: Vec<&str> = rest.split(':').collect();
    let kept = parts.len().saturating_sub(BEHIND).max(1);
    let name = parts.get(..kept)?.join(":");
    (!name.is_empty()).then(|| Range {
        domain: (domain != "<default domain>").then(|| domain.to_owned()),
        name,
    })
}

/// `camera 17 submit`, as jetlag names a stage of a frame; also in other domains, for programs that do likewise.
pub(super) fn frame(range: &Range) -> Option<Frame> {
    let (rest, stage) = range.name.rsplit_once(' ')?;
    let (tenant, number) = rest.rsplit_once(' ')?;
    (STAGES.contains(&stage) && !tenant.is_empty()).then_some(())?;
    Some(Frame {
        tenant: tenant.to_owned(),
        number: number.parse().ok()?,
    })
}

/// The frame of a kernel: its outermost range that names one.
pub(super) fn frame_of(ranges: &[Range]) -> Option<Frame> {
    ranges.iter().find_map(frame)
}

/// The layer of a kernel: its innermost range that is no stage.
pub(super) fn layer_of(ranges: &[Range]) -> Option<&str> {
    let inner = ranges.iter().rev().find(|range| frame(range).is_none())?;
    Some(&inner.name)
}
