//! From the bytes of points to numbers.

use super::layout::{Place, PointLayout};
use super::{Points, Want};
use crate::message::{Number, PointCloud};
use crate::time::Time;

/// Replaces `points` by those of a cloud.
pub(super) fn read(points: &mut Points, cloud: &PointCloud<'_>, layout: &PointLayout, want: Want) {
    let Some(rows) = Rows::of(cloud) else {
        points.xyzi.clear();
        points.ring.clear();
        points.time.clear();
        points.dropped = 0;
        return;
    };
    let is_big_endian = cloud.is_big_endian;
    let end = match Plain::of(cloud, layout) {
        Some(plain) => plain.read(&rows, &mut points.xyzi),
        None => general(&rows, layout, is_big_endian, &mut points.xyzi),
    };
    points.xyzi.truncate(end);
    points.dropped = rows.count - end;
    // One field after the other: its type is then asked for once, and not for each point.
    let is_whole = points.dropped == 0;
    let is_kept = |point: &[u8]| is_whole || is_valid(point, layout, is_big_endian);
    let ring = layout.ring.filter(|_| want.ring);
    points.ring.clear();
    if let Some(place) = ring {
        points.ring.reserve(end);
        // Saturates, and takes what is not a number for 0.
        let put = |value: f64| points.ring.push((value + 0.5) as u16);
        column(&rows, place, is_big_endian, is_kept, put);
    }
    let time = layout.time.filter(|_| want.time);
    points.time.clear();
    if let Some(place) = time {
        points.time.reserve(end);
        let since = Since {
            stamp: cloud.header.stamp,
            is_float: matches!(place.number, Number::Float32 | Number::Float64),
        };
        column(&rows, place, is_big_endian, is_kept, |value| {
            points.time.push(since.seconds(value))
        });
    }
}

/// The rows of a cloud with points, checked once more against its bytes: views can be made by anybody.
struct Rows<'a> {
    data: &'a [u8],
    step: usize,
    row_step: usize,
    width: usize,
    height: usize,
    count: usize,
}

impl<'a> Rows<'a> {
    fn of(cloud: &PointCloud<'a>) -> Option<Rows<'a>> {
        let [step, width, height] = [cloud.point_step, cloud.width, cloud.height].map(|n| n as usize);
        let row = step.checked_mul(width)?;
        let row_step = if height == 1 { row } else { cloud.row_step as usize };
        let end = row_step.checked_mul(height.checked_sub(1)?)?.checked_add(row)?;
        (row > 0 && row <= row_step && end <= cloud.data.len()).then(|| Rows {
            data: cloud.data,
            step,
            row_step,
            width,
            height,
            count: width * height,
        })
    }

    fn points(&self) -> impl Iterator<Item = &'a [u8]> {
        let (data, step, width, row_step) = (self.data, self.step, self.width, self.row_step);
        (0..self.height).flat_map(move |row| data[row * row_step..][..width * step].chunks_exact(step))
    }
}

/// Whether all three are numbers to go on with.
#[inline]
fn is_finite(x: f32, y: f32, z: f32) -> bool {
    // Not finite times zero is not a number. One comparison instead of three.
    x * 0.0 + y * 0.0 + z * 0.0 == 0.0
}

fn make_room<T: Copy + Default>(buffer: &mut Vec<T>, count: usize) {
    if buffer.len() < count {
        buffer.resize(count, T::default());
    }
}

/// Four little-endian floats: what nearly all drivers send.
struct Plain {
    /// Of x, y, z and intensity.
    offsets: [usize; 4],
    has_intensity: bool,
}

impl Plain {
    fn of(cloud: &PointCloud<'_>, layout: &PointLayout) -> Option<Plain> {
        let is_plain = |place: &Place| place.number == Number::Float32;
        let all = layout.xyz.iter().all(is_plain) && layout.intensity.as_ref().is_none_or(is_plain);
        let [x, y, z] = layout.xyz.map(|place| place.offset);
        (all && !cloud.is_big_endian).then(|| Plain {
            offsets: [x, y, z, layout.intensity.map_or(x, |place| place.offset)],
            has_intensity: layout.intensity.is_some(),
        })
    }

    fn read(&self, rows: &Rows<'_>, out: &mut Vec<[f32; 4]>) -> usize {
        make_room(out, rows.count);
        let [x, y, z, i] = self.offsets;
        let is_packed = [x, y, z] == [0, 4, 8];
        // With the offsets known when this is compiled, a point is one or two loads.
        match (is_packed, i, rows.step) {
            (true, 12, 16) if self.has_intensity => each::<16>(rows, out, |p| floats(p, [0, 4, 8, 12])),
            (true, 16, 32) if self.has_intensity => each::<32>(rows, out, |p| floats(p, [0, 4, 8, 16])),
            (true, 12, 32) if self.has_intensity => each::<32>(rows, out, |p| floats(p, [0, 4, 8, 12])),
            _ => {
                let mut end = 0;
                for point in rows.points() {
                    let [x, y, z, i] = [x, y, z, i].map(|at| float(point, at));
                    // An intensity that is absent is read from x, which may be anything.
                    let i = if self.has_intensity { i } else { 0.0 };
                    out[end] = [x, y, z, i];
                    end += usize::from(is_finite(x, y, z));
                }
                end
            }
        }
    }
}

/// Reads points of `STEP` bytes; how many were kept.
#[inline]
fn each<const STEP: usize>(
    rows: &Rows<'_>,
    out: &mut [[f32; 4]],
    read: impl Fn(&[u8; STEP]) -> [f32; 4],
) -> usize {
    let mut end = 0;
    for row in 0..rows.height {
        let bytes = &rows.data[row * rows.row_step..][..rows.width * STEP];
        for point in bytes.as_chunks::<STEP>().0 {
            let point = read(point);
            out[end] = point;
            end += usize::from(is_finite(point[0], point[1], point[2]));
        }
    }
    end
}

#[inline]
fn floats<const STEP: usize>(point: &[u8; STEP], offsets: [usize; 4]) -> [f32; 4] {
    offsets.map(|at| float(point, at))
}

#[inline]
fn float(point: &[u8], at: usize) -> f32 {
    // None only where the layout is of another cloud.
    let bytes = point.get(at..).and_then(|rest| rest.first_chunk());
    bytes.map_or(f32::NAN, |bytes| f32::from_le_bytes(*bytes))
}

/// Coordinates and intensity of any type; how many points were kept.
fn general(rows: &Rows<'_>, layout: &PointLayout, is_big_endian: bool, out: &mut Vec<[f32; 4]>) -> usize {
    make_room(out, rows.count);
    let mut end = 0;
    for point in rows.points() {
        let [x, y, z] = layout.xyz.map(|place| number(point, place, is_big_endian) as f32);
        let intensity = layout
            .intensity
            .map_or(0.0, |place| number(point, place, is_big_endian) as f32);
        out[end] = [x, y, z, intensity];
        end += usize::from(is_finite(x, y, z));
    }
    end
}

fn is_valid(point: &[u8], layout: &PointLayout, is_big_endian: bool) -> bool {
    let [x, y, z] = layout.xyz.map(|place| number(point, place, is_big_endian) as f32);
    is_finite(x, y, z)
}

/// What times count from.
struct Since {
    stamp: Time,
    is_float: bool,
}

impl Since {
    /// Seconds after the stamp: see the module.
    #[inline]
    fn seconds(&self, value: f64) -> f32 {
        let size = value.abs();
        let seconds = match self.is_float {
            false => value / 1e9,
            true if size > 1e15 => (value - self.stamp.0 as f64) / 1e9,
            // Whole seconds apart, so that nothing of the fraction is lost.
            true if size > 1e6 => {
                let stamp = self.stamp.0;
                let (whole, part) = (stamp.div_euclid(1_000_000_000), stamp.rem_euclid(1_000_000_000));
                (value - whole as f64) - part as f64 / 1e9
            }
            true => value,
        };
        seconds as f32
    }
}

/// Gives one field of each point that is kept.
fn column(
    rows: &Rows<'_>,
    place: Place,
    is_big_endian: bool,
    is_kept: impl Fn(&[u8]) -> bool,
    mut put: impl FnMut(f64),
) {
    let kept = || rows.points().filter(|point| is_kept(point));
    /// Reads numbers of a type.
    macro_rules! each {
        ($read:expr) => {
            kept().for_each(|point| {
                // None only where the layout is of another cloud.
                let bytes = point
                    .get(place.offset..)
                    .and_then(|rest| rest.first_chunk());
                put(bytes.map_or(f64::NAN, |bytes| f64::from($read(*bytes))));
            })
        };
    }
    match place.number {
        // What drivers send.
        Number::Uint8 => each!(u8::from_le_bytes),
        Number::Uint16 if !is_big_endian => each!(u16::from_le_bytes),
        Number::Uint32 if !is_big_endian => each!(u32::from_le_bytes),
        Number::Float32 if !is_big_endian => each!(f32::from_le_bytes),
        Number::Float64 if !is_big_endian => each!(f64::from_le_bytes),
        _ => kept().for_each(|point| put(number(point, place, is_big_endian))),
    }
}

/// Numbers of 32 bits and less are exact in 64-bit floats.
#[inline]
fn number(point: &[u8], place: Place, is_big_endian: bool) -> f64 {
    /// Reads a number of a type.
    macro_rules! read {
        ($kind:ty) => {
            match point
                .get(place.offset..)
                .and_then(|rest| rest.first_chunk())
            {
                Some(bytes) if is_big_endian => <$kind>::from_be_bytes(*bytes) as f64,
                Some(bytes) => <$kind>::from_le_bytes(*bytes) as f64,
                None => f64::NAN,
            }
        };
    }
    match place.number {
        Number::Int8 => read!(i8),
        Number::Uint8 => read!(u8),
        Number::Int16 => read!(i16),
        Number::Uint16 => read!(u16),
        Number::Int32 => read!(i32),
        Number::Uint32 => read!(u32),
        Number::Float32 => read!(f32),
        Number::Float64 => read!(f64),
        Number::Unknown(_) => f64::NAN,
    }
}
