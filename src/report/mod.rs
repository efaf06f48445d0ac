//! Answers as text and as JSON, one file a form. No arithmetic here.

pub mod doctor;
