//! What a network is, before any backend sees it. (What to build of it, and the plan cache, come with the
//! backends that build.)

pub mod network;
