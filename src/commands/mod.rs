//! One file a verb: the only place where the live half and the offline half meet.

pub mod doctor;
