//! ARRAY and MAP.

use std::sync::Arc;

use arrow_array::{ArrayRef, ListArray, MapArray, StructArray};
use arrow_buffer::{NullBufferBuilder, OffsetBuffer, ScalarBuffer};
use arrow_schema::{ArrowError, DataType, FieldRef};

use crate::column::Column;
use crate::names::Seen;
use crate::notes::Notes;
use crate::problem::{At, Problem};
use crate::scan::Scan;
use crate::text;
use crate::varied::{Varied, offset};

/// Where each list ends among the elements, and which are null.
struct Ends {
    ends: Vec<i32>,
    nulls: NullBufferBuilder,
}

impl Ends {
    fn new() -> Self {
        Self { ends: vec![0], nulls: NullBufferBuilder::new(0) }
    }

    fn last(&self) -> usize {
        self.ends.last().map_or(0, |&end| end as usize)
    }

    fn close(&mut self, count: usize) {
        self.ends.push(offset(self.last() + count));
        self.nulls.append_non_null();
    }

    fn push_null(&mut self) {
        self.ends.push(offset(self.last()));
        self.nulls.append_null();
    }

    fn truncate(&mut self, len: usize) {
        self.ends.truncate(len + 1);
        self.nulls.truncate(len);
    }

    fn finish(&mut self) -> (OffsetBuffer<i32>, Option<arrow_buffer::NullBuffer>) {
        let ends = std::mem::replace(&mut self.ends, vec![0]);
        (OffsetBuffer::new(ScalarBuffer::from(ends)), self.nulls.finish())
    }
}

/// A column of arrays.
pub struct List {
    ends: Ends,
    element: Column,
    field: FieldRef,
}

impl List {
    pub fn new(field: FieldRef, element: Column) -> Self {
        Self { ends: Ends::new(), element, field }
    }

    /// Read the array whose bracket stands here.
    pub fn read(&mut self, scan: Scan<'_>, at: usize, level: usize, notes: &mut Notes) -> At {
        let mut count = 0;
        let mut at = scan.space(at + 1);
        let mut another = scan.byte(at) != b']';
        at += usize::from(!another);
        while another {
            let end = self.element.read(scan, at, level + 1, notes);
            at = end.map_err(|problem| problem.within(&count.to_string()))?;
            count += 1;
            (another, at) = scan.more(at, b']')?;
        }
        self.ends.close(count);
        Ok(at)
    }

    pub fn push_null(&mut self) {
        self.ends.push_null();
    }

    pub fn push_filler(&mut self) {
        self.ends.close(0);
    }

    pub fn truncate(&mut self, len: usize) {
        self.ends.truncate(len);
        self.element.truncate(self.ends.last());
    }

    pub fn finish(&mut self) -> Result<ArrayRef, ArrowError> {
        let (ends, nulls) = self.ends.finish();
        let elements = self.element.finish(self.field.data_type())?;
        Ok(Arc::new(ListArray::try_new(self.field.clone(), ends, elements, nulls)?))
    }
}

/// A column of objects with any names.
pub struct Map {
    ends: Ends,
    keys: Varied,
    value: Column,
    entries: FieldRef,
    sorted: bool,
    seen: Seen,
}

impl Map {
    pub fn new(entries: FieldRef, sorted: bool, value: Column) -> Self {
        Self { ends: Ends::new(), keys: Varied::default(), value, entries, sorted, seen: Seen::default() }
    }

    /// Read the object whose brace stands here.
    pub fn read(&mut self, scan: Scan<'_>, at: usize, level: usize, notes: &mut Notes) -> At {
        self.seen.clear();
        let mut count = 0;
        let mut at = scan.space(at + 1);
        let mut another = scan.byte(at) != b'}';
        at += usize::from(!another);
        while another {
            at = self.read_entry(scan, at, level, notes)?;
            count += 1;
            (another, at) = scan.more(at, b'}')?;
        }
        self.ends.close(count);
        Ok(at)
    }

    fn read_entry(&mut self, scan: Scan<'_>, at: usize, level: usize, notes: &mut Notes) -> At {
        if scan.byte(at) != b'"' {
            return Err(scan.unexpected(at, "a field name in double quotes"));
        }
        let at = text::append(scan, at, &mut self.keys.bytes)?;
        self.keys.close();
        let name = self.keys.value(self.keys.len() - 1);
        let end = if self.seen.insert(name) {
            scan.colon(at).and_then(|at| self.value.read(scan, at, level + 1, notes))
        } else {
            Err(Problem::new("duplicate_key", format!("The key stands twice; again before byte {at}.")))
        };
        end.map_err(|problem| problem.within(&String::from_utf8_lossy(self.keys.value(self.keys.len() - 1))))
    }

    pub fn push_null(&mut self) {
        self.ends.push_null();
    }

    pub fn push_filler(&mut self) {
        self.ends.close(0);
    }

    pub fn truncate(&mut self, len: usize) {
        self.ends.truncate(len);
        self.keys.truncate(self.ends.last());
        self.value.truncate(self.ends.last());
    }

    pub fn finish(&mut self) -> Result<ArrayRef, ArrowError> {
        let DataType::Struct(fields) = self.entries.data_type() else {
            return Err(ArrowError::SchemaError("the entries of a map are a struct".into()));
        };
        let columns = vec![self.keys.finish_texts()?, self.value.finish(fields[1].data_type())?];
        let entries = StructArray::try_new(fields.clone(), columns, None)?;
        let (ends, nulls) = self.ends.finish();
        Ok(Arc::new(MapArray::try_new(self.entries.clone(), ends, entries, nulls, self.sorted)?))
    }
}
