//! The table as Apache Parquet: one row group, compressed by zstd. What is not known is null.

use std::io::{self, Write};
use std::sync::Arc;

use ::parquet::basic::{Compression, LogicalType, Repetition, Type as Physical, ZstdLevel};
use ::parquet::data_type::{ByteArray, ByteArrayType, DoubleType, Int64Type};
use ::parquet::errors::ParquetError;
use ::parquet::file::properties::WriterProperties;
use ::parquet::file::writer::SerializedFileWriter;
use ::parquet::schema::types::Type;

use super::Table;
use super::csv::{Cell, ValueKind, cells, heads};

/// Writes the table as Parquet.
///
/// # Errors
/// It cannot be written.
pub fn write_parquet(table: &Table, out: impl Write + Send) -> io::Result<()> {
    write(table, out).map_err(|error| match error {
        ParquetError::External(error) => match error.downcast::<io::Error>() {
            Ok(error) => *error,
            Err(error) => io::Error::other(error),
        },
        error => io::Error::other(error),
    })
}

fn write(table: &Table, out: impl Write + Send) -> Result<(), ParquetError> {
    let heads = heads(table);
    let fields = heads.iter().map(|(name, kind)| field(name, *kind).map(Arc::new));
    let schema = Type::group_type_builder("sweep")
        .with_fields(fields.collect::<Result<_, _>>()?)
        .build()?;
    let properties = WriterProperties::builder()
        .set_compression(Compression::ZSTD(ZstdLevel::default()))
        .set_created_by(format!("jetlag {}", env!("CARGO_PKG_VERSION")))
        .build();
    let mut file = SerializedFileWriter::new(out, Arc::new(schema), Arc::new(properties))?;
    let rows: Vec<Vec<Cell<'_>>> = cells(table).collect();
    let mut group = file.next_row_group()?;
    for (place, (_, kind)) in heads.iter().enumerate() {
        let Some(mut writer) = group.next_column()? else {
            break;
        };
        let column = rows.iter().filter_map(|row| row.get(place));
        let levels: Vec<i16> = column
            .clone()
            .map(|cell| i16::from(*cell != Cell::Nothing))
            .collect();
        match kind {
            ValueKind::Text => {
                let values: Vec<ByteArray> = column
                    .filter_map(|cell| match cell {
                        Cell::Text(text) => Some(ByteArray::from(text.as_ref())),
                        _ => None,
                    })
                    .collect();
                writer
                    .typed::<ByteArrayType>()
                    .write_batch(&values, Some(&levels), None)?;
            }
            ValueKind::Count => {
                let values: Vec<i64> = column
                    .filter_map(|cell| match cell {
                        // By its bits, as the format has unsigned numbers.
                        Cell::Count(count) => Some(*count as i64),
                        _ => None,
                    })
                    .collect();
                writer
                    .typed::<Int64Type>()
                    .write_batch(&values, Some(&levels), None)?;
            }
            ValueKind::Real => {
                let values: Vec<f64> = column
                    .filter_map(|cell| match cell {
                        Cell::Real(value) => Some(*value),
                        _ => None,
                    })
                    .collect();
                writer
                    .typed::<DoubleType>()
                    .write_batch(&values, Some(&levels), None)?;
            }
        }
        writer.close()?;
    }
    group.close()?;
    file.finish()?;
    file.inner_mut().flush()?;
    Ok(())
}

fn field(name: &str, kind: ValueKind) -> Result<Type, ParquetError> {
    let (physical, logical) = match kind {
        ValueKind::Text => (Physical::BYTE_ARRAY, Some(LogicalType::String)),
        ValueKind::Count => (Physical::INT64, Some(LogicalType::integer(64, false))),
        ValueKind::Real => (Physical::DOUBLE, None),
    };
    Type::primitive_type_builder(name, physical)
        .with_logical_type(logical)
        .with_repetition(Repetition::OPTIONAL)
        .build()
}
