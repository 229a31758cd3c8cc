//! Columns of values of varied length: texts and bytes. And base64.

use std::sync::Arc;

use arrow_array::{Array, ArrayRef, BinaryArray, StringArray};
use arrow_buffer::{Buffer, NullBufferBuilder, OffsetBuffer, ScalarBuffer};
use arrow_schema::ArrowError;

use crate::problem::Unfit;

/// Where something ends in a batch. The values of one are below 2 GiB together, and nothing here grows on the way.
pub fn offset(len: usize) -> i32 {
    i32::try_from(len).expect("the values of a batch are below 2 GiB")
}

/// A column of texts or bytes. A value is written to `bytes`, then closed.
pub struct Varied {
    pub bytes: Vec<u8>,
    ends: Vec<i32>,
    nulls: NullBufferBuilder,
}

impl Default for Varied {
    fn default() -> Self {
        Self { bytes: Vec::new(), ends: vec![0], nulls: NullBufferBuilder::new(0) }
    }
}

impl Varied {
    pub fn reserve(&mut self, rows: usize, bytes: usize) {
        self.ends.reserve(rows);
        self.bytes.reserve(bytes);
    }

    #[inline(always)]
    pub fn close(&mut self) {
        self.ends.push(offset(self.bytes.len()));
        self.nulls.append_non_null();
    }

    pub fn push_null(&mut self) {
        self.ends.push(offset(self.bytes.len()));
        self.nulls.append_null();
    }

    /// The bytes of the value with this number.
    pub fn value(&self, index: usize) -> &[u8] {
        &self.bytes[self.ends[index] as usize..self.ends[index + 1] as usize]
    }

    pub fn len(&self) -> usize {
        self.ends.len() - 1
    }

    /// What is written and not closed.
    pub fn is_open(&self) -> bool {
        self.bytes.len() > self.ends.last().map_or(0, |&end| end as usize)
    }

    /// Keep so many values; what was written and not closed goes too.
    pub fn truncate(&mut self, len: usize) {
        self.ends.truncate(len + 1);
        self.nulls.truncate(len);
        self.bytes.truncate(self.ends.last().map_or(0, |&end| end as usize));
    }

    fn parts(&mut self) -> (OffsetBuffer<i32>, Buffer, Option<arrow_buffer::NullBuffer>) {
        let ends = std::mem::replace(&mut self.ends, vec![0]);
        let bytes = std::mem::take(&mut self.bytes);
        (OffsetBuffer::new(ScalarBuffer::from(ends)), Buffer::from_vec(bytes), self.nulls.finish())
    }

    pub fn finish_texts(&mut self) -> Result<ArrayRef, ArrowError> {
        let (ends, bytes, nulls) = self.parts();
        Ok(Arc::new(StringArray::try_new(ends, bytes, nulls)?))
    }

    pub fn finish_bytes(&mut self) -> Result<ArrayRef, ArrowError> {
        let (ends, bytes, nulls) = self.parts();
        let array = BinaryArray::try_new(ends, bytes, nulls)?;
        debug_assert_eq!(array.offset(), 0);
        Ok(Arc::new(array))
    }
}

const NO_DIGIT: u8 = 64;
const DIGITS: [u8; 256] = {
    let alphabet = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    let mut digits = [NO_DIGIT; 256];
    let mut place = 0;
    while place < 64 {
        digits[alphabet[place] as usize] = place as u8;
        place += 1;
    }
    digits
};

/// Append the bytes that a base64 text stands for. As Python does, it does not look at bits beyond the last byte.
pub fn append_base64(text: &[u8], out: &mut Vec<u8>) -> Result<(), Unfit> {
    let unfit = || Unfit::new("wrong_type", "is not base64");
    let digits = match text {
        [rest @ .., b'=', b'='] => rest,
        [rest @ .., b'='] => rest,
        all => all,
    };
    if !text.len().is_multiple_of(4) || digits.len() % 4 == 1 {
        return Err(unfit());
    }
    for quad in digits.chunks(4) {
        let mut bits = 0_u32;
        for place in 0..4 {
            let digit = quad.get(place).map_or(0, |&byte| DIGITS[byte as usize]);
            if digit == NO_DIGIT {
                return Err(unfit());
            }
            bits = bits << 6 | u32::from(digit);
        }
        out.extend_from_slice(&bits.to_be_bytes()[1..quad.len()]);
    }
    Ok(())
}
