//! Images on the device: what the host's resize makes, to the bit.

use jetlag::backend::gpu::kernels;
use jetlag::detector::camera::fit::{Align, FitSpec, Letterbox, Rounding};
use jetlag::detector::camera::preprocess::{CameraPreprocess, Colour, Element, InputFormat, Layout, block};
use jetlag::detector::{Carry, Preprocess};
use jetlag::gpu::{DeviceMemory, FIT, Fit, Gpu, Stream};
use jetlag::source::{Content, Frame, Image};
use jetlag::tensor::{ElementType, HostTensor, TensorSet};

use super::{on_the_device, random};

fn image(width: usize, height: usize, state: &mut u64) -> Image {
    let rgb = (0..width * height * 3).map(|_| random(state) as u8).collect();
    Image { width, height, rgb }
}

/// Letterboxes and stretches of every kind, in both layouts and both orders of channels.
fn formats() -> Vec<InputFormat> {
    let letterbox = |align, rounding| {
        FitSpec::Letterbox(Letterbox {
            align,
            pad: 114,
            rounding,
        })
    };
    let format = |size, fit, layout, colour| InputFormat {
        element: Element::F32,
        tensor: "images".to_owned(),
        size,
        layout,
        colour,
        fit,
        scale: 1.0 / 255.0,
        mean: [0.485, 0.456, 0.406],
        std: [0.229, 0.224, 0.225],
    };
    vec![
        format(
            [64, 48],
            letterbox(Align::Centre, Rounding::Nearest),
            Layout::Nchw,
            Colour::Rgb,
        ),
        format(
            [47, 33],
            letterbox(Align::TopLeft, Rounding::Down),
            Layout::Nhwc,
            Colour::Bgr,
        ),
        format([31, 66], FitSpec::Stretch, Layout::Nchw, Colour::Bgr),
        format([40, 40], FitSpec::Stretch, Layout::Nhwc, Colour::Rgb),
    ]
}

/// Smaller and larger than the inputs, as they are, of whole ratios, flat and narrow, and too wide for a block. Sizes without a
/// plan follow, so that each side is enlarged and shrunk beside each way of the other.
const SIZES: [[usize; 2]; 11] = [
    [64, 48],
    [192, 144],
    [128, 96],
    [171, 97],
    [20, 11],
    [1, 1],
    [2, 200],
    [333, 1],
    [63, 49],
    [block::WIDEST, 30],
    [block::WIDEST * 3, 70],
];

/// One slot's memory goes from size to size; every input is the host's to the bit.
fn fits_are_the_same() {
    let gpu = Gpu::open(0).unwrap();
    let module = kernels(&gpu, FIT).unwrap();
    let stream = Stream::new(&gpu, 0).unwrap();
    let (mut state, mut sizes) = (11, 5);
    let mut by_the_host = 0;
    for format in formats() {
        let step = block::on_device(&format);
        let mut host = TensorSet::default();
        host.push(HostTensor::zeroed("images", ElementType::F32, format.shape()));
        let bytes = step.block.max_shape.len();
        let mut slot = TensorSet::default();
        slot.push(HostTensor::zeroed(
            step.block.name.clone(),
            ElementType::U8,
            step.block.max_shape,
        ));
        let on_device = DeviceMemory::new(&gpu, bytes).unwrap();
        let input = DeviceMemory::new(&gpu, step.shape.input_bytes()).unwrap();
        let fit = Fit::new(&module, step.shape, on_device.span(), input.span()).unwrap();
        let mut preprocess = CameraPreprocess::new(format.clone());
        let mut side = || random(&mut sizes) as usize % 150 + 1;
        for [width, height] in SIZES.into_iter().chain((0..30).map(|_| [side(), side()])) {
            let frame = Frame {
                content: Content::Image(image(width, height, &mut state)),
                ..Frame::default()
            };
            let (mut here, mut there) = (Carry::default(), Carry::default());
            let wanted = preprocess.run(&frame, &mut host, &mut here).unwrap();
            let found = preprocess.run(&frame, &mut slot, &mut there).unwrap();
            assert_eq!((wanted, here.fit), (found, there.fit));
            let bytes = slot.get(block::BLOCK).unwrap().bytes();
            by_the_host += usize::from(bytes[0] == 1);
            on_device.fill(bytes).unwrap();
            input.fill(&vec![0xee; input.bytes()]).unwrap();
            fit.enqueue(&stream).unwrap();
            stream.synchronize().unwrap();
            let wanted = host.get("images").unwrap().bytes();
            assert!(
                wanted == input.read().unwrap(),
                "{width} × {height} into {:?}, {:?}",
                format.size,
                format.fit
            );
        }
        assert!(
            Fit::new(&module, step.shape, input.span(), input.span()).is_err(),
            "a block that holds no input"
        );
    }
    assert!(by_the_host >= 2, "the widest where it is stretched");
}

#[test]
fn the_device_fits_images_as_the_host_to_the_bit() {
    on_the_device(
        "gpu::device_steps::fit::the_device_fits_images_as_the_host_to_the_bit",
        fits_are_the_same,
    );
}

/// Of an image three times as large as the input only the rows that count are handed over.
#[test]
fn rows_that_the_resize_passes_over_are_not_copied() {
    let format = InputFormat {
        element: Element::F32,
        size: [640, 640],
        ..formats().remove(0)
    };
    let step = block::on_device(&format);
    let mut tensor = HostTensor::zeroed(block::BLOCK, ElementType::U8, step.block.max_shape);
    let mut preprocess = CameraPreprocess::new(format);
    let image = image(1920, 1080, &mut 3);
    preprocess.fill_block(&image, &mut tensor).unwrap();
    assert_eq!(tensor.bytes().len(), step.shape.head_bytes() + 360 * 1920 * 3);
}
