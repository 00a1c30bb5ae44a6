//! Attributes from lines of long ads.

use super::*;

/// Why a line of a long ad cannot be used.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum LineError {
    /// There is no `=`.
    #[error("no `=` in the line; write `Name = value`")]
    NoEquals,
    /// There is nothing before the `=`.
    #[error("no name before the `=`")]
    NoName,
    /// The value does not begin with an expression. Spans count from the start of the line.
    #[error("bad value: {0}")]
    Value(ParseError),
}

impl LineError {
    /// The error with the line and a caret where there is a place to point at.
    pub fn render(&self, line: &[u8]) -> String {
        match self {
            LineError::Value(error) => error.render(line),
            other => other.to_string(),
        }
    }
}

impl ClassAd {
    /// Takes one line `Name = value` of a long ad (hooks.md 2.5): leading white space is skipped, the name ends at the
    /// first `=`, any name is taken, text behind a complete expression is ignored.
    ///
    /// # Errors
    /// Says what is wrong; the ad is left as it was.
    pub fn insert_line(&mut self, line: &[u8]) -> Result<AttrName, LineError> {
        self.take_line(line, None).map(AttrName::from)
    }

    /// As [`ClassAd::insert_line`], with a memory of texts that were parsed before.
    pub(crate) fn take_line<'l>(
        &mut self,
        line: &'l [u8],
        memo: Option<&mut Memo>,
    ) -> Result<&'l [u8], LineError> {
        let line = match memchr::memchr(0, line) {
            Some(end) => &line[..end],
            None => line,
        };
        let start = line.iter().take_while(|b| crate::classad::numbers::is_space(**b)).count();
        let equals = start + memchr::memchr(b'=', &line[start..]).ok_or(LineError::NoEquals)?;
        let blanks = line[start..equals].iter().rev().take_while(|b| **b == b' ').count();
        let name = &line[start..equals - blanks];
        if name.is_empty() {
            return Err(LineError::NoName);
        }
        let value = equals + 1 + line[equals + 1..].iter().take_while(|b| **b == b' ').count();
        let mut memo = memo;
        let new = memo.as_deref_mut().and_then(|memo| memo.hash_of_next(self, name));
        self.take_old(name, &line[value..], memo, new).map_err(|mut error| {
            let shift = u32::try_from(value).unwrap_or(u32::MAX);
            error.span.start = error.span.start.saturating_add(shift);
            error.span.end = error.span.end.saturating_add(shift);
            LineError::Value(error)
        })?;
        Ok(name)
    }

    /// Takes the line that a text begins with if that is plain to see to be the attribute which the ad before had at this place,
    /// with a plain value, or with the expression it had there. Returns the length of the line with its end; `None`
    /// where [`ClassAd::take_line`] has to look. The text holds no NUL byte.
    #[inline]
    pub(crate) fn take_next(&mut self, text: &[u8], memo: &Memo) -> Option<usize> {
        let at = self.entries.len();
        let (hash, beginning) = memo.next_line(at)?;
        let value = text.strip_prefix(beginning)?;
        let (slot, length) = match *value.first()? {
            b'"' => {
                let end = 1 + memchr::memchr2(b'"', b'\n', &value[1..])?;
                let ends = value[end] == b'"' && value[end - 1] != b'\\';
                if !ends || value.get(end + 1) != Some(&b'\n') {
                    return None;
                }
                let length = beginning.len() + end + 2;
                self.put_new_line(beginning.len(), hash, &text[..length]);
                return Some(length);
            }
            b'0'..=b'9' | b'-' => match plain::integer_line(value) {
                Some((number, length)) => (Slot::Int(number), length),
                None => plain_line(value)?,
            },
            _ => match memo.value_at(at, value) {
                Some((root, tree, length)) => (Slot::Expr(root, tree), length),
                None => plain_line(value)?,
            },
        };
        self.put_new(&beginning[..beginning.len() - 3], hash, slot);
        Some(beginning.len() + length + 1)
    }

    /// Sets an attribute to the expression that a text of the old syntax begins with; tells whether it is plain to see that
    /// it is a literal.
    pub(crate) fn insert_old(&mut self, name: &[u8], text: &[u8]) -> Result<bool, ParseError> {
        self.take_old(name, text, None, None)
    }

    fn take_old(
        &mut self,
        name: &[u8],
        text: &[u8],
        mut memo: Option<&mut Memo>,
        new: Option<u32>,
    ) -> Result<bool, ParseError> {
        if let Some(plain) = plain_literal(text) {
            self.put_plain(name, new, plain);
            return Ok(true);
        }
        if let Some((root, tree)) = memo.as_deref_mut().and_then(|memo| memo.get(text)) {
            if let (Some(memo), Some(_)) = (memo, new) {
                memo.keep_at(self.entries.len(), text, root, &tree);
            }
            self.put_known(name, new, Slot::Expr(root, tree));
            return Ok(false);
        }
        let (expr, _) = Expr::parse_prefix(text, Dialect::old_syntax())?;
        if let (Some(memo), Repr::Node(tree, root)) = (memo, &expr.0) {
            memo.keep(text, *root, tree);
        }
        self.insert(name, expr);
        Ok(false)
    }
}

/// The number or truth value that a text begins with if its line ends there, and its length.
fn plain_line(text: &[u8]) -> Option<(Slot, usize)> {
    let end = memchr::memchr(b'\n', text)?;
    let slot = match plain_literal(&text[..end])? {
        Plain::Int(i) => Slot::Int(i),
        Plain::Real(r) => Slot::Real(r),
        Plain::Bool(b) => Slot::Bool(b),
        Plain::Undefined => Slot::Undefined,
        Plain::Str(_) => return None,
    };
    Some((slot, end))
}
