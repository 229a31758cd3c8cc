//! The module that Python imports.

use arrow_array::{BinaryArray, RecordBatch};
use arrow_data::ArrayData;
use arrow_pyarrow::PyArrowType;
use arrow_schema::{ArrowError, DataType, Schema};
use pyo3::exceptions::{PyRuntimeError, PyTypeError, PyValueError};
use pyo3::prelude::*;

use crate::{Batch, Decoder, Options, Unknown};

/// Row, code, field and sentence of each verdict.
type Verdicts = (Vec<usize>, Vec<&'static str>, Vec<Option<String>>, Vec<String>);
type Decoded = (PyArrowType<RecordBatch>, Verdicts, Vec<(String, u64)>);

/// JSON values to columns, for one schema.
#[pyclass(frozen, name = "JsonDecoder")]
struct JsonDecoder {
    decoder: Decoder,
}

#[pymethods]
impl JsonDecoder {
    #[new]
    #[pyo3(signature = (columns, *, unknown_fields, max_bytes))]
    fn new(columns: PyArrowType<Schema>, unknown_fields: &str, max_bytes: u64) -> PyResult<Self> {
        let unknown_fields = match unknown_fields {
            "ignore" => Unknown::Ignore,
            "keep" => Unknown::Keep,
            "reject" => Unknown::Reject,
            other => return Err(PyValueError::new_err(format!("unknown_fields: ignore, keep or reject, not {other}"))),
        };
        let options = Options { unknown_fields, max_bytes };
        let decoder = Decoder::new(columns.0, options).map_err(|error| PyTypeError::new_err(error.to_string()))?;
        Ok(Self { decoder })
    }

    /// The rows of these values, the verdicts as columns, and the unknown names with their counts.
    fn decode(&self, py: Python<'_>, values: PyArrowType<ArrayData>) -> PyResult<Decoded> {
        if values.0.data_type() != &DataType::Binary {
            return Err(PyTypeError::new_err(format!("values must be binary, not {}", values.0.data_type())));
        }
        let values = BinaryArray::from(values.0);
        let batch = py.detach(|| self.decoder.decode(&values));
        batch.map(handed_over).map_err(|error: ArrowError| PyRuntimeError::new_err(error.to_string()))
    }
}

fn handed_over(batch: Batch) -> Decoded {
    let mut verdicts: Verdicts = Default::default();
    for verdict in batch.verdicts {
        verdicts.0.push(verdict.row);
        verdicts.1.push(verdict.code);
        verdicts.2.push(verdict.field);
        verdicts.3.push(verdict.detail);
    }
    (PyArrowType(batch.data), verdicts, batch.unknown)
}

#[pymodule]
fn penstock_native(module: &Bound<'_, PyModule>) -> PyResult<()> {
    module.add("__version__", env!("CARGO_PKG_VERSION"))?;
    module.add_class::<JsonDecoder>()
}
