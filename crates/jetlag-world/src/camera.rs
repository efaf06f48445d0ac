//! The camera: one ray a pixel against the solids that may lie behind it, nearest first, then light.
//!
//! What is counted on the way (which pixels show which thing) is the ground truth of the image.

use super::layout::{GROUND, Layout};
use super::shape::Colour;
use super::vector::{Vec3, add, dot, hash_normal, hash01, scale};
use crate::Image;
use jetlag_record::detection::Box2d;

/// Columns and rows of the image.
pub const IMAGE_SIZE: [usize; 2] = [640, 384];
/// Focal length in pixels: 85° across.
pub(super) const FOCAL: f32 = 350.0;
/// Where the camera's axis meets the image, pixels.
pub(super) const CENTRE: [f32; 2] = [320.0, 176.0];
/// Where the camera sits in the LiDAR frame: 1.65 m above the ground.
pub(super) const POSITION: Vec3 = [0.27, 0.0, -0.08];

const WIDTH: usize = IMAGE_SIZE[0];
const HEIGHT: usize = IMAGE_SIZE[1];
const GROUND_MARK: u32 = u32::MAX;
const SKY_MARK: u32 = u32::MAX - 1;

/// What the image shows of one thing.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Sight {
    /// Around the pixels that show it; of no extent where none does.
    pub(super) around: Box2d,
    /// Pixels that show it.
    pub(super) visible: u32,
    /// Pixels that would show it if it stood alone.
    pub(super) alone: u32,
}

/// The picture of a scene and what it shows of each thing, in the layout's order.
pub(super) fn render(layout: &Layout) -> (Image, Vec<Sight>) {
    let mut canvas = Canvas::backdrop(layout);
    let mut sights = vec![Sight::default(); layout.things.len()];
    let mut drawn_by = vec![u32::MAX; WIDTH * HEIGHT];
    for (number, thing) in layout.things.iter().enumerate() {
        for solid in layout.solids[thing.first..thing.last].iter().enumerate() {
            let solid = (thing.first + solid.0, solid.1);
            let [columns, rows] = span(&solid.1.corners);
            for row in rows.0..rows.1 {
                for column in columns.0..columns.1 {
                    let pixel = row * WIDTH + column;
                    let along = ray(column, row);
                    let Some(hit) = solid.1.cast(POSITION, along) else {
                        continue;
                    };
                    if drawn_by[pixel] != number as u32 {
                        drawn_by[pixel] = number as u32;
                        sights[number].alone += 1;
                    }
                    if hit.t >= canvas.depth[pixel] {
                        continue;
                    }
                    canvas.depth[pixel] = hit.t;
                    canvas.shown[pixel] = number as u32;
                    let at = add(POSITION, scale(along, hit.t));
                    let colour = solid.1.colour_at(&hit, layout.ground.fixed(at), layout.key);
                    canvas.colour[pixel] = layout.light.on(colour, hit.normal);
                }
            }
        }
    }
    canvas.shadows(layout);
    for row in 0..HEIGHT {
        for column in 0..WIDTH {
            if let Some(sight) = sights.get_mut(canvas.shown[row * WIDTH + column] as usize) {
                sight.see(column as f32, row as f32);
            }
        }
    }
    (canvas.expose(layout), sights)
}

impl Sight {
    fn see(&mut self, x: f32, y: f32) {
        let pixel = Box2d {
            x1: x,
            y1: y,
            x2: x + 1.0,
            y2: y + 1.0,
        };
        let b = &mut self.around;
        if self.visible == 0 {
            *b = pixel;
        }
        b.x1 = b.x1.min(pixel.x1);
        b.x2 = b.x2.max(pixel.x2);
        b.y2 = b.y2.max(pixel.y2);
        self.visible += 1;
    }
}

impl super::layout::Light {
    /// A surface's colour as it is lit.
    fn on(&self, colour: Colour, normal: Vec3) -> Colour {
        let sky = 0.8 + 0.2 * normal[2];
        scale(
            colour,
            self.ambient * sky + self.direct * dot(normal, self.sun).max(0.0),
        )
    }
}

/// Direction through the middle of a pixel, one metre deep, so that a hit's `t` is its depth.
fn ray(column: usize, row: usize) -> Vec3 {
    let right = (column as f32 + 0.5 - CENTRE[0]) / FOCAL;
    let down = (row as f32 + 0.5 - CENTRE[1]) / FOCAL;
    [1.0, -right, -down]
}

/// The columns and rows that a box with these corners can lie behind.
fn span(corners: &[Vec3; 8]) -> [(usize, usize); 2] {
    let (mut low, mut high) = ([f32::MAX; 2], [f32::MIN; 2]);
    for corner in corners {
        let depth = corner[0] - POSITION[0];
        if depth < 0.2 {
            // Partly beside the camera or behind it: its picture may reach anywhere.
            return [(0, WIDTH), (0, HEIGHT)];
        }
        let at = [
            CENTRE[0] - FOCAL * (corner[1] - POSITION[1]) / depth,
            CENTRE[1] - FOCAL * (corner[2] - POSITION[2]) / depth,
        ];
        for k in 0..2 {
            low[k] = low[k].min(at[k]);
            high[k] = high[k].max(at[k]);
        }
    }
    [0, 1].map(|k| {
        let size = IMAGE_SIZE[k];
        let first = (low[k] - 1.0).clamp(0.0, size as f32) as usize;
        (first, (high[k] + 1.0).clamp(0.0, size as f32) as usize)
    })
}

struct Canvas {
    colour: Vec<Colour>,
    depth: Vec<f32>,
    shown: Vec<u32>,
}

impl Canvas {
    /// Sky above, street below.
    fn backdrop(layout: &Layout) -> Self {
        let mut canvas = Canvas {
            colour: Vec::with_capacity(WIDTH * HEIGHT),
            depth: Vec::with_capacity(WIDTH * HEIGHT),
            shown: Vec::with_capacity(WIDTH * HEIGHT),
        };
        let light = &layout.light;
        for row in 0..HEIGHT {
            for column in 0..WIDTH {
                let along = ray(column, row);
                let depth = (GROUND - POSITION[2]) / along[2];
                let (colour, depth, mark) = if along[2] < 0.0 && depth < 300.0 {
                    let at = add(POSITION, scale(along, depth));
                    let base = street_colour(layout, at);
                    (light.on(base, [0.0, 0.0, 1.0]), depth, GROUND_MARK)
                } else {
                    let up = (along[2] * 2.0).clamp(0.0, 1.0);
                    let sky = std::array::from_fn(|k| {
                        (light.horizon[k] + (light.zenith[k] - light.horizon[k]) * up)
                            * (light.ambient + light.direct * 0.6)
                    });
                    (sky, f32::MAX, SKY_MARK)
                };
                canvas.colour.push(colour);
                canvas.depth.push(depth);
                canvas.shown.push(mark);
            }
        }
        canvas
    }

    /// Darkens the ground under and close beside each thing.
    fn shadows(&mut self, layout: &Layout) {
        for thing in &layout.things {
            let p = &thing.place;
            let half = [p.l.min(6.0) / 2.0 + 0.1, p.w / 2.0 + 0.1];
            let corners = std::array::from_fn(|i| {
                let x = if i & 1 == 0 { -half[0] } else { half[0] };
                let y = if i & 2 == 0 { -half[1] } else { half[1] };
                thing.pose.place([x, y, 0.0])
            });
            let [columns, rows] = span(&corners);
            for row in rows.0..rows.1 {
                for column in columns.0..columns.1 {
                    let pixel = row * WIDTH + column;
                    if self.shown[pixel] != GROUND_MARK {
                        continue;
                    }
                    let at = add(POSITION, scale(ray(column, row), self.depth[pixel]));
                    let near = thing.pose.locate(at);
                    if near[0].abs() < half[0] && near[1].abs() < half[1] {
                        self.colour[pixel] = scale(self.colour[pixel], 0.45);
                    }
                }
            }
        }
    }

    /// Adds air, tint and noise, and rounds to 8 bits.
    fn expose(&self, layout: &Layout) -> Image {
        let light = &layout.light;
        let mut rgb = Vec::with_capacity(WIDTH * HEIGHT * 3);
        for (pixel, (colour, depth)) in self.colour.iter().zip(&self.depth).enumerate() {
            let air = if *depth < 1e4 {
                (depth * light.haze).min(0.7)
            } else {
                0.0
            };
            for (k, lit) in colour.iter().enumerate() {
                let noise = hash_normal(layout.noise ^ 0xca3e, (pixel * 3 + k) as u64) * light.noise;
                let seen = (lit * (1.0 - air) + light.horizon[k] * air) * light.tint[k];
                rgb.push(((seen + noise).clamp(0.0, 1.0) * 255.0 + 0.5) as u8);
            }
        }
        Image {
            width: WIDTH,
            height: HEIGHT,
            rgb,
        }
    }
}

fn street_colour(layout: &Layout, at: Vec3) -> Colour {
    let street = &layout.street;
    let fixed = layout.ground.fixed(at);
    let [along, off] = layout.ground.on_street(fixed);
    let fine = [fixed[0] * 8.0, fixed[1] * 8.0].map(|v| v.floor() as i64 as u64 & 0xffff_ffff);
    let coarse = [fixed[0] * 0.7, fixed[1] * 0.7].map(|v| v.floor() as i64 as u64 & 0xffff_ffff);
    let speck = hash01(layout.key, fine[0] | fine[1] << 32) - 0.5;
    let patch = hash01(layout.key ^ 7, coarse[0] | coarse[1] << 32) - 0.5;
    // Far away the specks are finer than a pixel and average out.
    let rough = 1.0 + 0.16 * speck * (12.0 / at[0].max(12.0)) + 0.08 * patch;
    let dash = along * 0.125;
    if off.abs() < 0.07 && dash - dash.floor() < 0.45 || (off.abs() - street.half + 0.25).abs() < 0.06 {
        return [0.82, 0.82, 0.80];
    }
    let base = if off.abs() < street.half {
        street.asphalt
    } else {
        street.verge
    };
    scale(base, rough)
}
