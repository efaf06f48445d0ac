//! How chunks are compressed.

use std::io::Cursor;
use std::path::Path;

use jetlag::record::RunWriter;

use super::made;

/// Raw literals are what zstd has at levels below zero, and not above.
#[test]
fn chunks_are_compressed_at_a_level_below_zero() {
    let mut writer =
        RunWriter::over(Cursor::new(Vec::new()), Path::new("made.mcap"), &made::manifest()).unwrap();
    for n in 0..200 {
        writer.frame(&made::frame((n % 2) as u16, n / 2)).unwrap();
    }
    let bytes = writer.finish().unwrap().into_inner();
    const FRAME: [u8; 4] = 0xFD2F_B528_u32.to_le_bytes();
    let chunks: Vec<&[u8]> = (0..bytes.len() - 64)
        .map(|at| &bytes[at..])
        .filter(|rest| rest.starts_with(&FRAME))
        .collect();
    assert!(chunks.len() >= 2, "{}", chunks.len());
    for chunk in chunks {
        // Magic (4), a descriptor without a size of the content, the window (1), the block's header (3), the literals' type.
        let descriptor = chunk[4];
        assert_eq!(
            descriptor >> 5,
            0,
            "a stream, whose size is not known at its start"
        );
        assert_eq!((chunk[6] >> 1) & 3, 2, "a compressed block");
        assert_eq!(chunk[9] & 3, 0, "raw literals");
    }
}
