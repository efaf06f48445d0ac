//! Hardware queues of the device. The driver opens 8 by default, and streams beyond them share one: a kernel of one tenant then
//! waits behind another tenant's, though nothing makes it depend on it. A run of several tenants has more streams than that.

/// The driver's variable, read when it is initialised.
const VARIABLE: &str = "CUDA_DEVICE_MAX_CONNECTIONS";
/// The most that it takes.
const MOST: &str = "32";

/// Asks the driver for as many hardware queues as it opens, where nobody has said how many.
///
/// # Safety
/// No other thread of the process reads or sets variables meanwhile: call it first of all.
pub unsafe fn ask_for_all_queues() {
    if std::env::var_os(VARIABLE).is_none() {
        // SAFETY: the caller vouches that this is the only thread that looks at variables.
        unsafe { std::env::set_var(VARIABLE, MOST) };
    }
}

/// How many were asked for, as the run file keeps it.
pub fn asked_queues() -> Option<String> {
    let said = std::env::var_os(VARIABLE)?;
    Some(said.to_string_lossy().into_owned())
}
