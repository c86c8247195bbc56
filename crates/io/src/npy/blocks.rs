//! `NumPy` arrays in C order, a range of rows at a time.

use std::fs::File;
use std::io::{Read, Seek, SeekFrom};

use millstream_base::Type;

use super::{Array, fields_of, header, header::Header};
use crate::blocks::Blocks;
use crate::builder::Budget;
use crate::encoder::ColumnSpec;
use crate::error::{IoError, Spot};
use crate::options::Wanted;
use crate::table::Table;

/// The rows of an array.
pub(crate) struct NpyBlocks {
    file: String,
    source: File,
    header: Header,
    columns: Vec<(String, Type)>,
    row: usize,
    budget: Budget,
}

impl NpyBlocks {
    /// Opens an array; `None` if its rows do not lie one behind the other.
    pub(crate) fn open(
        file: &str,
        mut source: File,
        wanted: Wanted<'_>,
        budget: &Budget,
    ) -> Result<Option<Self>, IoError> {
        let failed = |source| IoError::Read { file: file.to_owned(), source };
        let mut start = Vec::new();
        (&mut source)
            .take(header::MAX_HEADER as u64 + 12)
            .read_to_end(&mut start)
            .map_err(failed)?;
        let Ok((header, data)) = header::read(file, &start) else { return Ok(None) };
        let n_header = (start.len() - data.len()) as u64;
        if !header.has_rows_in_order() || header.n_axes() == 0 {
            return Ok(None);
        }
        let length = source.seek(SeekFrom::End(0)).map_err(failed)?.saturating_sub(n_header);
        source.seek(SeekFrom::Start(n_header)).map_err(failed)?;
        let whole = Array { file, header: &header, data: &[], first_row: 0 };
        whole.check_shape(usize::try_from(length).unwrap_or(usize::MAX), budget)?;
        let mut columns = Vec::new();
        for target in fields_of(file, wanted)? {
            let (ty, _) = whole.type_of(target.ty)?;
            columns.push((target.name, ty));
        }
        Ok(Some(Self {
            file: file.to_owned(),
            source,
            header,
            columns,
            row: 0,
            budget: budget.clone(),
        }))
    }
}

impl Blocks for NpyBlocks {
    fn columns(&self) -> Vec<ColumnSpec> {
        self.columns.iter().map(|(name, ty)| ColumnSpec::new(name, *ty)).collect()
    }

    fn n_rows(&self) -> Option<u64> {
        Some(self.header.n_rows() as u64)
    }

    fn next(&mut self, n_rows: usize) -> Result<Option<Table>, IoError> {
        let n = n_rows.min(self.header.n_rows() - self.row);
        if n == 0 {
            return Ok(None);
        }
        let header = self.header.with_rows(n);
        let n_bytes = n.saturating_mul(header.per_row()).saturating_mul(header.element.size());
        self.budget.check_bytes(n_bytes, || Spot::file(&self.file))?;
        let mut data = vec![0; n_bytes];
        let read = self.source.read_exact(&mut data);
        read.map_err(|source| IoError::Read { file: self.file.clone(), source })?;
        let first_row = self.row as u64;
        let array = Array { file: &self.file, header: &header, data: &data, first_row };
        let mut table = Table::new(&self.file);
        for (name, ty) in &self.columns {
            table.insert(name, array.column(Some(*ty), &self.budget)?)?;
        }
        self.row += n;
        Ok(Some(table))
    }
}
