//! Columns of values that all have the same width: numbers, days, instants, truth values.

use std::sync::Arc;

use arrow_array::{ArrayRef, ArrowPrimitiveType, BooleanArray, PrimitiveArray};
use arrow_buffer::{BooleanBufferBuilder, NullBufferBuilder, ScalarBuffer};
use arrow_schema::DataType;

/// A column of numbers.
pub struct Fixed<T: ArrowPrimitiveType> {
    values: Vec<T::Native>,
    nulls: NullBufferBuilder,
}

impl<T: ArrowPrimitiveType> Default for Fixed<T> {
    fn default() -> Self {
        Self { values: Vec::new(), nulls: NullBufferBuilder::new(0) }
    }
}

impl<T: ArrowPrimitiveType> Fixed<T> {
    pub fn reserve(&mut self, rows: usize) {
        self.values.reserve(rows);
    }

    #[inline(always)]
    pub fn push(&mut self, value: T::Native) {
        self.values.push(value);
        self.nulls.append_non_null();
    }

    pub fn push_null(&mut self) {
        self.values.push(T::default_value());
        self.nulls.append_null();
    }

    pub fn push_filler(&mut self) {
        self.push(T::default_value());
    }

    pub fn truncate(&mut self, len: usize) {
        self.values.truncate(len);
        self.nulls.truncate(len);
    }

    pub fn finish(&mut self, kind: &DataType) -> ArrayRef {
        let values = ScalarBuffer::from(std::mem::take(&mut self.values));
        Arc::new(PrimitiveArray::<T>::new(values, self.nulls.finish()).with_data_type(kind.clone()))
    }
}

/// A column of truth values.
pub struct Flags {
    values: BooleanBufferBuilder,
    nulls: NullBufferBuilder,
}

impl Default for Flags {
    fn default() -> Self {
        Self { values: BooleanBufferBuilder::new(0), nulls: NullBufferBuilder::new(0) }
    }
}

impl Flags {
    #[inline(always)]
    pub fn push(&mut self, value: bool) {
        self.values.append(value);
        self.nulls.append_non_null();
    }

    pub fn push_null(&mut self) {
        self.values.append(false);
        self.nulls.append_null();
    }

    pub fn truncate(&mut self, len: usize) {
        if self.values.len() > len {
            self.values.truncate(len);
            self.nulls.truncate(len);
        }
    }

    pub fn finish(&mut self) -> ArrayRef {
        Arc::new(BooleanArray::new(self.values.finish(), self.nulls.finish()))
    }
}
