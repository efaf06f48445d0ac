//! What the hardware counted, for `jetlag counters`.

use super::Form;
use crate::analysis::counters::Counters;
use crate::sections::counters;

/// All measurements.
pub fn text(measured: &Counters, form: Form<'_>) -> String {
    form.all(&counters::sections(measured))
}

/// The metrics that are asked for, and nvprof's names.
pub fn known(form: Form<'_>) -> String {
    form.all(&counters::known())
}
