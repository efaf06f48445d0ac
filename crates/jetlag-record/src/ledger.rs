//! What was read of a run file, held against what the file says of itself: no message is missing, stands twice or comes from
//! nowhere, and the closing index tells of as many as there were.

use mcap::records::Statistics;

use crate::container::Damage;

/// Counts the messages of each channel.
#[derive(Default)]
pub(super) struct Ledger {
    /// Number of messages, indexed by channel number.
    channels: Vec<u64>,
}

impl Ledger {
    /// Counts a message of a channel. Messages are numbered from 0; if this is not the next one, the error is the
    /// number that was due.
    pub(super) fn count(&mut self, channel: u16, sequence: u32) -> Result<(), u32> {
        let place = usize::from(channel);
        if self.channels.len() <= place {
            self.channels.resize(place + 1, 0);
        }
        // Numbers start again at 0 after 2³² messages.
        let wanted = self.channels[place] as u32;
        if sequence != wanted {
            return Err(wanted);
        }
        self.channels[place] += 1;
        Ok(())
    }

    /// Compares the counts with the file's own statistics; without these, completeness cannot be verified.
    pub(super) fn compare(&self, chunks: u64, statistics: Option<&Statistics>) -> Result<(), Damage> {
        let statistics = statistics.ok_or(Damage::NoStatistics)?;
        let same = |what, wanted, found| match wanted == found {
            true => Ok(()),
            false => Err(Damage::Count { what, wanted, found }),
        };
        same("chunks", u64::from(statistics.chunk_count), chunks)?;
        same("messages", statistics.message_count, self.channels.iter().sum())?;
        let of = |channel: u16| statistics.channel_message_counts.get(&channel).copied();
        for (channel, &found) in (0..=u16::MAX).zip(&self.channels) {
            same("messages of a channel", of(channel).unwrap_or(0), found)?;
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn counted(messages: &[(u16, u32)]) -> Result<Ledger, u32> {
        let mut ledger = Ledger::default();
        for &(channel, sequence) in messages {
            ledger.count(channel, sequence)?;
        }
        Ok(ledger)
    }

    fn statistics(chunks: u32, counts: &[(u16, u64)]) -> Statistics {
        Statistics {
            message_count: counts.iter().map(|(_, count)| count).sum(),
            schema_count: 1,
            channel_count: 1,
            attachment_count: 0,
            metadata_count: 1,
            chunk_count: chunks,
            message_start_time: 0,
            message_end_time: 0,
            channel_message_counts: counts.iter().copied().collect(),
        }
    }

    #[test]
    fn each_channel_counts_from_zero_and_what_is_missing_or_doubled_is_told() {
        assert!(counted(&[(0, 0), (7, 0), (0, 1), (7, 1)]).is_ok());
        for (messages, due) in [(&[(0, 0), (0, 2)][..], 1), (&[(0, 0), (0, 0)], 1), (&[(3, 1)], 0)] {
            assert_eq!(counted(messages).err(), Some(due), "{messages:?}");
        }
    }

    #[test]
    fn numbers_start_again_where_they_end() {
        let mut ledger = Ledger {
            channels: vec![u64::from(u32::MAX)],
        };
        ledger.count(0, u32::MAX).unwrap();
        ledger.count(0, 0).unwrap();
        assert!(ledger.count(0, 0).is_err());
    }

    #[test]
    fn as_many_as_the_statistics_say_of_each_channel() {
        let ledger = counted(&[(0, 0), (0, 1), (2, 0)]).unwrap();
        let compared = |chunks, counts| {
            let result = ledger.compare(4, Some(&statistics(chunks, counts)));
            result.err().map(|damage| damage.to_string())
        };
        assert_eq!(compared(4, &[(0, 2), (2, 1)]), None);
        for (chunks, counts, said) in [
            (5, &[(0, 2), (2, 1)][..], "5 chunks, but the file has 4"),
            (4, &[(0, 3), (2, 1)], "4 messages, but the file has 3"),
            (
                4,
                &[(0, 1), (2, 2)],
                "1 messages of a channel, but the file has 2",
            ),
            (
                4,
                &[(0, 2), (1, 1)],
                "1 messages of a channel, but the file has 0",
            ),
        ] {
            let error = compared(chunks, counts).unwrap();
            assert!(error.contains(said), "{error}");
        }
        assert!(matches!(ledger.compare(4, None), Err(Damage::NoStatistics)));
    }
}
