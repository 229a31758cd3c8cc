//! A batch of values to a batch of rows.

use std::sync::Mutex;

use arrow_array::{Array, BinaryArray, RecordBatch, RecordBatchOptions};
use arrow_schema::{ArrowError, Field, Schema, SchemaRef};

pub use crate::notes::Policy as Unknown;
use crate::notes::{Notes, Policy};
use crate::object::Object;
use crate::problem::{Problem, excerpt};
use crate::scan::{Kind, Scan};

/// What a decoder is asked for, beside the schema.
#[derive(Clone, Copy, Debug)]
pub struct Options {
    pub unknown_fields: Unknown,
    pub max_bytes: u64,
}

/// Why one value is out.
#[derive(Debug)]
pub struct Verdict {
    pub row: usize,
    pub code: &'static str,
    /// JSON pointer of the field at fault.
    pub field: Option<String>,
    pub detail: String,
}

/// What became of a batch of values.
pub struct Batch {
    /// One row per value, in order; null where the value has a verdict.
    pub data: RecordBatch,
    pub verdicts: Vec<Verdict>,
    /// Fields that the schema does not name -> in how many good values each was seen (the first 100 names).
    pub unknown: Vec<(String, u64)>,
}

/// Decodes batches of values for one schema. It may be shared between threads.
pub struct Decoder {
    schema: SchemaRef,
    columns: SchemaRef,
    options: Options,
    /// Builders that the last batch left, with the memory for their names.
    spare: Mutex<Option<Work>>,
}

/// What is built while a batch is read.
struct Work {
    record: Object,
    notes: Notes,
}

impl Decoder {
    /// For these columns; NOT NULL is `nullable = false`, at every level.
    pub fn new(schema: Schema, options: Options) -> Result<Self, ArrowError> {
        let mut columns: Vec<Field> =
            schema.fields().iter().map(|field| field.as_ref().clone().with_nullable(true)).collect();
        if options.unknown_fields == Policy::Keep {
            columns.push(Field::new("_unknown", arrow_schema::DataType::Utf8, true));
        }
        let decoder =
            Self { schema: schema.into(), columns: Schema::new(columns).into(), options, spare: Mutex::default() };
        decoder.put_back(decoder.make()?);
        Ok(decoder)
    }

    fn make(&self) -> Result<Work, ArrowError> {
        let record = Object::new(self.schema.fields(), String::new())?;
        Ok(Work { record, notes: Notes::new(self.options.unknown_fields) })
    }

    fn take(&self) -> Result<Work, ArrowError> {
        let spare = self.spare.lock().ok().and_then(|mut spare| spare.take());
        spare.map_or_else(|| self.make(), Ok)
    }

    fn put_back(&self, work: Work) {
        if let Ok(mut spare) = self.spare.lock() {
            *spare = Some(work);
        }
    }

    /// Decode every value.
    pub fn decode(&self, values: &BinaryArray) -> Result<Batch, ArrowError> {
        let mut work = self.take()?;
        let mut verdicts = Vec::new();
        work.record.reserve(values.len());
        for row in 0..values.len() {
            let value = values.is_valid(row).then(|| values.value(row));
            match work.judge(value, self.options.max_bytes) {
                Ok(()) => work.notes.accept(row),
                Err(problem) => {
                    work.record.reject(row);
                    work.notes.forget(row);
                    let (code, field) = (problem.code, problem.field());
                    verdicts.push(Verdict { row, code, field, detail: problem.detail });
                }
            }
        }
        let batch = self.finish(&mut work, values.len(), verdicts)?;
        self.put_back(work);
        Ok(batch)
    }

    fn finish(&self, work: &mut Work, rows: usize, verdicts: Vec<Verdict>) -> Result<Batch, ArrowError> {
        let mut columns = work.record.finish_members()?;
        if self.options.unknown_fields == Policy::Keep {
            columns.push(work.notes.kept.finish_texts()?);
        }
        let options = RecordBatchOptions::new().with_row_count(Some(rows));
        let data = RecordBatch::try_new_with_options(self.columns.clone(), columns, &options)?;
        Ok(Batch { data, verdicts, unknown: work.notes.take_counts() })
    }
}

impl Work {
    fn judge(&mut self, value: Option<&[u8]>, max_bytes: u64) -> Result<(), Box<Problem>> {
        let Some(data) = value else {
            return Err(Problem::new("tombstone", "The record has no value.".into()));
        };
        if data.len() as u64 > max_bytes {
            let detail = format!("The value has {} bytes, max_bytes is {max_bytes}.", data.len());
            return Err(Problem::new("too_large", detail));
        }
        let scan = Scan { data };
        let start = scan.space(0);
        if scan.byte(start) != b'{' {
            return Err(no_object(scan, start));
        }
        let end = self.record.read_members(scan, start, 0, &mut self.notes)?;
        let end = scan.space(end);
        if end < data.len() {
            let found = excerpt(data, end, data.len());
            return Err(Problem::new("trailing_data", format!("After the object, at byte {end}: `{found}`.")));
        }
        Ok(())
    }
}

#[cold]
fn no_object(scan: Scan<'_>, at: usize) -> Box<Problem> {
    if at == scan.data.len() {
        let detail = if at == 0 { "The value holds no bytes." } else { "The value holds only spaces." };
        return Problem::new("empty", detail.into());
    }
    match scan.token(at).map(|token| token.kind) {
        Err(problem) => problem,
        Ok(kind) => {
            debug_assert_ne!(kind, Kind::Object);
            let found = excerpt(scan.data, at, scan.data.len());
            Problem::new("not_an_object", format!("The value is {}: `{found}`.", kind.words()))
        }
    }
}
