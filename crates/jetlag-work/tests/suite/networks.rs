//! Whole networks written down from their public definitions, for tests that need one of a known size.

use crate::build::{Net, Set};

/// Names of tensors, and convolutions with their biases.
pub(crate) struct Layers {
    pub(crate) net: Net,
    count: usize,
}

impl Layers {
    pub(crate) fn new(opset: i64) -> Layers {
        Layers {
            net: Net::new(opset),
            count: 0,
        }
    }

    fn fresh(&mut self) -> String {
        self.count += 1;
        format!("t{}", self.count)
    }

    /// A convolution with a bias, and pads that keep the size at stride 1.
    pub(crate) fn conv(
        &mut self,
        from: &str,
        channels: [i64; 2],
        kernel: i64,
        stride: i64,
        groups: i64,
    ) -> String {
        let (to, weight, bias) = (self.fresh(), self.fresh(), self.fresh());
        let [input, output] = channels;
        let pad = kernel / 2;
        self.net
            .weight(&weight, &[output, input / groups, kernel, kernel]);
        self.net.weight(&bias, &[output]);
        self.net.node(
            "Conv",
            &format!("{from} {weight} {bias}"),
            &to,
            &[
                Set::Ints("kernel_shape", &[kernel, kernel]),
                Set::Ints("strides", &[stride, stride]),
                Set::Ints("pads", &[pad; 4]),
                Set::Int("group", groups),
            ],
        );
        to
    }

    pub(crate) fn one(&mut self, operator: &str, inputs: &str, settings: &[Set]) -> String {
        let to = self.fresh();
        self.net.node(operator, inputs, &to, settings);
        to
    }

    fn linear(&mut self, from: &str, input: i64, output: i64) -> String {
        let (weight, bias) = (self.fresh(), self.fresh());
        self.net.weight(&weight, &[output, input]);
        self.net.weight(&bias, &[output]);
        self.one(
            "Gemm",
            &format!("{from} {weight} {bias}"),
            &[Set::Int("transB", 1)],
        )
    }
}

/// ResNet-50 as PyTorch exports it at operator set 12, batch normalisation folded into the convolutions.
pub(crate) fn resnet50(batch: &str) -> Net {
    let mut l = Layers::new(12);
    l.net.input("x", &format!("{batch} 3 224 224"));
    let stem = l.conv("x", [3, 64], 7, 2, 1);
    let stem = l.one("Relu", &stem, &[]);
    let mut at = l.one(
        "MaxPool",
        &stem,
        &[
            Set::Ints("kernel_shape", &[3, 3]),
            Set::Ints("strides", &[2, 2]),
            Set::Ints("pads", &[1; 4]),
        ],
    );
    let mut wide = 64;
    for (blocks, inner, first) in [(3, 64, 1), (4, 128, 2), (6, 256, 2), (3, 512, 2)] {
        for block in 0..blocks {
            let stride = if block == 0 { first } else { 1 };
            let a = l.conv(&at, [wide, inner], 1, 1, 1);
            let a = l.one("Relu", &a, &[]);
            let b = l.conv(&a, [inner, inner], 3, stride, 1);
            let b = l.one("Relu", &b, &[]);
            let c = l.conv(&b, [inner, inner * 4], 1, 1, 1);
            let shortcut = match block {
                0 => l.conv(&at, [wide, inner * 4], 1, stride, 1),
                _ => at,
            };
            let sum = l.one("Add", &format!("{c} {shortcut}"), &[]);
            at = l.one("Relu", &sum, &[]);
            wide = inner * 4;
        }
    }
    finish(l, &at, |l, pooled| l.linear(pooled, 2048, 1000))
}

fn finish(mut l: Layers, at: &str, head: impl Fn(&mut Layers, &str) -> String) -> Net {
    let pooled = l.one("GlobalAveragePool", at, &[]);
    let flat = l.one("Flatten", &pooled, &[Set::Int("axis", 1)]);
    let out = head(&mut l, &flat);
    l.net.output(&out);
    l.net
}

/// MobileNetV3-large as torchvision has it.
pub(crate) fn mobilenet_v3_large(batch: &str) -> Net {
    // Kernel, expanded, out, squeezed to (0: not), whether hard swish, stride.
    const BLOCKS: [(i64, i64, i64, i64, bool, i64); 15] = [
        (3, 16, 16, 0, false, 1),
        (3, 64, 24, 0, false, 2),
        (3, 72, 24, 0, false, 1),
        (5, 72, 40, 24, false, 2),
        (5, 120, 40, 32, false, 1),
        (5, 120, 40, 32, false, 1),
        (3, 240, 80, 0, true, 2),
        (3, 200, 80, 0, true, 1),
        (3, 184, 80, 0, true, 1),
        (3, 184, 80, 0, true, 1),
        (3, 480, 112, 120, true, 1),
        (3, 672, 112, 168, true, 1),
        (5, 672, 160, 168, true, 2),
        (5, 960, 160, 240, true, 1),
        (5, 960, 160, 240, true, 1),
    ];
    let mut l = Layers::new(17);
    l.net.input("x", &format!("{batch} 3 224 224"));
    let stem = l.conv("x", [3, 16], 3, 2, 1);
    let mut at = l.one("HardSwish", &stem, &[]);
    let mut wide = 16;
    for (kernel, expanded, out, squeezed, is_swish, stride) in BLOCKS {
        let activation = if is_swish { "HardSwish" } else { "Relu" };
        let mut inner = at.clone();
        if expanded != wide {
            inner = l.conv(&inner, [wide, expanded], 1, 1, 1);
            inner = l.one(activation, &inner, &[]);
        }
        inner = l.conv(&inner, [expanded, expanded], kernel, stride, expanded);
        inner = l.one(activation, &inner, &[]);
        if squeezed > 0 {
            let pooled = l.one("GlobalAveragePool", &inner, &[]);
            let less = l.conv(&pooled, [expanded, squeezed], 1, 1, 1);
            let less = l.one("Relu", &less, &[]);
            let more = l.conv(&less, [squeezed, expanded], 1, 1, 1);
            let scale = l.one("HardSigmoid", &more, &[]);
            inner = l.one("Mul", &format!("{scale} {inner}"), &[]);
        }
        let projected = l.conv(&inner, [expanded, out], 1, 1, 1);
        at = match stride == 1 && wide == out {
            true => l.one("Add", &format!("{projected} {at}"), &[]),
            false => projected,
        };
        wide = out;
    }
    let last = l.conv(&at, [160, 960], 1, 1, 1);
    let last = l.one("HardSwish", &last, &[]);
    finish(l, &last, |l, pooled| {
        let hidden = l.linear(pooled, 960, 1280);
        let hidden = l.one("HardSwish", &hidden, &[]);
        l.linear(&hidden, 1280, 1000)
    })
}
