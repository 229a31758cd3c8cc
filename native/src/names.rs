//! Names of members: which declared field one is, and whether it stood there before.

use std::collections::{HashMap, HashSet};
use std::hash::{BuildHasherDefault, Hasher};

/// The declared names of an object.
#[derive(Default)]
pub struct Declared {
    places: HashMap<Box<[u8]>, usize, BuildHasherDefault<Quick>>,
}

impl Declared {
    pub fn new<'a>(names: impl Iterator<Item = &'a str>) -> Self {
        Self { places: names.enumerate().map(|(place, name)| (name.as_bytes().into(), place)).collect() }
    }

    #[inline]
    pub fn find(&self, name: &[u8]) -> Option<usize> {
        self.places.get(name).copied()
    }
}

/// FNV-1a over at most the last 16 bytes: only declared names are stored, so nobody can make them collide.
#[derive(Default)]
pub struct Quick(u64);

impl Hasher for Quick {
    fn write(&mut self, bytes: &[u8]) {
        let tail = &bytes[bytes.len().saturating_sub(16)..];
        self.0 = tail
            .iter()
            .fold(self.0 ^ 0xcbf2_9ce4_8422_2325, |hash, &byte| (hash ^ u64::from(byte)).wrapping_mul(0x100_0000_01b3));
    }

    fn write_usize(&mut self, _: usize) {
        // The length, which comes before the bytes of a slice; names of different length seldom end alike.
    }

    fn finish(&self) -> u64 {
        self.0
    }
}

const FEW: usize = 16;

/// Names seen in one object: a few are compared one by one, many by a hash that nobody can foresee.
#[derive(Default)]
pub struct Seen {
    bytes: Vec<u8>,
    ends: Vec<usize>,
    many: HashSet<Box<[u8]>>,
}

impl Seen {
    #[inline(always)]
    pub fn clear(&mut self) {
        if !self.ends.is_empty() {
            self.bytes.clear();
            self.ends.clear();
            self.many.clear();
        }
    }

    /// Whether the name is new.
    pub fn insert(&mut self, name: &[u8]) -> bool {
        let is_new = if self.ends.len() < FEW { !self.holds(name) } else { self.insert_many(name) };
        if is_new && self.ends.len() < FEW {
            self.bytes.extend_from_slice(name);
        }
        self.ends.push(self.bytes.len());
        is_new
    }

    fn holds(&self, name: &[u8]) -> bool {
        let starts = std::iter::once(&0).chain(&self.ends);
        starts.zip(&self.ends).any(|(&start, &end)| self.bytes[start..end] == *name)
    }

    fn insert_many(&mut self, name: &[u8]) -> bool {
        if self.many.is_empty() {
            let starts = std::iter::once(&0).chain(&self.ends);
            self.many.extend(starts.zip(&self.ends).map(|(&start, &end)| self.bytes[start..end].into()));
        }
        self.many.insert(name.into())
    }
}
