use std::io::Cursor;

use proptest::prelude::*;

use super::*;

/// A number as it is written.
fn v(mut value: u64) -> Vec<u8> {
    let mut bytes = vec![(value & 127) as u8];
    while value >= 128 {
        value >>= 7;
        bytes.insert(0, (value & 127) as u8 | 128);
    }
    bytes
}

fn vs(values: &[u64]) -> Vec<u8> {
    values.iter().flat_map(|value| v(*value)).collect()
}

fn packed(code: [u8; 8], content: &[u8]) -> Vec<u8> {
    let mut packet = code.to_vec();
    let length = content.len() as u64 + 4;
    packet.extend(v(length));
    if length > CHECKED {
        packet.extend([0; 4]);
    }
    packet.extend(content);
    packet.extend([0; 4]);
    packet
}

/// Headers of a stream of 2 × 1 pixels, 25 ticks a second, in which every first byte but `N` says "all is coded".
fn headers(kind: &[u8]) -> Vec<u8> {
    let mut main = vs(&[3, 1, 65536, 1, 1, 25]);
    // Flags; six fields: pts delta, size multiplier, stream, size, reserved, count.
    main.extend(vs(&[CODED, 6, 0, 1, 0, 0, 0, 255]));
    // One known beginning.
    main.extend(vs(&[1, 3]));
    main.extend([0, 0, 1]);
    let mut stream = vs(&[0, VIDEO, kind.len() as u64]);
    stream.extend(kind);
    stream.extend(vs(&[0, 7, 25, 0, 0, 0, 2, 1, 0, 0, 0]));
    [ID.as_slice(), &packed(MAIN, &main), &packed(STREAM, &stream)].concat()
}

/// A frame whose header has all that is given.
fn frame(coded_pts: u64, header: u64, size: u64) -> Vec<u8> {
    let flags = CODED | CODED_PTS | SIZE_MSB | HEADER_INDEX | CHECKSUM;
    let mut frame = vec![0];
    frame.extend(v(flags ^ CODED));
    frame.extend(vs(&[coded_pts, size, header]));
    frame.extend([9; 4]);
    frame
}

fn heads(stream: &[u8]) -> Result<Vec<(i64, u64, Vec<u8>)>, String> {
    let mut from = Cursor::new(stream);
    let told = |failure| match failure {
        Failure::Io(error) => error.kind().to_string(),
        Failure::Nut(problem) => problem.to_string(),
    };
    let mut nut = Nut::open(&mut from).map_err(told)?;
    assert_eq!(nut.size, Size::new(2, 1).unwrap());
    let mut heads = Vec::new();
    while let Some(head) = nut.next(&mut from).map_err(told)? {
        let mut pixels = vec![0; head.follow as usize];
        from.read_exact(&mut pixels)
            .map_err(|error| error.kind().to_string())?;
        heads.push((head.shown_ns / 1_000_000, head.follow, head.known));
    }
    Ok(heads)
}

#[test]
fn each_frame_has_its_time_and_its_length() {
    let mut stream = headers(RGB24);
    for (coded, header, follow) in [(0, 0, 6), (3, 1, 3), (127, 0, 6), (128 + 1000, 0, 6), (5, 0, 6)] {
        stream.extend(frame(coded, header, 6));
        stream.extend(vec![7; follow]);
    }
    // Ticks 0, 3, -1 (its last bits are 127), 1000, and 1029: the next after 1000 that ends in 5 (of 128).
    let wanted = [0, 120, -40, 40_000, 41_160].map(|ms| (ms, 6, Vec::new()));
    let mut wanted = wanted.to_vec();
    wanted[1] = (120, 3, vec![0, 0, 1]);
    assert_eq!(heads(&stream), Ok(wanted));
}

#[test]
fn a_syncpoint_moves_the_time_and_other_packets_are_passed_over() {
    let mut stream = headers(RGB24);
    stream.extend(packed(*b"NI\xab\x68\xb5\x96\xba\x78", &[1; 5000]));
    stream.extend(packed(SYNC, &vs(&[1000, 0])));
    stream.extend(frame(105, 0, 6));
    stream.extend([7; 6]);
    // 1000 is 7 × 128 + 104: the next that ends in 105 is 1001.
    assert_eq!(heads(&stream), Ok(vec![(40_040, 6, Vec::new())]));
}

#[test]
fn what_is_no_nut_or_none_with_rgb_is_told() {
    let told = |stream: &[u8]| heads(stream).unwrap_err();
    assert!(told(&[7; 100]).contains("does not begin as one"));
    assert!(told(&headers(b"NV12")).contains("its frames are NV12"));
    assert!(Nut::open(&mut Cursor::new(headers(PLANES))).unwrap().is_planar);
    assert!(told(b"nut/").contains("unexpected end"));
    let mut stream = headers(RGB24);
    stream.push(b'N');
    assert!(told(&stream).contains("unexpected end"));
    stream.extend([0xff; 40]);
    assert!(told(&stream).contains("damaged"), "{}", told(&stream));
}

proptest! {
    #[test]
    fn whatever_comes_is_no_panic(bytes in prop::collection::vec(any::<u8>(), 0..600), cut in 0_usize..300, at in 0_usize..300) {
        let mut stream = headers(RGB24);
        stream.extend(frame(3, 0, 6));
        let at = at.min(stream.len());
        stream.truncate(stream.len().max(cut) - cut.min(stream.len()));
        stream.splice(at.min(stream.len()).., bytes.iter().copied());
        let mut from = Cursor::new(stream);
        if let Ok(mut nut) = Nut::open(&mut from) {
            for _ in 0..100 {
                match nut.next(&mut from) {
                    Ok(Some(_)) => {}
                    Ok(None) | Err(_) => break,
                }
            }
        }
    }
}
