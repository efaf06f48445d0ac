//! Colours that most eyes tell apart (Okabe and Ito, 2008), without black.

use embedded_graphics::pixelcolor::Rgb888;

const CLASSES: [Rgb888; 7] = [
    Rgb888::new(0xE6, 0x9F, 0x00),
    Rgb888::new(0x56, 0xB4, 0xE9),
    Rgb888::new(0x00, 0x9E, 0x73),
    Rgb888::new(0xF0, 0xE4, 0x42),
    Rgb888::new(0xCC, 0x79, 0xA7),
    Rgb888::new(0xD5, 0x5E, 0x00),
    Rgb888::new(0x00, 0x72, 0xB2),
];

/// Behind everything that is no image.
pub(crate) const GROUND: Rgb888 = Rgb888::new(0x12, 0x16, 0x1C);
/// Text on the ground.
pub(crate) const TEXT: Rgb888 = Rgb888::new(0xE8, 0xEA, 0xED);
/// Rings of distance.
pub(crate) const RING: Rgb888 = Rgb888::new(0x33, 0x3C, 0x48);

/// The colour of a class; after seven they come again.
pub(crate) fn of_class(class: u16) -> Rgb888 {
    CLASSES[usize::from(class) % CLASSES.len()]
}

/// Black or white, whichever reads better on a colour.
pub(crate) fn on(colour: Rgb888) -> Rgb888 {
    use embedded_graphics::pixelcolor::RgbColor;
    let level = u32::from(colour.r()) * 299 + u32::from(colour.g()) * 587 + u32::from(colour.b()) * 114;
    if level > 140_000 {
        Rgb888::BLACK
    } else {
        Rgb888::WHITE
    }
}
