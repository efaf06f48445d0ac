//! Whether a record of an MCAP file holds the texts that it claims.
//!
//! The mcap crate sets memory aside for a text by its stated length, up to 4 GiB, before it looks whether the record has as much.
//! So lengths are walked first.

use mcap::records::op;

use crate::container::Damage;

/// Checks the texts of a record that is to be parsed.
///
/// # Errors
/// One, or a table of them, is longer than what is left of the record.
pub(super) fn check(opcode: u8, body: &[u8]) -> Result<(), Damage> {
    let mut rest = Rest(body);
    let whole = match opcode {
        op::HEADER => rest.text().and_then(|()| rest.text()),
        op::SCHEMA => rest.skip(2).and_then(|()| rest.text()).and_then(|()| rest.text()),
        op::CHANNEL => rest
            .skip(4)
            .and_then(|()| rest.text())
            .and_then(|()| rest.text())
            .and_then(|()| rest.table()),
        op::METADATA => rest.text().and_then(|()| rest.table()),
        op::ATTACHMENT => rest
            .skip(16)
            .and_then(|()| rest.text())
            .and_then(|()| rest.text()),
        op::ATTACHMENT_INDEX => rest
            .skip(40)
            .and_then(|()| rest.text())
            .and_then(|()| rest.text()),
        op::METADATA_INDEX => rest.skip(16).and_then(|()| rest.text()),
        op::CHUNK => rest.skip(28).and_then(|()| rest.text()),
        op::CHUNK_INDEX => {
            let index = rest.skip(32).and_then(|()| rest.text());
            index.and_then(|()| rest.skip(8)).and_then(|()| rest.text())
        }
        _ => Some(()),
    };
    whole.ok_or(Damage::Short)
}

/// What is left of a record.
struct Rest<'a>(&'a [u8]);

impl Rest<'_> {
    fn skip(&mut self, bytes: usize) -> Option<()> {
        self.0 = self.0.get(bytes..)?;
        Some(())
    }

    fn length(&mut self) -> Option<usize> {
        let (length, rest) = self.0.split_first_chunk()?;
        self.0 = rest;
        usize::try_from(u32::from_le_bytes(*length)).ok()
    }

    fn text(&mut self) -> Option<()> {
        let length = self.length()?;
        self.skip(length)
    }

    /// Texts in pairs; its own length is in bytes.
    fn table(&mut self) -> Option<()> {
        let length = self.length()?;
        let mut pairs = Rest(self.0.get(..length)?);
        while !pairs.0.is_empty() {
            pairs.text()?;
        }
        self.skip(length)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn text(claimed: u32, held: &str) -> Vec<u8> {
        [&claimed.to_le_bytes()[..], held.as_bytes()].concat()
    }

    #[test]
    fn a_text_that_claims_more_than_its_record_holds_is_damage() {
        for (opcode, before) in [
            (op::HEADER, 0),
            (op::SCHEMA, 2),
            (op::CHANNEL, 4),
            (op::METADATA, 0),
            (op::ATTACHMENT, 16),
            (op::CHUNK, 28),
            (op::METADATA_INDEX, 16),
            (op::ATTACHMENT_INDEX, 40),
        ] {
            for claimed in [4, u32::MAX] {
                let body = [vec![0; before], text(claimed, "abc")].concat();
                assert!(matches!(check(opcode, &body), Err(Damage::Short)), "{opcode:02x}");
            }
            assert!(
                check(opcode, &vec![0; before]).is_err(),
                "{opcode:02x}: nothing is left for it"
            );
        }
        let table = |length: u32| {
            [
                text(1, "m"),
                length.to_le_bytes().to_vec(),
                text(1, "k"),
                text(9, "v"),
            ]
            .concat()
        };
        assert!(check(op::METADATA, &table(10)).is_err());
        assert!(check(op::METADATA, &table(u32::MAX)).is_err());
    }

    #[test]
    fn whole_records_pass() {
        let pair = [text(1, "k"), text(2, "vv")].concat();
        let table = text(pair.len() as u32, &String::from_utf8(pair).unwrap());
        assert!(check(op::METADATA, &[text(1, "m"), table.clone()].concat()).is_ok());
        let channel = [vec![0; 4], text(1, "t"), text(3, "cdr"), table].concat();
        assert!(check(op::CHANNEL, &channel).is_ok());
        assert!(
            check(
                op::SCHEMA,
                &[vec![0; 2], text(1, "s"), text(0, ""), text(0, "")].concat()
            )
            .is_ok()
        );
        assert!(
            check(op::MESSAGE, &[]).is_ok(),
            "messages are not parsed by that crate"
        );
    }
}
