//! From records to numbers to what people read, on runs whose answers are known.

#[path = "../common/mod.rs"]
mod common;
mod compare;
mod findings;
mod html;
mod interference;
mod made_up;
mod outliers;
mod output;
mod power;
mod predictability;
mod scipy;
mod truth;
