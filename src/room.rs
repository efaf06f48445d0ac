//! Whether the system gives this process the room that it takes: a stack, and addresses.

use std::os::fd::AsFd;
use std::thread;

use rustix::process::{Resource, getrlimit};

use crate::units::Bytes;

/// A smaller stack than this ends the program while it reads its arguments.
const LEAST_STACK: u64 = 1 << 20;
/// What it takes instead: as much as is usual.
const STACK: usize = 8 << 20;
/// With fewer addresses than this, the demo's networks may find no memory.
const FEW_ADDRESSES: u64 = 512 << 20;

/// Runs the program: on this thread, or, where its stack is too small (`ulimit -s`), on one that has enough.
///
/// # Errors
/// There is no memory for another stack.
pub fn on_enough_stack<T: Send>(program: impl FnOnce() -> T + Send) -> std::io::Result<T> {
    if getrlimit(Resource::Stack)
        .current
        .is_none_or(|bytes| bytes >= LEAST_STACK)
    {
        return Ok(program());
    }
    thread::scope(|scope| {
        let started = thread::Builder::new()
            .stack_size(STACK)
            .spawn_scoped(scope, program)?;
        started.join().map_err(|_| std::io::Error::other("it panicked"))
    })
}

/// Makes the most of few addresses (`ulimit -v`). The allocator sets 64 MiB of them aside for each thread that asks it while another one
/// does; now all threads share what the first has. Where no memory is found all the same, Rust and the libraries end the process by
/// SIGABRT, in the middle of whatever it was; it says why and ends with 1 instead.
///
/// To be called while there is one thread.
#[allow(
    unsafe_code,
    reason = "nothing else asks this of the allocator, or says anything when a signal ends the process"
)]
pub fn make_do() {
    let Some((given, _)) = few_addresses() else {
        return;
    };
    #[cfg(target_env = "gnu")]
    // SAFETY: it sets a number that the allocator reads when it next makes an arena.
    unsafe {
        libc::mallopt(libc::M_ARENA_MAX, 1);
    }
    // Made now: when it is said there is no memory for it.
    let words = format!(
        "error: the program ends here since it found no memory, as it seems: it may address {} MiB (ulimit -v); raise the limit\n",
        given.0 >> 20
    );
    let end = move || {
        // Nothing is left to be done if nobody listens.
        let _ = rustix::io::write(std::io::stderr().as_fd(), words.as_bytes());
        signal_hook::low_level::exit(1)
    };
    // SAFETY: what is called within writes bytes that are there to a descriptor and ends the process; neither takes memory nor a lock.
    let _ = unsafe { signal_hook::low_level::register(signal_hook::consts::SIGABRT, end) };
}

/// How many bytes this process may address, and how many it should, if they are few (`ulimit -v`): what finds no memory then ends it.
pub fn few_addresses() -> Option<(Bytes, Bytes)> {
    let bytes = getrlimit(Resource::As).current?;
    (bytes < FEW_ADDRESSES).then_some((Bytes(bytes), Bytes(FEW_ADDRESSES)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_program_runs_and_gives_its_result() {
        assert_eq!(on_enough_stack(|| 5).unwrap(), 5);
    }
}
