//! Statistics of measurements that depend on each other: numbers in, numbers out.
//!
//! Nothing here knows where its numbers come from, and all of it is pure: what is drawn at random is drawn from a seed. Each
//! statistic is here once, and whoever says a number in a report has it from here.
//!
//! - of one value: [`quantile`], with the ranks that enclose it; [`median`], [`moments`], [`histogram`];
//! - of distributions: [`normal`], [`student`], [`binomial`], and [`share`], the interval of a share;
//! - of values that follow each other: [`autocorrelation`], [`batches`], [`blocks`], and [`correlation`] of two series;
//! - of what changes: [`changepoint`], [`states`], [`spells`], [`line`](mod@line), [`rhythm`];
//! - of columns: [`linear`], [`least_squares`], [`nonnegative`];
//! - of chance: [`bootstrap`], [`random`].

#![doc = include_str!("../README.md")]

pub mod autocorrelation;
pub mod batches;
pub mod binomial;
mod bisect;
pub mod blocks;
pub mod bootstrap;
pub mod changepoint;
mod cholesky;
pub mod correlation;
pub mod histogram;
pub mod least_squares;
pub mod line;
pub mod linear;
pub mod median;
pub mod moments;
pub mod nonnegative;
pub mod normal;
pub mod quantile;
pub mod random;
pub mod rhythm;
pub mod share;
pub mod spells;
pub mod states;
pub mod student;
