//! The strict JSON decoder of penstock: value bytes to Arrow columns in one pass, or a verdict for each bad value.
//!
//! The scanner in Python (`src/penstock/formats/json/scan.py` and its neighbours) is the specification: same verdict,
//! code, field, sentence and value on every input. `docs/design/native.md` says how that is held.
//!
//! Where to begin: `decoder.rs` (a batch), `object.rs` (a record), `value.rs` (a value by its type), `scan.rs` (grammar).

#![forbid(unsafe_code)]

mod column;
mod container;
mod decimal;
mod decoder;
mod fixed;
mod names;
mod notes;
mod number;
mod object;
mod problem;
mod scan;
mod text;
mod times;
mod value;
mod varied;

pub use decoder::{Batch, Decoder, Options, Unknown, Verdict};

#[cfg(feature = "python")]
mod python;
