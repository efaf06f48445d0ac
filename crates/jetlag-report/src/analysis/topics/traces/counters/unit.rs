//! Units of ncu's cells. ncu scales them by itself (`Mbyte`, `us`) unless it was told not to (`--print-units base`).

/// What a number counts, after scaling.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Base {
    /// Instructions, operations, sectors, launches.
    Count,
    /// Bytes.
    Byte,
    /// Seconds.
    Second,
}

/// Factor to the base, and the base; none for rates and shares, which are not summed here.
pub(super) fn unit(text: &str) -> Option<(f64, Base)> {
    let text = text.trim();
    let time = match text {
        "" => return Some((1.0, Base::Count)),
        "ns" | "nsecond" | "nanosecond" => Some(1e-9),
        "us" | "usecond" | "µs" | "microsecond" => Some(1e-6),
        "ms" | "msecond" | "millisecond" => Some(1e-3),
        "s" | "second" => Some(1.0),
        _ => None,
    };
    if let Some(factor) = time {
        return Some((factor, Base::Second));
    }
    const BASES: [(&str, Base); 10] = [
        ("byte", Base::Byte),
        ("bytes", Base::Byte),
        ("B", Base::Byte),
        ("inst", Base::Count),
        ("sector", Base::Count),
        ("request", Base::Count),
        ("cycle", Base::Count),
        ("thread", Base::Count),
        ("block", Base::Count),
        ("warp", Base::Count),
    ];
    let bare = |text: &str| {
        BASES
            .iter()
            .find(|(name, _)| *name == text)
            .map(|(_, base)| *base)
    };
    if let Some(base) = bare(text) {
        return Some((1.0, base));
    }
    let factor = match text.chars().next()? {
        'K' | 'k' => 1e3,
        'M' => 1e6,
        'G' => 1e9,
        'T' => 1e12,
        'P' => 1e15,
        _ => return None,
    };
    // The prefixes are of SI: a Kbyte is 1000 bytes.
    bare(text.get(1..)?).map(|base| (factor, base))
}
