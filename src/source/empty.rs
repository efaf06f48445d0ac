//! Frames without content, for tenants that only simulate or that measure jetlag itself.

use super::{Content, ContentKind, Frame, Source, SourceError, SourceInfo};

/// Never ends and costs nothing.
#[derive(Default)]
pub struct EmptySource {
    next: u64,
}

impl Source for EmptySource {
    fn info(&self) -> SourceInfo {
        SourceInfo {
            kind: ContentKind::Empty,
            frames: None,
            description: "frames without content".to_owned(),
            selection: None,
        }
    }
    fn acquire(&mut self, frame: &mut Frame) -> Result<bool, SourceError> {
        frame.index = self.next;
        frame.content = Content::Empty;
        self.next += 1;
        Ok(true)
    }
    fn skip(&mut self, frames: u64) -> Result<(), SourceError> {
        self.next += frames;
        Ok(())
    }
    fn rewind(&mut self) -> Result<(), SourceError> {
        self.next = 0;
        Ok(())
    }
}
