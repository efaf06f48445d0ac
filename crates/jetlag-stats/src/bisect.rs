//! Where an increasing function takes a value.

/// Where an increasing function takes the value `p`, between −10⁶ and 10⁶.
pub(crate) fn bisect(function: impl Fn(f64) -> f64, p: f64) -> f64 {
    let (mut low, mut high) = (-1e6, 1e6);
    // Until the bounds are neighbouring floating-point numbers.
    for _ in 0..128 {
        let middle = f64::midpoint(low, high);
        if function(middle) < p {
            low = middle;
        } else {
            high = middle;
        }
    }
    f64::midpoint(low, high)
}
