//! Videos and cameras as sources: what may be written for them. What is meant by it is told by the tenant.

use super::choices::VIDEO_EXAMPLE;
use super::stored::{ReadingFile, folder, reading};
use crate::written::{Fields, Node, Read, Reader, Spot};

/// What may stand for a video.
#[derive(Debug)]
pub(super) struct VideoFile {
    pub(super) path: Spot<String>,
    pub(super) decoder: Read<String>,
    pub(super) command: Read<Vec<Spot<String>>>,
    pub(super) size: Read<String>,
    pub(super) repeat: Read<bool>,
    pub(super) max_megapixels: Read<u32>,
    pub(super) reading: ReadingFile,
}

/// What may stand for a camera.
#[derive(Debug)]
pub(super) struct CameraFile {
    pub(super) device: Read<String>,
    pub(super) format: Read<String>,
    pub(super) size: Read<String>,
    pub(super) hz: Read<f64>,
    pub(super) command: Read<Vec<Spot<String>>>,
    pub(super) max_megapixels: Read<u32>,
}

pub(super) fn read_video(r: &mut Reader, f: &Fields<'_>) -> Option<VideoFile> {
    let decoder = r.optional(f, "decoder", Reader::text);
    let command = r.optional(f, "command", command);
    let size = r.optional(f, "size", Reader::text);
    let repeat = r.optional(f, "repeat", Reader::flag);
    let max_megapixels = r.optional(f, "max_megapixels", Reader::whole);
    let reading = reading(r, f);
    Some(VideoFile {
        path: folder(r, f, VIDEO_EXAMPLE)?,
        decoder,
        command,
        size,
        repeat,
        max_megapixels,
        reading,
    })
}

pub(super) fn read_camera(r: &mut Reader, f: &Fields<'_>) -> CameraFile {
    CameraFile {
        device: r.optional(f, "device", Reader::text),
        format: r.optional(f, "format", Reader::text),
        size: r.optional(f, "size", Reader::text),
        hz: r.optional(f, "hz", Reader::rate),
        command: r.optional(f, "command", command),
        max_megapixels: r.optional(f, "max_megapixels", Reader::whole),
    }
}

/// A program and its arguments, one by one: no shell reads them.
fn command(r: &mut Reader, node: &Node, field: &str) -> Option<Vec<Spot<String>>> {
    let expected = "a program and its arguments, such as [\"gst-launch-1.0\", \"-q\", \"videotestsrc\", \"!\", \"fdsink\"]";
    r.list(node, field, expected, Reader::text)
}
