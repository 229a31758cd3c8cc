//! Any bytes as values, against a schema with every type: no panic, a row for each value, null where there is a verdict.

#![no_main]

use std::sync::{Arc, LazyLock};

use arrow_array::{Array, BinaryArray};
use arrow_schema::{DataType, Field, Fields, Schema, TimeUnit};
use libfuzzer_sys::fuzz_target;
use penstock_native::{Decoder, Options, Unknown};

fn schema() -> Schema {
    let field = |name: &str, kind: DataType| Field::new(name, kind, true);
    let list = |kind: DataType| DataType::List(Arc::new(field("element", kind)));
    let inner = DataType::Struct(Fields::from(vec![
        Field::new("a", DataType::Int32, false),
        field("b", DataType::Utf8),
        field("l", list(DataType::Int64)),
    ]));
    let entries = Fields::from(vec![Field::new("key", DataType::Utf8, false), field("value", inner.clone())]);
    let map = DataType::Map(Arc::new(Field::new("entries", DataType::Struct(entries), false)), false);
    Schema::new(vec![
        Field::new("i", DataType::Int64, false),
        field("t", DataType::Int8),
        field("h", DataType::Int16),
        field("s", DataType::Utf8),
        field("d", DataType::Decimal128(6, 2)),
        field("e", DataType::Decimal128(38, 38)),
        field("f", DataType::Float32),
        field("x", DataType::Float64),
        field("ts", DataType::Timestamp(TimeUnit::Microsecond, Some("UTC".into()))),
        field("dt", DataType::Date32),
        field("b", DataType::Binary),
        field("o", DataType::Boolean),
        field("st", inner.clone()),
        field("ls", list(inner)),
        field("m", map),
    ])
}

static DECODERS: LazyLock<Vec<Decoder>> = LazyLock::new(|| {
    let policies = [Unknown::Ignore, Unknown::Keep, Unknown::Reject];
    let decoder = |unknown_fields| Decoder::new(schema(), Options { unknown_fields, max_bytes: 1 << 20 });
    policies.into_iter().map(|policy| decoder(policy).expect("every type is known")).collect()
});

fuzz_target!(|data: &[u8]| {
    let Some((&first, rest)) = data.split_first() else { return };
    // Several values at once, so that one that is out lies between others.
    let mut values: Vec<Option<&[u8]>> = rest.split(|&byte| byte == 0xfe).map(Some).collect();
    values.push(None);
    values.push(Some(b"{\"i\":1,\"st\":{\"a\":1}}"));
    let array = BinaryArray::from(values);
    let batch = DECODERS[usize::from(first) % DECODERS.len()].decode(&array).expect("no batch is refused");
    assert_eq!(batch.data.num_rows(), array.len());
    for verdict in &batch.verdicts {
        assert!(batch.data.columns().iter().all(|column| column.is_null(verdict.row)));
    }
    assert!(batch.data.column(0).is_valid(array.len() - 1));
    assert_eq!(batch.data.column(0).null_count(), batch.verdicts.len());
});
