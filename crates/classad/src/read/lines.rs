//! Lines of long ads in a stream, whose ads are much alike: taken with a memory of names and texts that were there before.

use crate::ad::{ClassAd, LineError, Parts, Slot, parts, shifted};
use crate::read::memo::Memo;
use crate::syntax::expr::Repr;
use crate::syntax::literal::{integer_line, plain_literal};
use crate::syntax::{Expr, name};

impl ClassAd {
    /// As [`ClassAd::insert_line`], with a memory of texts that were parsed before.
    pub(crate) fn take_line<'l>(&mut self, line: &'l [u8], memo: &mut Memo) -> Result<&'l [u8], LineError> {
        let Parts { name, value_at, value } = parts(line)?;
        let new = memo.hash_of_next(self, name);
        if let Some(plain) = plain_literal(value) {
            self.put_plain(name, new, plain);
            return Ok(name);
        }
        let hash = new.unwrap_or_else(|| name::hash(name));
        if let Some((root, tree)) = memo.recall(hash, value) {
            self.put_known(name, new, Slot::Expr(root, tree));
            return Ok(name);
        }
        let parsed = Expr::parse_prefix(value, memo.dialect);
        let (expr, _) = parsed.map_err(|error| LineError::Value(shifted(error, value_at)))?;
        if let Repr::Node(tree, root) = &expr.0 {
            memo.keep(value, *root, tree);
            memo.learn(hash, value, *root, tree);
        }
        self.insert(name, expr);
        Ok(name)
    }

    /// Takes the line that a text begins with if that is plain to see to be the attribute which the ad before had at this place,
    /// with a plain value, or with the expression it had there. Returns the length of the line with its end; `None`
    /// where [`ClassAd::take_line`] has to look. The text holds no NUL byte.
    #[inline]
    pub(crate) fn take_next(&mut self, text: &[u8], memo: &Memo) -> Option<usize> {
        let at = self.len();
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
            b'0'..=b'9' | b'-' => match integer_line(value) {
                Some((number, length)) => (Slot::Int(number), length),
                None => self.plain_line(value)?,
            },
            _ => {
                let end = memchr::memchr(b'\n', value)?;
                match memo.same(hash, &value[..end]) {
                    Some((root, tree)) => (Slot::Expr(root, tree), end),
                    None => self.plain_line(value)?,
                }
            }
        };
        self.put_new(&beginning[..beginning.len() - 3], hash, slot);
        Some(beginning.len() + length + 1)
    }

    /// The number or truth value that a text begins with if its line ends there, and its length.
    fn plain_line(&mut self, text: &[u8]) -> Option<(Slot, usize)> {
        let end = memchr::memchr(b'\n', text)?;
        let scalar = plain_literal(&text[..end])?;
        Some((scalar.map(|text| self.push_text(text)).into(), end))
    }
}
