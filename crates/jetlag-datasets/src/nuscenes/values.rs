//! The values of rows with a meaning: stamps, turns, links. What follows the specification loosely is taken where it can only
//! mean one thing, and counted, so that it can be told.

use jetlag_record::units::Nanos;

use super::field::{List, Meaning};
use super::token::Token;
use crate::geometry;

/// A capture time, and whether it was in nanoseconds where nuScenes has microseconds.
pub(super) struct Stamp {
    pub(super) time: Nanos,
    pub(super) in_nanoseconds: bool,
}

/// From here on a stamp counts nanoseconds: as microseconds it would be of the year 5138.
const NANOSECONDS_FROM: f64 = 1e17;

/// A stamp's sum with any other is still one.
const LATEST: f64 = 4e18;

impl Meaning for Stamp {
    const WANTED: &'static str =
        "a time since 1970 in whole microseconds (or in nanoseconds, as some datasets have it)";

    fn of_whole(whole: i64) -> Option<Self> {
        if (whole as f64).abs() >= NANOSECONDS_FROM {
            return ((whole as f64).abs() < LATEST).then_some(Stamp {
                time: Nanos(whole),
                in_nanoseconds: true,
            });
        }
        Some(Stamp {
            time: Nanos(whole.checked_mul(1000).filter(|ns| (*ns as f64).abs() < LATEST)?),
            in_nanoseconds: false,
        })
    }

    fn of_real(real: f64) -> Option<Self> {
        let in_nanoseconds = real.abs() >= NANOSECONDS_FROM;
        // A fraction of a small number is a time in seconds or milliseconds, a thousand times too short as microseconds.
        let seconds = real.fract() != 0.0 && real.abs() < 1e13;
        if seconds || real.abs() >= LATEST {
            return None;
        }
        // Whole microseconds stay whole: a thousand times as many are more than a double can tell apart.
        let time = match in_nanoseconds {
            true => real.round() as i64,
            false => (real.trunc() as i64).checked_mul(1000)? + (real.fract() * 1000.0).round() as i64,
        };
        ((time as f64).abs() < LATEST).then_some(Stamp {
            time: Nanos(time),
            in_nanoseconds,
        })
    }
}

/// A turn, and whether it was a matrix where nuScenes has a quaternion.
pub(super) struct Rotation {
    pub(super) turn: geometry::Rotation,
    pub(super) was_matrix: bool,
}

impl Meaning for Rotation {
    const WANTED: &'static str = "a quaternion w x y z (or the three rows of a rotation matrix)";

    fn of_list(list: &List) -> Option<Self> {
        if let Some(matrix) = list.square() {
            return geometry::Rotation::from_matrix(matrix).map(|turn| Rotation {
                turn,
                was_matrix: true,
            });
        }
        geometry::Rotation::from_quaternion(list.row()?).map(|turn| Rotation {
            turn,
            was_matrix: false,
        })
    }
}

/// A place in metres.
pub(super) struct Metres(pub(super) [f64; 3]);

/// Farther than this nothing is from anything on Earth; and sums of such are finite.
const FARTHEST: f64 = 1e8;

impl Meaning for Metres {
    const WANTED: &'static str = "three numbers of metres";

    fn of_list(list: &List) -> Option<Self> {
        list.row()
            .filter(|v| v.iter().all(|v| v.abs() < FARTHEST))
            .map(Metres)
    }
}

/// Width, length and height of a box, in metres.
pub(super) struct Size(pub(super) [f64; 3]);

impl Meaning for Size {
    const WANTED: &'static str = "width, length and height in metres";

    fn of_list(list: &List) -> Option<Self> {
        let sound = |v: &f64| (0.0..FARTHEST).contains(v);
        list.row().filter(|v| v.iter().all(sound)).map(Size)
    }
}

/// How a camera projects; an empty list for other sensors.
pub(super) struct Intrinsic(pub(super) Option<[[f64; 3]; 3]>);

impl Meaning for Intrinsic {
    const WANTED: &'static str = "three rows of three numbers (an empty list where the sensor is no camera)";

    fn of_list(list: &List) -> Option<Self> {
        if list.is_empty() {
            return Some(Intrinsic(None));
        }
        let finite = list
            .square()
            .filter(|m| m.as_flattened().iter().all(|v| v.is_finite()));
        finite.map(|m| Intrinsic(Some(m)))
    }
}

/// A row before or after, or none: an empty text.
#[derive(Default)]
pub(super) struct Link(pub(super) Option<Token>);

impl Meaning for Link {
    const WANTED: &'static str = "a token, or an empty text for none";

    fn of_text(text: &str) -> Option<Self> {
        Some(Link(Token::of_text(text)))
    }
    fn of_whole(whole: i64) -> Option<Self> {
        Some(Link(Token::of_whole(whole)))
    }
}

/// A whole number from 0: pixels, points.
pub(super) struct Count(pub(super) u32);

/// A count, or that nobody counted, which exporters write as a number below 0.
pub(super) struct Counted(pub(super) Option<u32>);

impl Meaning for Counted {
    const WANTED: &'static str = "a whole number";

    fn of_whole(whole: i64) -> Option<Self> {
        match whole < 0 {
            true => Some(Counted(None)),
            false => Count::of_whole(whole).map(|count| Counted(Some(count.0))),
        }
    }
    fn of_real(real: f64) -> Option<Self> {
        match real < 0.0 {
            true => Some(Counted(None)),
            false => Count::of_real(real).map(|count| Counted(Some(count.0))),
        }
    }
}

impl Meaning for Count {
    const WANTED: &'static str = "a whole number from 0";

    fn of_whole(whole: i64) -> Option<Self> {
        u32::try_from(whole).ok().map(Count)
    }
    fn of_real(real: f64) -> Option<Self> {
        (real.fract() == 0.0 && (0.0..f64::from(u32::MAX)).contains(&real)).then_some(Count(real as u32))
    }
}

#[cfg(test)]
mod tests {
    use super::super::field::Field;
    use super::*;

    fn read<T: Meaning>(text: &str) -> Result<T, String> {
        let field: Field<T> = serde_json::from_str(text).unwrap();
        field.needed("f").map_err(|wrong| wrong.problem.to_string())
    }

    #[test]
    fn stamps_are_in_microseconds_or_plainly_in_nanoseconds() {
        for (text, ns) in [
            ("1532402927647951", 1_532_402_927_647_951_000),
            ("1532402927647951.0", 1_532_402_927_647_951_000),
            ("1.673069019066784e+18", 1_673_069_019_066_784_000),
            ("1673069019066784123", 1_673_069_019_066_784_123),
            ("0", 0),
            ("50000", 50_000_000),
        ] {
            assert_eq!(read::<Stamp>(text).unwrap().time, Nanos(ns), "{text}");
        }
        for text in [
            "1532402927.647",
            "1e30",
            "9223372036854775807",
            "-9223372036854775808",
            "\"x\"",
            "18446744073709551615",
        ] {
            let error = read::<Stamp>(text).err().unwrap_or_default();
            assert!(error.contains("whole microseconds"), "{text}: {error}");
        }
    }

    #[test]
    fn turns_are_quaternions_or_matrices() {
        assert!(!read::<Rotation>("[2, 0, 0, 0]").unwrap().was_matrix);
        assert!(read::<Rotation>("[[0,-1,0],[1,0,0],[0,0,1]]").unwrap().was_matrix);
        for text in [
            "[0,0,0,0]",
            "[1,0,0]",
            "[[1,0,0],[0,1,0]]",
            "[[2,0,0],[0,2,0],[0,0,2]]",
            "[1,[2],3,4]",
            "[[1,0],[0,1,0],[0,0,1,0]]",
            "[[[1]]]",
            "[{\"a\":1}]",
            "7",
        ] {
            assert!(read::<Rotation>(text).is_err(), "{text}");
        }
    }

    #[test]
    fn absurd_numbers_are_refused() {
        assert!(read::<Metres>("[1e9, 0, 0]").is_err());
        assert!(read::<Metres>("[1, 2]").is_err());
        assert!(read::<Size>("[-1, 2, 3]").is_err());
        assert!(read::<Intrinsic>("[]").unwrap().0.is_none());
        assert!(read::<Intrinsic>("[[1,0,0],[0,1,0]]").is_err());
        assert!(read::<Count>("-1").is_err() && read::<Count>("1.5").is_err());
        assert_eq!(read::<Count>("5.0").unwrap().0, 5);
        assert!(read::<Link>("\"\"").unwrap().0.is_none());
    }
}
