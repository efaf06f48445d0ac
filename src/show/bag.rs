//! What a ROS 2 bag holds, as `jetlag inspect BAG` shows it.

use jetlag_bags::{BagSummary, Compression, Storage, TopicSummary};

use crate::report::Style;
use crate::report::table::{Align, Grid, Ink};
use crate::shown::shown;
use crate::units::{Bytes, Nanos};

/// Files that are named; of more there is a number.
const MOST_FILES: usize = 8;
/// Columns that the table may take on a terminal of fewer.
const WIDE: u16 = 160;

/// For people: the bag in a few lines, then a line a topic.
pub fn text(bag: &BagSummary, style: &Style) -> String {
    let mut text = format!("bag        {}\n", shown(&bag.path.display().to_string()));
    if let Some(distro) = &bag.ros_distro {
        text += &format!("recorded   by ROS 2 {}\n", shown(distro));
    }
    let lasts = bag.duration.map_or("–".to_owned(), lasts);
    text += &format!(
        "holds      {} messages of {} topics in {lasts}\n",
        bag.messages,
        bag.topics.len()
    );
    for (place, file) in bag.files.iter().take(MOST_FILES).enumerate() {
        let storage = match file.storage {
            Storage::Mcap => "MCAP",
            Storage::Sqlite3 => "SQLite",
        };
        let unpacked = file
            .unpacked_bytes
            .map_or_else(String::new, |bytes| format!(", {} unpacked", Bytes(bytes)));
        let label = if place == 0 { "files" } else { "" };
        text += &format!(
            "{label:<10} {}: {storage}, {}{unpacked}, {} messages\n",
            shown(&file.path.display().to_string()),
            Bytes(file.bytes),
            file.messages
        );
    }
    if let Some(more) = bag.files.len().checked_sub(MOST_FILES).filter(|more| *more > 0) {
        text += &format!("{:<10} and {more} more\n", "");
    }
    if bag.unchecked_files > 0 {
        text += &format!(
            "checksums  not looked at in {} files, which are long; jetlag data convert looks at all\n",
            bag.unchecked_files
        );
    }
    for clock in &bag.clocks {
        text += &format!("clock      {}\n", shown(clock));
    }
    // Names of topics are long, and are copied from here: they stay on one line.
    let wide = Style {
        width: style.width.max(WIDE),
        ..*style
    };
    text += "\n";
    text += &topics(&bag.topics).render(&wide);
    // Last, where it is not overlooked.
    for loss in &bag.losses {
        text += &format!("missing: {}\n", shown(loss));
    }
    if bag.untold_losses > 0 {
        text += &format!("missing: and {} more\n", bag.untold_losses);
    }
    text
}

fn topics(topics: &[TopicSummary]) -> Grid {
    let mut grid = Grid::headed()
        .column("topic", Align::Left)
        .column("type", Align::Left)
        .column("messages", Align::Right)
        .column("rate", Align::Right)
        .column("longest gap", Align::Right)
        .column("size", Align::Right)
        .column("compressed", Align::Left);
    for topic in topics {
        let backwards = match topic.backwards {
            0 => String::new(),
            some => format!("; {some} out of order"),
        };
        grid.row(vec![
            (shown(&topic.name).into_owned(), Ink::Bold),
            (shown(&topic.kind).into_owned(), Ink::Plain),
            (topic.messages.to_string(), Ink::Plain),
            (
                topic.rate_hz.map_or("–".to_owned(), |hz| format!("{hz:.2} Hz")),
                Ink::Plain,
            ),
            (topic.longest_gap.map_or("–".to_owned(), lasts), Ink::Plain),
            (Bytes(topic.bytes).to_string(), Ink::Plain),
            (compressed(&topic.compression) + &backwards, Ink::Plain),
        ]);
    }
    grid
}

fn compressed(how: &[Compression]) -> String {
    let word = |how: &Compression| match how {
        Compression::None => "no",
        Compression::ChunkZstd => "chunks, zstd",
        Compression::ChunkLz4 => "chunks, lz4",
        Compression::MessageZstd => "messages, zstd",
        Compression::FileZstd => "files, zstd",
    };
    how.iter().map(word).collect::<Vec<_>>().join("; ")
}

/// With the digits that a recording's time needs.
fn lasts(time: Nanos) -> String {
    match time.as_secs_f64() {
        seconds if seconds >= 100.0 => format!("{seconds:.0} s"),
        seconds if seconds >= 1.0 => format!("{seconds:.1} s"),
        seconds => format!("{:.1} ms", seconds * 1e3),
    }
}
