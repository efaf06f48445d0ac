//! Work on several processors whose results come in order.

use super::FilesError;

/// Does the work of each item, as many at once as there are processors, and hands the results on in the items' order.
///
/// # Errors
/// The first that `each` returns; nothing is begun after it.
pub(super) fn in_order<T: Sync, R: Send>(
    items: &[T],
    work: impl Fn(&T) -> R + Sync,
    mut each: impl FnMut(&T, R) -> Result<(), FilesError>,
) -> Result<(), FilesError> {
    let threads = std::thread::available_parallelism().map_or(1, |n| n.get());
    for group in items.chunks(threads) {
        let made: Vec<R> = std::thread::scope(|scope| {
            let workers: Vec<_> = group.iter().map(|item| scope.spawn(|| work(item))).collect();
            let join = |worker: std::thread::ScopedJoinHandle<'_, R>| match worker.join() {
                Ok(made) => made,
                Err(panic) => std::panic::resume_unwind(panic),
            };
            workers.into_iter().map(join).collect()
        });
        for (item, made) in group.iter().zip(made) {
            each(item, made)?;
        }
    }
    Ok(())
}
