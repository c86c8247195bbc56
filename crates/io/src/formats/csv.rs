//! Text with commas or tabs between cells.
//!
//! The first line names the columns. Names and numbers may have spaces around them; strings keep
//! theirs. A vector consists of several columns named by component, `p.x,p.y,p.z`. Columns are
//! always written this way; on reading, they may also be `p_x,p_y,p_z` in any order if a vector is
//! requested. Numbers are decimal, `nan`, `inf` or `-inf`; booleans are `true` and `false`. An
//! empty cell is the empty string in a column of strings, NaN in a column of floats (or of numbers
//! or booleans whose type is not requested), and an error in any other. A column in which some
//! number has leading zeros, `0012`, holds strings unless a type is requested. Lists cannot be
//! written.

use std::io::{self, Write};

use ::csv::WriterBuilder;
use millstream_base::Column;
use millstream_base::types::Kind;

use crate::fields::components;
use crate::format::{Definition, Encoder, OPAQUE, Reader, Refusal, Writer};
use crate::scalar::print_lane;
use crate::table::ColumnSpec;

mod blocks;
mod rows;

pub(crate) const CSV: Definition = Definition {
    name: "csv",
    aliases: &[],
    streams: &[],
    form: "the first line holds the names of the columns, and each other line one cell per name, \
           with commas between them",
    reader: Reader::Blocks(|source, wanted, meter| blocks::open(&COMMAS, source, wanted, meter)),
    writer: Writer::Stream(|_, columns, out| start(&COMMAS, columns, out)),
};

pub(crate) const TSV: Definition = Definition {
    name: "tsv",
    aliases: &["tab"],
    streams: &[],
    form: "the first line holds the names of the columns, and each other line one cell per name, \
           with tabs between them",
    reader: Reader::Blocks(|source, wanted, meter| blocks::open(&TABS, source, wanted, meter)),
    writer: Writer::Stream(|_, columns, out| start(&TABS, columns, out)),
};

/// The difference between the formats.
struct Dialect {
    separator: u8,
    separators: &'static str,
    format: &'static Definition,
}

const COMMAS: Dialect = Dialect { separator: b',', separators: "commas", format: &CSV };
const TABS: Dialect = Dialect { separator: b'\t', separators: "tabs", format: &TSV };

const LISTS: &str = "write lists to jsonl, parquet or arrow";

/// Writes rows of text.
struct TextEncoder(u8);

fn writer(separator: u8, out: &mut dyn Write) -> ::csv::Writer<&mut dyn Write> {
    WriterBuilder::new().delimiter(separator).from_writer(out)
}

fn start(
    dialect: &Dialect,
    columns: &[ColumnSpec],
    out: &mut dyn Write,
) -> Result<Box<dyn Encoder>, Refusal> {
    let mut header = Vec::new();
    for column in columns {
        match column.ty.kind() {
            Kind::Lanes(_, 1) | Kind::String => header.push(column.name.clone()),
            Kind::Lanes(..) => header
                .extend(components(column.ty).iter().map(|part| format!("{}.{part}", column.name))),
            Kind::List(_) => return Err(Refusal::column(column, LISTS)),
            Kind::Opaque => return Err(Refusal::column(column, OPAQUE)),
        }
    }
    let mut writer = writer(dialect.separator, out);
    writer.write_record(&header).map_err(io::Error::from)?;
    writer.flush()?;
    Ok(Box::new(TextEncoder(dialect.separator)))
}

impl Encoder for TextEncoder {
    fn rows_without(
        &mut self,
        block: &[Column],
        is_absent: &[bool],
        out: &mut dyn Write,
    ) -> Result<(), Refusal> {
        write_rows(block, is_absent, writer(self.0, out)).map_err(Refusal::Io)
    }
}

fn write_rows(
    block: &[Column],
    is_absent: &[bool],
    mut writer: ::csv::Writer<&mut dyn Write>,
) -> io::Result<()> {
    let mut text = String::new();
    for row in 0..block.first().map_or(0, Column::len) {
        for (i, column) in block.iter().enumerate() {
            if is_absent.get(i) == Some(&true) {
                let n = column.ty().lanes().map_or(1, |(_, n)| n);
                (0..n).try_for_each(|_| writer.write_field(""))?;
                continue;
            }
            if let Some(texts) = column.as_slice::<std::sync::Arc<str>>() {
                writer.write_field(texts[row].as_bytes())?;
                continue;
            }
            let value = column.get(row);
            let (lane, n) = column.ty().lanes().expect("other types were refused at the start");
            for i in 0..usize::from(n) {
                text.clear();
                print_lane(value.lane(i).expect("the value has its lanes"), lane, &mut text);
                writer.write_field(&text)?;
            }
        }
        writer.write_record(None::<&[u8]>)?;
    }
    writer.flush()
}

#[cfg(test)]
mod tests;
