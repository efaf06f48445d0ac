//! Whether the system gives this process the room that it takes: a stack, and addresses.

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
