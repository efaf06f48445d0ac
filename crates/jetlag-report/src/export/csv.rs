//! Comma-separated values: one file for each of [`TABLES`], by RFC 4180 and in UTF-8. A value that was not measured
//! is empty.

use std::io::{self, Write};

use ::csv::{Terminator, Writer, WriterBuilder};

use super::Export;
use super::tables::{Cell, Rows, TABLES, of_summary};
use crate::analysis::Summary;
use crate::record::shown::cell;
use crate::record::{Event, Manifest};

/// The tables while they are written.
pub struct CsvExport<W: Write> {
    tables: [Writer<W>; TABLES.len()],
    rows: Rows,
}

impl<W: Write> CsvExport<W> {
    /// Writes the headings; the files are in the order of [`TABLES`].
    pub fn new(manifest: &Manifest, files: [W; TABLES.len()]) -> io::Result<Self> {
        let mut writers = files.map(|out| WriterBuilder::new().terminator(Terminator::CRLF).from_writer(out));
        for (writer, table) in writers.iter_mut().zip(TABLES) {
            writer.write_record(table.columns.iter().map(|column| column.name))?;
        }
        Ok(CsvExport {
            tables: writers,
            rows: Rows::new(manifest),
        })
    }
}

impl<W: Write> Export for CsvExport<W> {
    fn event(&mut self, event: &Event) -> io::Result<()> {
        let tables = &mut self.tables;
        self.rows
            .of(event, |table, row| write_row(&mut tables[table], row))
    }

    fn summary(&mut self, summary: &Summary) -> io::Result<()> {
        let mut rows = of_summary(summary).into_iter();
        rows.try_for_each(|(table, row)| write_row(&mut self.tables[table], row))
    }

    fn finish(&mut self) -> io::Result<usize> {
        self.tables.iter_mut().try_for_each(Writer::flush)?;
        Ok(TABLES.len())
    }
}

fn write_row<W: Write>(writer: &mut Writer<W>, row: Vec<Cell<'_>>) -> io::Result<()> {
    for value in row {
        match value {
            Cell::Missing => writer.write_field("")?,
            Cell::Text(text) => writer.write_field(cell(&text).as_bytes())?,
            Cell::Int(value) => writer.write_field(value.to_string())?,
            Cell::Count(value) => writer.write_field(value.to_string())?,
            Cell::Real(value) => writer.write_field(value.to_string())?,
            Cell::Flag(value) => writer.write_field(if value { "true" } else { "false" })?,
        }
    }
    writer.write_record(None::<&[u8]>)?;
    Ok(())
}
