//! The order in which a tenant's pipeline does things, and what becomes of frames that go wrong.
//!
//! Nothing here depends on how fast the machine is: overlap is shown by a result that waits for the next
//! submission, which never comes if the stages do not overlap.

mod failures;
mod losses;
mod nodes;
mod order;
mod recorder;
mod releases;
mod trial;
mod watching;
