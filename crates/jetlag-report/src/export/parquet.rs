//! Apache Parquet: one file for each of [`TABLES`], with typed columns, compressed by zstd. A value that was not
//! measured is null.
//!
//! Rows are collected into groups and written column by column, so that memory does not grow with the run.

use std::io::{self, Write};
use std::sync::Arc;

use ::parquet::basic::{Compression, LogicalType, Repetition, Type as Physical, ZstdLevel};
use ::parquet::data_type::{BoolType, ByteArray, ByteArrayType, DoubleType, Int64Type};
use ::parquet::errors::ParquetError;
use ::parquet::file::properties::WriterProperties;
use ::parquet::file::writer::{SerializedColumnWriter, SerializedFileWriter};
use ::parquet::schema::types::Type;

use super::Export;
use super::tables::{Cell, Column, Rows, TABLES, Table, ValueKind, of_summary};
use crate::analysis::Summary;
use crate::record::{Event, Manifest};

/// Rows per group: some 15 MB of frames.
const GROUP: usize = 1 << 16;

/// The tables while they are written.
pub struct ParquetExport<W: Write + Send> {
    tables: Vec<TableWriter<W>>,
    rows: Rows,
}

impl<W: Write + Send> ParquetExport<W> {
    /// Opens the tables; the files are in the order of [`TABLES`].
    pub fn new(manifest: &Manifest, files: [W; TABLES.len()]) -> io::Result<Self> {
        let tables = files.into_iter().zip(TABLES);
        Ok(ParquetExport {
            tables: tables
                .map(|(out, table)| TableWriter::new(out, table))
                .collect::<Result<_, _>>()
                .map_err(cause)?,
            rows: Rows::new(manifest),
        })
    }
}

impl<W: Write + Send> Export for ParquetExport<W> {
    fn event(&mut self, event: &Event) -> io::Result<()> {
        let tables = &mut self.tables;
        self.rows
            .of(event, |table, row| tables[table].push(row).map_err(cause))
    }

    fn summary(&mut self, summary: &Summary) -> io::Result<()> {
        let mut rows = of_summary(summary).into_iter();
        rows.try_for_each(|(table, row)| self.tables[table].push(row).map_err(cause))
    }

    fn finish(&mut self) -> io::Result<usize> {
        for table in &mut self.tables {
            table.flush().map_err(cause)?;
            table.file.finish().map_err(cause)?;
            table.file.inner_mut().flush()?;
        }
        Ok(TABLES.len())
    }
}

/// Returns the disk's own error where there is one.
fn cause(error: ParquetError) -> io::Error {
    match error {
        ParquetError::External(error) => match error.downcast::<io::Error>() {
            Ok(error) => *error,
            Err(error) => io::Error::other(error),
        },
        error => io::Error::other(error),
    }
}

struct TableWriter<W: Write + Send> {
    file: SerializedFileWriter<W>,
    columns: Vec<PendingValues>,
    rows: usize,
}

/// Values of a column that are not written yet.
struct PendingValues {
    values: Values,
    /// For each row 1 if it has a value, else 0; empty if the column has no missing values.
    levels: Option<Vec<i16>>,
}

enum Values {
    Text(Vec<ByteArray>),
    /// Counts too, by their bits, as the format has them.
    Int(Vec<i64>),
    Real(Vec<f64>),
    Flag(Vec<bool>),
}

impl<W: Write + Send> TableWriter<W> {
    fn new(out: W, table: Table) -> Result<Self, ParquetError> {
        let fields = table.columns.iter().map(|column| field(column).map(Arc::new));
        let schema = Type::group_type_builder(table.name)
            .with_fields(fields.collect::<Result<_, _>>()?)
            .build()?;
        let properties = WriterProperties::builder()
            .set_compression(Compression::ZSTD(ZstdLevel::default()))
            .set_created_by(format!("jetlag {}", env!("CARGO_PKG_VERSION")))
            .build();
        Ok(TableWriter {
            file: SerializedFileWriter::new(out, Arc::new(schema), Arc::new(properties))?,
            columns: table.columns.iter().map(PendingValues::new).collect(),
            rows: 0,
        })
    }

    fn push(&mut self, row: Vec<Cell<'_>>) -> Result<(), ParquetError> {
        for (column, cell) in self.columns.iter_mut().zip(row) {
            column.push(cell);
        }
        self.rows += 1;
        if self.rows < GROUP {
            return Ok(());
        }
        self.flush()
    }

    /// Writes the collected rows as a group.
    fn flush(&mut self) -> Result<(), ParquetError> {
        if self.rows == 0 {
            return Ok(());
        }
        let mut group = self.file.next_row_group()?;
        for column in &mut self.columns {
            let Some(mut writer) = group.next_column()? else {
                break;
            };
            column.write(&mut writer)?;
            writer.close()?;
        }
        group.close()?;
        self.rows = 0;
        Ok(())
    }
}

fn field(column: &Column) -> Result<Type, ParquetError> {
    let (physical, logical) = match column.kind {
        ValueKind::Text => (Physical::BYTE_ARRAY, Some(LogicalType::String)),
        ValueKind::Int => (Physical::INT64, Some(LogicalType::integer(64, true))),
        ValueKind::Count => (Physical::INT64, Some(LogicalType::integer(64, false))),
        ValueKind::Real => (Physical::DOUBLE, None),
        ValueKind::Flag => (Physical::BOOLEAN, None),
    };
    let repetition = match column.optional {
        true => Repetition::OPTIONAL,
        false => Repetition::REQUIRED,
    };
    Type::primitive_type_builder(column.name, physical)
        .with_logical_type(logical)
        .with_repetition(repetition)
        .build()
}

impl PendingValues {
    fn new(column: &Column) -> Self {
        PendingValues {
            values: match column.kind {
                ValueKind::Text => Values::Text(Vec::new()),
                ValueKind::Int | ValueKind::Count => Values::Int(Vec::new()),
                ValueKind::Real => Values::Real(Vec::new()),
                ValueKind::Flag => Values::Flag(Vec::new()),
            },
            levels: column.optional.then(Vec::new),
        }
    }

    fn push(&mut self, cell: Cell<'_>) {
        if let Some(levels) = &mut self.levels {
            levels.push(i16::from(cell != Cell::Missing));
        }
        match (&mut self.values, cell) {
            (Values::Text(all), Cell::Text(text)) => {
                all.push(ByteArray::from(text.into_owned().into_bytes()))
            }
            (Values::Int(all), Cell::Int(value)) => all.push(value),
            (Values::Int(all), Cell::Count(value)) => all.push(value.cast_signed()),
            (Values::Real(all), Cell::Real(value)) => all.push(value),
            (Values::Flag(all), Cell::Flag(value)) => all.push(value),
            (_, cell) => debug_assert_eq!(cell, Cell::Missing, "a value of its column's kind"),
        }
    }

    fn write(&mut self, writer: &mut SerializedColumnWriter<'_>) -> Result<(), ParquetError> {
        let levels = self.levels.as_deref();
        match &mut self.values {
            Values::Text(all) => {
                writer.typed::<ByteArrayType>().write_batch(all, levels, None)?;
                all.clear();
            }
            Values::Int(all) => {
                writer.typed::<Int64Type>().write_batch(all, levels, None)?;
                all.clear();
            }
            Values::Real(all) => {
                writer.typed::<DoubleType>().write_batch(all, levels, None)?;
                all.clear();
            }
            Values::Flag(all) => {
                writer.typed::<BoolType>().write_batch(all, levels, None)?;
                all.clear();
            }
        }
        self.levels.iter_mut().for_each(Vec::clear);
        Ok(())
    }
}
