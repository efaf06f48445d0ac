use proptest::prelude::{Strategy, any, prop_assert, proptest};

use super::*;

fn all() -> impl Iterator<Item = Colours> {
    let ranges = [Range::Limited, Range::Full].into_iter();
    ranges.flat_map(|range| [Matrix::Bt601, Matrix::Bt709].map(|matrix| Colours { range, matrix }))
}

/// The formulas as the recommendations have them, in real numbers.
fn exact([y, b, r]: [u8; 3], colours: Colours) -> [f64; 3] {
    let [y, b, r] = [y, b, r].map(f64::from);
    let (y, b, r) = match colours.range {
        Range::Limited => ((y - 16.0) / 219.0, (b - 128.0) / 224.0, (r - 128.0) / 224.0),
        Range::Full => (y / 255.0, (b - 128.0) / 255.0, (r - 128.0) / 255.0),
    };
    let (kr, kb) = match colours.matrix {
        Matrix::Bt601 => (0.299, 0.114),
        Matrix::Bt709 => (0.2126, 0.0722),
    };
    let (red, blue) = (y + r * 2.0 * (1.0 - kr), y + b * 2.0 * (1.0 - kb));
    let green = (y - kr * red - kb * blue) / (1.0 - kr - kb);
    [red, green, blue].map(|part| (part * 255.0).clamp(0.0, 255.0))
}

#[test]
fn every_colour_is_the_exact_one_rounded() {
    let size = Size::new(256, 2).unwrap();
    let mut rgb = vec![0; size.bytes()];
    for colours in all() {
        for colour in (0..=255_u8).step_by(5) {
            let mut planes: Vec<u8> = (0..=255).chain(0..=255).collect();
            planes.extend((0..128).map(|n| n * 2 + 1));
            planes.extend([colour; 128]);
            to_rgb(&planes, size, colours, &mut rgb);
            for (n, found) in rgb.as_chunks::<3>().0.iter().enumerate() {
                let x = n % 256;
                let exact = exact([x as u8, (x / 2 * 2 + 1) as u8, colour], colours);
                for (found, exact) in found.iter().zip(exact) {
                    // 0.5 by rounding, the rest by factors of 16 bits.
                    let off = (f64::from(*found) - exact).abs();
                    assert!(off < 0.51, "{colours:?}: {x} {colour}: {found} for {exact}");
                }
            }
        }
    }
}

proptest! {
    #[test]
    fn images_of_any_size_are_converted_pixel_by_pixel(
        (width, height, planes) in (1..140_u32, 1..6_u32).prop_flat_map(|(w, h)| {
            let length = bytes(Size::new(w, h).unwrap());
            (w..=w, h..=h, proptest::collection::vec(any::<u8>(), length))
        }),
        is_full: bool,
    ) {
        let size = Size::new(width, height).unwrap();
        let range = if is_full { Range::Full } else { Range::Limited };
        let colours = Colours { range, matrix: Matrix::Bt709 };
        let mut rgb = vec![0; size.bytes()];
        to_rgb(&planes, size, colours, &mut rgb);
        let (w, h) = (width as usize, height as usize);
        let (halves, rows) = (w.div_ceil(2), h.div_ceil(2));
        for (n, found) in rgb.as_chunks::<3>().0.iter().enumerate() {
            let (x, y) = (n % w, n / w);
            let half = y / 2 * halves + x / 2;
            let [blue, red] = [0, 1].map(|k| planes[w * h + k * halves * rows + half]);
            let exact = exact([planes[n], blue, red], colours);
            prop_assert!(found.iter().zip(exact).all(|(found, exact)| (f64::from(*found) - exact).abs() < 0.51));
        }
    }
}

#[test]
fn what_a_file_says_is_understood_and_anything_else_is_left_to_ffmpeg() {
    let of = |pixels, range, matrix| {
        let planes = Planes::of(pixels, range, matrix)?;
        assert_eq!(planes.format, pixels);
        Some((planes.colours.range, planes.colours.matrix))
    };
    let limited = |matrix| Some((Range::Limited, matrix));
    assert_eq!(of("yuv420p", None, None), limited(Matrix::Bt601));
    assert_eq!(of("yuv420p", Some("tv"), Some("bt709")), limited(Matrix::Bt709));
    assert_eq!(
        of("yuv420p", Some("unknown"), Some("unknown")),
        limited(Matrix::Bt601)
    );
    assert_eq!(
        of("yuv420p", Some("pc"), Some("smpte170m")),
        Some((Range::Full, Matrix::Bt601))
    );
    assert_eq!(
        of("yuvj420p", None, Some("bt470bg")),
        Some((Range::Full, Matrix::Bt601))
    );
    for (pixels, matrix) in [
        ("yuv422p", None),
        ("yuv444p", None),
        ("yuv420p10le", None),
        ("yuva420p", None),
        ("rgb24", None),
        ("yuv420p", Some("bt2020nc")),
        ("yuv420p", Some("gbr")),
    ] {
        assert_eq!(of(pixels, None, matrix), None, "{pixels} {matrix:?}");
    }
}
