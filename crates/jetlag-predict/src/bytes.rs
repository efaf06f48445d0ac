//! Numbers in a model file, little-endian, read without trusting any length.

use crate::error::ModelError;

#[derive(Debug, Default)]
pub(crate) struct Writer(pub(crate) Vec<u8>);

impl Writer {
    pub(crate) fn u8(&mut self, value: u8) {
        self.0.push(value);
    }

    pub(crate) fn u32(&mut self, value: u32) {
        self.0.extend(value.to_le_bytes());
    }

    pub(crate) fn f32(&mut self, value: f32) {
        self.0.extend(value.to_le_bytes());
    }

    pub(crate) fn block(&mut self, bytes: &[u8]) {
        self.u32(bytes.len() as u32);
        self.0.extend(bytes);
    }
}

#[derive(Debug)]
pub(crate) struct Reader<'a>(pub(crate) &'a [u8]);

impl<'a> Reader<'a> {
    pub(crate) fn take(&mut self, count: usize) -> Result<&'a [u8], ModelError> {
        let cut = ModelError::Damaged {
            what: "it ends too early",
        };
        let (taken, rest) = self.0.split_at_checked(count).ok_or(cut)?;
        self.0 = rest;
        Ok(taken)
    }

    pub(crate) fn u32(&mut self) -> Result<u32, ModelError> {
        let mut bytes = [0; 4];
        bytes.copy_from_slice(self.take(4)?);
        Ok(u32::from_le_bytes(bytes))
    }

    pub(crate) fn f32(&mut self) -> Result<f32, ModelError> {
        self.u32().map(f32::from_bits)
    }

    /// A number of things of which each takes at least so many bytes: no more than can still follow.
    pub(crate) fn count(&mut self, bytes_each: usize) -> Result<usize, ModelError> {
        let count = self.u32()? as usize;
        match count <= self.0.len() / bytes_each {
            true => Ok(count),
            false => Err(ModelError::Damaged { what: "a length" }),
        }
    }

    pub(crate) fn block(&mut self) -> Result<&'a [u8], ModelError> {
        let count = self.count(1)?;
        self.take(count)
    }
}
