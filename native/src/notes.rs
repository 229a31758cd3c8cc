//! What a record holds beside the schema: names to be counted, and the text that is kept.

use std::collections::HashMap;

use crate::problem::push_escaped;
use crate::varied::Varied;

/// Names that are counted in one batch.
const MOST_NAMES: usize = 100;

/// What to do with fields that the schema does not name.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Policy {
    Ignore,
    Keep,
    Reject,
}

/// What is noted on the way through a record, and over a batch.
pub struct Notes {
    pub policy: Policy,
    /// The unknown top-level fields as JSON text, one value for each record.
    pub kept: Varied,
    /// Scratch for names and values that are not plain.
    pub scratch: Vec<u8>,
    /// The unknown names of the record at hand, one behind the other.
    names: Vec<u8>,
    ends: Vec<usize>,
    counts: HashMap<Box<[u8]>, usize>,
    seen: Vec<Count>,
}

struct Count {
    name: String,
    records: u64,
    /// The last record that had it: it counts once in each.
    row: usize,
}

impl Notes {
    pub fn new(policy: Policy) -> Self {
        let (names, ends, scratch) = (Vec::new(), Vec::new(), Vec::new());
        Self { policy, kept: Varied::default(), scratch, names, ends, counts: HashMap::new(), seen: Vec::new() }
    }

    /// Note an unknown field of the object at `place` (`device/`, `items/*/`; empty for the record itself).
    pub fn unknown(&mut self, place: &str, name: &str) {
        self.names.extend_from_slice(place.as_bytes());
        for &byte in name.as_bytes() {
            match byte {
                b'~' => self.names.extend_from_slice(b"~0"),
                b'/' => self.names.extend_from_slice(b"~1"),
                other => self.names.push(other),
            }
        }
        self.ends.push(self.names.len());
    }

    /// Keep an unknown field of the record itself: its name written anew, its value as it came.
    pub fn keep(&mut self, name: &str, raw: &[u8]) {
        let mut text = String::with_capacity(name.len() + 4);
        text.push(if self.kept.is_open() { ',' } else { '{' });
        text.push('"');
        name.chars().for_each(|c| push_escaped(&mut text, c));
        text.push_str("\":");
        self.kept.bytes.extend_from_slice(text.as_bytes());
        self.kept.bytes.extend_from_slice(raw);
    }

    /// The record is good.
    #[inline]
    pub fn accept(&mut self, row: usize) {
        if !self.ends.is_empty() {
            self.count(row);
        }
        if self.policy != Policy::Keep {
            return;
        }
        if self.kept.is_open() {
            self.kept.bytes.push(b'}');
            self.kept.close();
        } else {
            self.kept.push_null();
        }
    }

    /// The record is out: what it held does not count.
    pub fn forget(&mut self, row: usize) {
        self.names.clear();
        self.ends.clear();
        if self.policy == Policy::Keep {
            self.kept.truncate(row);
            self.kept.push_null();
        }
    }

    fn count(&mut self, row: usize) {
        let mut start = 0;
        for &end in &self.ends {
            let name = &self.names[start..end];
            start = end;
            if let Some(&place) = self.counts.get(name) {
                let count = &mut self.seen[place];
                count.records += u64::from(count.row != row);
                count.row = row;
            } else if self.seen.len() < MOST_NAMES {
                self.counts.insert(name.into(), self.seen.len());
                self.seen.push(Count { name: String::from_utf8_lossy(name).into_owned(), records: 1, row });
            }
        }
        self.names.clear();
        self.ends.clear();
    }

    /// Each unknown name with the number of good records that had it, by first sight; and begin anew.
    pub fn take_counts(&mut self) -> Vec<(String, u64)> {
        self.counts.clear();
        self.seen.drain(..).map(|count| (count.name, count.records)).collect()
    }
}
