//! How much one tensor instruction computes: kernels are named after the shape m × n × k of theirs.
//!
//! Counted per warp: an instruction of a warpgroup (wgmma; in SASS HGMMA, QGMMA, IGMMA) is counted for each of its four warps. Both this
//! and the numbers of `16816`, `16832` and the fp64 instruction were checked on an H100 against products of known size.

/// One tensor instruction.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Shape {
    pub(super) m: u32,
    pub(super) n: u32,
    pub(super) k: u32,
    /// Whether four warps execute it together.
    pub(super) of_warpgroup: bool,
}

impl Shape {
    /// Operations for each warp that executes it: two for a multiply-add.
    pub(super) fn flops_per_warp(self) -> f64 {
        let all = 2.0 * f64::from(self.m) * f64::from(self.n) * f64::from(self.k);
        if self.of_warpgroup { all / 4.0 } else { all }
    }
}

/// The shape that a kernel's name states; none where it states none.
pub(super) fn shape(kernel: &str) -> Option<Shape> {
    // CUTLASS 3: `cutlass3x_sm90_tensorop_s64x128x16gemm_f16_…`; cuDNN: `…_tensor16x8x16…`.
    for (at, _) in kernel.match_indices('x') {
        if let Some(found) = around(kernel, at) {
            return Some(found);
        }
    }
    const WRITTEN_OUT: [(&str, [u32; 3]); 8] = [
        ("16816", [16, 8, 16]),
        ("16832", [16, 8, 32]),
        ("16864", [16, 8, 64]),
        ("1688", [16, 8, 8]),
        ("8816", [8, 8, 16]),
        ("8832", [8, 8, 32]),
        // Volta's 8 × 8 × 4 is done by each quarter of a warp, in two instructions: 1024 operations each.
        ("s884", [8, 8, 8]),
        ("h884", [8, 8, 8]),
    ];
    let is_whole = |digits: &str, at: usize| {
        let before = kernel.get(..at).and_then(|text| text.chars().next_back());
        let after = kernel
            .get(at + digits.len()..)
            .and_then(|text| text.chars().next());
        !before.is_some_and(|c| c.is_ascii_digit()) && !after.is_some_and(|c| c.is_ascii_digit())
    };
    let found = WRITTEN_OUT
        .iter()
        .find(|(digits, _)| kernel.match_indices(digits).any(|(at, _)| is_whole(digits, at)));
    found.map(|(_, [m, n, k])| Shape {
        m: *m,
        n: *n,
        k: *k,
        of_warpgroup: false,
    })
}

/// `…tensor16x8x16…` or `…s64x128x16gemm…`, whose first `x` is here.
fn around(kernel: &str, at: usize) -> Option<Shape> {
    let before = kernel.get(..at)?;
    let m = digits_at_end(before);
    let rest = kernel.get(at + 1..)?;
    let (n, rest) = rest.split_once('x')?;
    let k = rest.split(|c: char| !c.is_ascii_digit()).next()?;
    let behind = rest.get(k.len()..)?;
    let named = before.get(..before.len() - m.len())?;
    let is_instruction =
        named.ends_with("tensor") || behind.starts_with("gemm") || behind.starts_with("fprop");
    let parsed = |text: &str| text.parse::<u32>().ok().filter(|size| (1..=512).contains(size));
    let (m, n, k) = (parsed(m)?, parsed(n)?, parsed(k)?);
    (is_instruction && k >= 4).then_some(Shape {
        m,
        n,
        k,
        of_warpgroup: m == 64,
    })
}

fn digits_at_end(text: &str) -> &str {
    let kept = text.trim_end_matches(|c: char| c.is_ascii_digit()).len();
    text.get(kept..).unwrap_or_default()
}
