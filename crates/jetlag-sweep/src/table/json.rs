//! The table as one JSON object (docs/sweeps.md). What is not known is `null`.

use std::collections::BTreeMap;
use std::io::{self, Write};

use serde::ser::{SerializeMap, SerializeSeq};
use serde::{Serialize, Serializer};

use super::{Row, State, Table};
use crate::figures::{Column, Estimate};

/// Version of this form.
const SCHEMA: u32 = 1;

/// Writes the table as JSON.
///
/// # Errors
/// It cannot be written.
pub fn write_json(table: &Table, mut out: impl Write) -> io::Result<()> {
    serde_json::to_writer_pretty(&mut out, &Whole(table))?;
    out.write_all(b"\n")
}

struct Whole<'t>(&'t Table);

impl Serialize for Whole<'_> {
    fn serialize<S: Serializer>(&self, to: S) -> Result<S::Ok, S::Error> {
        let table = self.0;
        let [done, failed, skipped, left] = table.counts();
        let mut map = to.serialize_map(None)?;
        map.serialize_entry("schema", &SCHEMA)?;
        map.serialize_entry("base", &table.base)?;
        map.serialize_entry("base_hash", &table.base_hash)?;
        map.serialize_entry("jetlag", &table.jetlag)?;
        map.serialize_entry("axes", &table.axes)?;
        let counts: BTreeMap<&str, usize> = [
            ("done", done),
            ("failed", failed),
            ("skipped", skipped),
            ("left", left),
        ]
        .into();
        map.serialize_entry("runs", &counts)?;
        map.serialize_entry("rows", &Rows(table))?;
        map.end()
    }
}

struct Rows<'t>(&'t Table);

impl Serialize for Rows<'_> {
    fn serialize<S: Serializer>(&self, to: S) -> Result<S::Ok, S::Error> {
        let mut rows = to.serialize_seq(Some(self.0.rows.len()))?;
        for row in &self.0.rows {
            rows.serialize_element(&One(row, &self.0.columns))?;
        }
        rows.end()
    }
}

struct One<'t>(&'t Row, &'t [Column]);

impl Serialize for One<'_> {
    fn serialize<S: Serializer>(&self, to: S) -> Result<S::Ok, S::Error> {
        let One(row, columns) = self;
        let mut map = to.serialize_map(None)?;
        map.serialize_entry("point", &row.point)?;
        map.serialize_entry("repeat", &row.repeat)?;
        let set: BTreeMap<&str, &str> = row
            .settings
            .iter()
            .map(|setting| (setting.path.as_str(), setting.value.as_str()))
            .collect();
        map.serialize_entry("set", &set)?;
        map.serialize_entry("state", row.state.word())?;
        map.serialize_entry("failed", &row.state.failure())?;
        map.serialize_entry(
            "after_point",
            &match row.state {
                State::Skipped { after } => Some(after),
                _ => None,
            },
        )?;
        map.serialize_entry("seed", &row.seed)?;
        map.serialize_entry("took_s", &row.took_s)?;
        map.serialize_entry("file", &row.file)?;
        map.serialize_entry("findings", &row.findings)?;
        map.serialize_entry("networks", &row.networks)?;
        map.serialize_entry("figures", &Figures(row, columns))?;
        map.end()
    }
}

struct Figures<'t>(&'t Row, &'t [Column]);

#[derive(Serialize)]
struct Value<'t> {
    value: Option<f64>,
    ci95: Option<[f64; 2]>,
    unit: &'t str,
}

impl Serialize for Figures<'_> {
    fn serialize<S: Serializer>(&self, to: S) -> Result<S::Ok, S::Error> {
        let mut map = to.serialize_map(None)?;
        if !self.0.figures.is_empty() {
            for column in self.1 {
                let Estimate { value, ci95 } = self.0.figure(&column.name);
                let unit = column.unit.symbol();
                map.serialize_entry(&column.name, &Value { value, ci95, unit })?;
            }
        }
        map.end()
    }
}
