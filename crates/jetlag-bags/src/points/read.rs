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
    let ring = layout.ring.filter(|_| want.ring);
    let time = layout.time.filter(|_| want.time);
    let end = match Plain::of(cloud, layout) {
        Some(plain) if ring.is_none() && time.is_none() => plain.read(&rows, &mut points.xyzi),
        _ => {
            let other = Other {
                layout,
                ring,
                time,
                is_big_endian: cloud.is_big_endian,
                stamp: cloud.header.stamp,
            };
            other.read(&rows, points)
        }
    };
    points.xyzi.truncate(end);
    points.ring.truncate(if ring.is_some() { end } else { 0 });
    points.time.truncate(if time.is_some() { end } else { 0 });
    points.dropped = rows.count - end;
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

/// Any other fields.
struct Other<'a> {
    layout: &'a PointLayout,
    ring: Option<Place>,
    time: Option<Place>,
    is_big_endian: bool,
    stamp: Time,
}

impl Other<'_> {
    fn read(&self, rows: &Rows<'_>, points: &mut Points) -> usize {
        make_room(&mut points.xyzi, rows.count);
        make_room(&mut points.ring, if self.ring.is_some() { rows.count } else { 0 });
        make_room(&mut points.time, if self.time.is_some() { rows.count } else { 0 });
        let mut end = 0;
        for point in rows.points() {
            let number = |place: Place| number(point, place, self.is_big_endian);
            let [x, y, z] = self.layout.xyz.map(|place| number(place) as f32);
            if !is_finite(x, y, z) {
                continue;
            }
            let intensity = self.layout.intensity.map_or(0.0, |place| number(place) as f32);
            points.xyzi[end] = [x, y, z, intensity];
            if let Some(ring) = self.ring {
                // Saturates, and takes what is not a number for 0.
                points.ring[end] = number(ring).round() as u16;
            }
            if let Some(time) = self.time {
                points.time[end] = self.seconds(number(time), time.number);
            }
            end += 1;
        }
        end
    }

    /// Seconds after the stamp: see the module.
    fn seconds(&self, value: f64, number: Number) -> f32 {
        let is_float = matches!(number, Number::Float32 | Number::Float64);
        let size = value.abs();
        let after = |nanoseconds: f64| (nanoseconds - self.stamp.0 as f64) / 1e9;
        let seconds = match is_float {
            false => value / 1e9,
            true if size > 1e15 => after(value),
            // Whole seconds apart, so that nothing of the fraction is lost.
            true if size > 1e6 => {
                let (whole, part) = (
                    self.stamp.0.div_euclid(1_000_000_000),
                    self.stamp.0.rem_euclid(1_000_000_000),
                );
                (value - whole as f64) - part as f64 / 1e9
            }
            true => value,
        };
        seconds as f32
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
