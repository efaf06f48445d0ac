//! The CUDA driver's double, tested through cudarc as jetlag uses it: order, concurrency, times, memory, captures, faults.
//! Each test runs in a process of its own, since the double is set up when it is loaded.
//!
//! Durations are the double's own, stamped without the lateness of threads; kernels that shall be compared are enqueued
//! behind one that holds them back, so that the time between two calls is in none.

#![allow(
    unsafe_code,
    reason = "calls of the driver: handles and memory live through each test"
)]

mod driver;
mod frames;
mod memory;
mod streams;
mod support;
