//! Fields of facts, in the units that their names say.

use jetlag_stats::quantile::Quantile;
use serde::ser::SerializeMap as _;
use serde::{Serialize, Serializer};

use super::words::name_of;
use crate::analysis::figures::QuantileSupport;
use crate::units::Nanos;

/// For how long something was measured, and for how long it should have been.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
pub(in super::super) struct Length {
    #[serde(rename = "measured_s", serialize_with = "seconds")]
    pub(in super::super) measured: Nanos,
    #[serde(rename = "planned_s", serialize_with = "seconds")]
    pub(in super::super) planned: Nanos,
}

pub(super) fn seconds<S: Serializer>(of: &Nanos, out: S) -> Result<S::Ok, S::Error> {
    out.serialize_f64(of.as_secs_f64())
}

pub(super) fn seconds_if_any<S: Serializer>(of: &Option<Nanos>, out: S) -> Result<S::Ok, S::Error> {
    of.map(Nanos::as_secs_f64).serialize(out)
}

pub(super) fn milliseconds<S: Serializer>(of: &Nanos, out: S) -> Result<S::Ok, S::Error> {
    out.serialize_f64(of.as_millis_f64())
}

/// By its usual name.
pub(super) fn quantile<S: Serializer>(of: &Quantile, out: S) -> Result<S::Ok, S::Error> {
    out.serialize_str(&name_of(*of))
}

pub(super) fn sample<S: Serializer>(of: &QuantileSupport, out: S) -> Result<S::Ok, S::Error> {
    let mut map = out.serialize_map(None)?;
    map.serialize_entry("quantile", &name_of(of.quantile))?;
    map.serialize_entry("count", &of.count)?;
    map.serialize_entry("needs", &of.quantile.needs())?;
    map.serialize_entry("lacks", &of.lacks)?;
    map.end()
}
