//! An object with declared fields: the record itself, or a STRUCT.

use std::sync::Arc;

use arrow_array::{ArrayRef, StructArray};
use arrow_buffer::NullBufferBuilder;
use arrow_schema::{ArrowError, Fields};

use crate::column::Column;
use crate::names::{Declared, Seen};
use crate::notes::{Notes, Policy};
use crate::problem::{At, Problem, push_escaped};
use crate::scan::Scan;
use crate::text;

/// One declared field.
struct Member {
    /// `"name":`, as it stands in most records.
    key: Box<[u8]>,
    name: Box<str>,
    nullable: bool,
    /// The last object that had it.
    stamp: u64,
    column: Column,
}

/// A column of objects.
pub struct Object {
    members: Vec<Member>,
    declared: Declared,
    fields: Fields,
    /// How unknown fields in here are counted: empty for the record, else `device/`, `items/*/`.
    place: String,
    /// The number of the object at hand.
    stamp: u64,
    others: Seen,
    nulls: NullBufferBuilder,
}

/// A name that was read, and where the value is.
enum Found {
    Declared(usize, usize),
    /// The value was skipped; the position behind it.
    Other(usize),
}

impl Object {
    pub fn new(fields: &Fields, place: String) -> Result<Self, ArrowError> {
        let member = |name: &str, nullable, column| {
            let mut key = String::from('"');
            name.chars().for_each(|c| push_escaped(&mut key, c));
            key.push_str("\":");
            Member { key: key.into_bytes().into(), name: name.into(), nullable, stamp: 0, column }
        };
        let inside = |name: &str| format!("{place}{}/", name.replace('~', "~0").replace('/', "~1"));
        let members = fields
            .iter()
            .map(|field| {
                Ok(member(field.name(), field.is_nullable(), Column::new(field.data_type(), inside(field.name()))?))
            })
            .collect::<Result<Vec<_>, ArrowError>>()?;
        let declared = Declared::new(fields.iter().map(|field| field.name().as_str()));
        let (others, nulls) = (Seen::default(), NullBufferBuilder::new(0));
        Ok(Self { members, declared, fields: fields.clone(), place, stamp: 0, others, nulls })
    }

    /// Read the object whose brace stands here, as the next value of the column.
    pub fn read(&mut self, scan: Scan<'_>, at: usize, level: usize, notes: &mut Notes) -> At {
        let end = self.read_members(scan, at, level, notes)?;
        self.nulls.append_non_null();
        Ok(end)
    }

    /// Read the fields of the object whose brace stands here.
    #[inline]
    pub fn read_members(&mut self, scan: Scan<'_>, at: usize, level: usize, notes: &mut Notes) -> At {
        self.stamp += 1;
        self.others.clear();
        let (mut count, mut expected) = (0, 0);
        let mut at = scan.space(at + 1);
        let mut another = scan.byte(at) != b'}';
        at += usize::from(!another);
        while another {
            match self.find(scan, at, expected, level, notes)? {
                Found::Other(end) => at = end,
                Found::Declared(place, start) => {
                    at = self.read_value(place, scan, start, level, notes)?;
                    count += 1;
                    expected = place + 1;
                }
            }
            (another, at) = scan.more(at, b'}')?;
        }
        if count < self.members.len() {
            self.fill(at)?;
        }
        Ok(at)
    }

    #[inline(always)]
    fn find(
        &mut self,
        scan: Scan<'_>,
        at: usize,
        expected: usize,
        level: usize,
        notes: &mut Notes,
    ) -> Result<Found, Box<Problem>> {
        if let Some(member) = self.members.get(expected)
            && member.stamp != self.stamp
            && scan.starts_with(at, &member.key)
        {
            return Ok(Found::Declared(expected, scan.space(at + member.key.len())));
        }
        self.find_by_name(scan, at, level, notes)
    }

    #[inline(never)]
    fn find_by_name(
        &mut self,
        scan: Scan<'_>,
        at: usize,
        level: usize,
        notes: &mut Notes,
    ) -> Result<Found, Box<Problem>> {
        if let Some(name) = text::plain(scan, at) {
            let end = at + name.len() + 2;
            // The sentence about a second key tells the place of its value, where a value may follow.
            let value = scan.colon(end).ok();
            return self.found(scan, name, end, value, level, notes);
        }
        if scan.byte(at) != b'"' {
            return Err(scan.unexpected(at, "a field name in double quotes"));
        }
        let mut name = std::mem::take(&mut notes.scratch);
        name.clear();
        let end = text::append(scan, at, &mut name)?;
        let found = self.found(scan, &name, end, None, level, notes);
        notes.scratch = name;
        found
    }

    fn found(
        &mut self,
        scan: Scan<'_>,
        name: &[u8],
        end: usize,
        value: Option<usize>,
        level: usize,
        notes: &mut Notes,
    ) -> Result<Found, Box<Problem>> {
        let place = self.declared.find(name);
        let text = || String::from_utf8_lossy(name);
        let is_new = match place {
            Some(place) => self.members[place].stamp != self.stamp,
            None => self.others.insert(name),
        };
        if !is_new {
            let detail = format!("The key stands twice; again before byte {}.", value.unwrap_or(end));
            return Err(Problem::new("duplicate_key", detail).within(&text()));
        }
        if place.is_none() && notes.policy == Policy::Reject {
            return Err(Problem::new("unknown_field", "The schema does not name this field.".into()).within(&text()));
        }
        let start = match value {
            Some(start) => start,
            None => scan.colon(end).map_err(|problem| problem.within(&text()))?,
        };
        match place {
            Some(place) => Ok(Found::Declared(place, start)),
            None => self.ignore(scan, &text(), start, level, notes).map(Found::Other),
        }
    }

    fn ignore(&self, scan: Scan<'_>, name: &str, start: usize, level: usize, notes: &mut Notes) -> At {
        let end = scan.skip(start, level + 1).map_err(|problem| problem.within(name))?;
        notes.unknown(&self.place, name);
        if self.place.is_empty() && notes.policy == Policy::Keep {
            notes.keep(name, &scan.data[start..end]);
        }
        Ok(end)
    }

    #[inline(always)]
    fn read_value(&mut self, place: usize, scan: Scan<'_>, start: usize, level: usize, notes: &mut Notes) -> At {
        let member = &mut self.members[place];
        member.stamp = self.stamp;
        match member.column.read(scan, start, level + 1, notes) {
            // Only `null` begins with an n.
            Ok(_) if !member.nullable && scan.byte(start) == b'n' => {
                let detail = format!("The field is NOT NULL; null at byte {start}.");
                Err(Problem::new("missing_field", detail).within(&member.name))
            }
            Ok(end) => Ok(end),
            Err(problem) => Err(problem.within(&member.name)),
        }
    }

    /// Null for what was absent; the object ends before `at`.
    fn fill(&mut self, at: usize) -> Result<(), Box<Problem>> {
        for member in &mut self.members {
            if member.stamp == self.stamp {
                continue;
            }
            if !member.nullable {
                let detail = format!("The field is NOT NULL and absent; its object ends at byte {at}.");
                return Err(Problem::new("missing_field", detail).within(&member.name));
            }
            member.column.push_null();
        }
        Ok(())
    }

    /// Make sure that every member has exactly so many values: a record that is out is null in every column.
    pub fn reject(&mut self, row: usize) {
        for member in &mut self.members {
            member.column.truncate(row);
            member.column.push_null();
        }
    }

    pub fn push_null(&mut self) {
        self.nulls.append_null();
        self.push_inside();
    }

    /// A value that is there where NOT NULL wants one, inside something that is null.
    pub fn push_filler(&mut self) {
        self.nulls.append_non_null();
        self.push_inside();
    }

    fn push_inside(&mut self) {
        for member in &mut self.members {
            if member.nullable { member.column.push_null() } else { member.column.push_filler() }
        }
    }

    pub fn truncate(&mut self, len: usize) {
        self.nulls.truncate(len);
        self.members.iter_mut().for_each(|member| member.column.truncate(len));
    }

    pub fn reserve(&mut self, rows: usize) {
        self.members.iter_mut().for_each(|member| member.column.reserve(rows));
    }

    /// The columns of all members.
    pub fn finish_members(&mut self) -> Result<Vec<ArrayRef>, ArrowError> {
        let columns = self.members.iter_mut().zip(&self.fields);
        columns.map(|(member, field)| member.column.finish(field.data_type())).collect()
    }

    pub fn finish(&mut self) -> Result<ArrayRef, ArrowError> {
        let columns = self.finish_members()?;
        Ok(Arc::new(StructArray::try_new(self.fields.clone(), columns, self.nulls.finish())?))
    }
}
