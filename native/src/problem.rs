//! What is wrong with a record, in the words of the Python scanner.

use std::borrow::Cow;

/// The first thing that is wrong with a record.
#[derive(Debug)]
pub struct Problem {
    pub code: &'static str,
    pub detail: String,
    /// Where it is, innermost first: each object and array on the way out adds its part.
    path: Vec<String>,
}

/// A position behind what was read, or the problem. The box keeps the good case in registers.
pub type At = Result<usize, Box<Problem>>;

impl Problem {
    #[cold]
    pub fn new(code: &'static str, detail: String) -> Box<Self> {
        Box::new(Self { code, detail, path: Vec::new() })
    }

    /// The same problem, inside the member or element of this name.
    #[cold]
    pub fn within(mut self: Box<Self>, name: &str) -> Box<Self> {
        self.path.push(name.replace('~', "~0").replace('/', "~1"));
        self
    }

    /// RFC 6901, or none for the whole record.
    pub fn field(&self) -> Option<String> {
        if self.path.is_empty() {
            return None;
        }
        Some(self.path.iter().rev().flat_map(|part| ["/", part.as_str()]).collect())
    }
}

/// A value that is well-formed JSON and does not fit its type.
#[derive(Debug)]
pub struct Unfit {
    pub code: &'static str,
    pub why: Cow<'static, str>,
}

impl Unfit {
    #[cold]
    pub fn new(code: &'static str, why: impl Into<Cow<'static, str>>) -> Self {
        Self { code, why: why.into() }
    }
}

const MOST: usize = 40;

/// At most 40 characters of the value, safe to print.
#[cold]
pub fn excerpt(data: &[u8], at: usize, end: usize) -> String {
    let start = at.min(data.len());
    let part = &data[start..end.min(at + MOST).clamp(start, data.len())];
    let mut text: String = printable(&String::from_utf8_lossy(part)).chars().take(MOST).collect();
    if end > at + MOST {
        text.push_str("...");
    }
    text
}

/// As JSON writes it, but for quotes.
fn printable(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    for c in text.chars() {
        match c {
            '"' => out.push('"'),
            c => push_escaped(&mut out, c),
        }
    }
    out
}

/// A character inside a JSON text, as Python's `dumps(..., ensure_ascii=False)` writes it.
pub fn push_escaped(out: &mut String, c: char) {
    match c {
        '"' => out.push_str("\\\""),
        '\\' => out.push_str("\\\\"),
        '\n' => out.push_str("\\n"),
        '\r' => out.push_str("\\r"),
        '\t' => out.push_str("\\t"),
        '\u{8}' => out.push_str("\\b"),
        '\u{c}' => out.push_str("\\f"),
        c if c < ' ' => out.push_str(&format!("\\u{:04x}", c as u32)),
        c => out.push(c),
    }
}
