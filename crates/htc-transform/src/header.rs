//! Header of a transform: NAME, REQUIREMENTS, UNIVERSE and TRANSFORM. Loading removes these lines from the text,
//! wherever they are (`MacroStreamXFormSource::open`).

use bstr::BString;

use super::iterate;
use super::rules_text::{RuleLine, RulesText, header_arguments};
use htc_base::job::Universe;
use htc_base::text::Span;
use htc_base::text::space::{is_space, trim, trim_start};
use htc_classad::{Dialect, Expr};

/// Header of a transform.
#[derive(Clone, Debug, Default)]
pub struct TransformHeader {
    /// Name from the last NAME of a rules file.
    pub name: Option<BString>,
    /// Condition from the last REQUIREMENTS.
    pub requirements: Option<TransformRequirements>,
    /// Number of the last UNIVERSE, 0 if its name is unknown; only the job router uses the number.
    pub universe: Option<i64>,
    /// First TRANSFORM that requests more than one plain run.
    pub iteration: Option<IterationStatement>,
    /// All NAME, REQUIREMENTS and UNIVERSE lines; the last of each kind takes effect.
    pub lines: Vec<(&'static str, RuleLine)>,
    /// TRANSFORM that ends the text of a parameter.
    pub end: Option<RuleLine>,
    /// First statement after the TRANSFORM that ends the text of a parameter. The statement is never executed.
    pub ignored: Option<RuleLine>,
    /// Number of bytes read from a rules file: its length unless it contains a TRANSFORM statement.
    pub rest_offset: usize,
}

/// Condition for applying a transform.
#[derive(Clone, Debug)]
pub struct TransformRequirements {
    /// The condition as a parsed expression.
    pub expr: Expr,
    /// Text of the condition.
    pub text: BString,
    /// Line of the REQUIREMENTS statement.
    pub line: RuleLine,
    /// Offset of the condition in the line.
    pub at: usize,
}

/// TRANSFORM statement with arguments. The arguments are expanded and parsed before the first ad.
#[derive(Clone, Debug)]
pub struct IterationStatement {
    /// Arguments, unexpanded.
    pub arguments: BString,
    /// Line of the statement.
    pub line: RuleLine,
    /// Offset in the source of the text after the statement.
    pub rest_offset: usize,
}

impl TransformHeader {
    /// Stores the arguments of a TRANSFORM unless an earlier TRANSFORM already had arguments.
    fn set_iteration(&mut self, line: &RuleLine, arguments: &[u8], rest: usize) {
        if self.iteration.is_none() && iterate::is_non_trivial(arguments) {
            self.iteration = Some(IterationStatement {
                arguments: arguments.into(),
                line: line.clone(),
                rest_offset: rest,
            });
        }
    }
}

/// Reason why a text cannot be loaded as a transform.
#[derive(Clone, Debug, thiserror::Error)]
pub enum TransformLoadError {
    /// The REQUIREMENTS do not parse.
    #[error("invalid REQUIREMENTS : {text}")]
    Requirements {
        /// Text of the expression.
        text: BString,
        /// Description of the error.
        reason: String,
        /// Line of the statement.
        line: RuleLine,
        /// Position in the source.
        span: Span,
        /// True if the text ends with a TRANSFORM with arguments. 25.14 looks for this statement before it parses the
        /// REQUIREMENTS.
        iterates: bool,
    },
}

/// Returns advice about REQUIREMENTS that do not parse, or `None` if no advice applies.
pub fn requirements_advice(text: &[u8]) -> Option<&'static str> {
    // 25.14 parses the REQUIREMENTS when it loads the text, before macros are expanded
    // (`MacroStreamXFormSource::open`).
    let has_macro = text.windows(2).any(|pair| pair == b"$(");
    has_macro.then_some(
        "HTCondor does not expand macros in REQUIREMENTS, not even those with a default: write the value itself",
    )
}

impl TransformLoadError {
    /// Returns advice on how to correct the text, or `None` if no advice applies.
    pub fn advice(&self) -> Option<&'static str> {
        let TransformLoadError::Requirements { text, .. } = self;
        requirements_advice(text)
    }

    /// Records that the text contains a TRANSFORM with arguments.
    fn with_iteration(self, iterates: bool) -> Self {
        let TransformLoadError::Requirements { text, reason, line, span, .. } = self;
        TransformLoadError::Requirements { text, reason, line, span, iterates }
    }
}

/// Removes the header lines of a rules file. Lines inside `@=` values are kept.
pub(super) fn take_header_from_file(
    rules: RulesText,
    dialect: Dialect,
) -> Result<(TransformHeader, Vec<RuleLine>), TransformLoadError> {
    let RulesText { lines, rest_offset: rest, .. } = rules;
    let arguments = lines.iter().filter_map(|line| header_arguments(&line.text, b"transform"));
    let iterates = arguments.into_iter().any(iterate::is_non_trivial);
    let mut envelope = TransformHeader { rest_offset: rest, ..TransformHeader::default() };
    let mut kept = Vec::with_capacity(lines.len());
    let mut block_end: Option<Vec<u8>> = None;
    for line in lines {
        if let Some(end) = &block_end {
            if trim_start(&line.text) == end.as_slice() {
                block_end = None;
            }
            // A TRANSFORM inside a value also ends the reading of the file, and its arguments apply.
            if let Some(arguments) = header_arguments(&line.text, b"transform") {
                envelope.set_iteration(&line, arguments, rest);
            }
            kept.push(line);
            continue;
        }
        if let Some(tag) = opening_block_tag(&line.text) {
            block_end = Some(trim(&[b"@", tag].concat()).to_vec());
            kept.push(line);
            continue;
        }
        if header_arguments(&line.text, b"name").is_some() {
            let name = header_argument(&line, b"name");
            if !name.is_empty() {
                envelope.name = Some(name.into());
                envelope.lines.push(("NAME", line));
            }
        } else if !take_header_line(&mut envelope, &line, rest, dialect)
            .map_err(|error| error.with_iteration(iterates))?
        {
            kept.push(line);
        }
    }
    Ok((envelope, kept))
}

/// Removes the header lines of the text of a parameter. The text ends at the first TRANSFORM with arguments, and NAME
/// lines do not override the parameter's own name.
pub(super) fn take_header_from_parameter(
    rules: RulesText,
    dialect: Dialect,
) -> Result<(TransformHeader, Vec<RuleLine>), TransformLoadError> {
    let mut envelope = TransformHeader::default();
    let mut kept = Vec::with_capacity(rules.lines.len());
    let mut lines = rules.lines.into_iter();
    while let Some(line) = lines.next() {
        if header_arguments(&line.text, b"name").is_some() {
            let name = header_argument(&line, b"name");
            if envelope.name.is_none() && !name.is_empty() {
                envelope.name = Some(name.into());
            }
        } else if take_header_line(&mut envelope, &line, usize::MAX, dialect)? {
            if header_arguments(&line.text, b"transform").is_some() {
                envelope.end = Some(line);
                envelope.ignored = lines.find(is_statement);
                break;
            }
        } else {
            kept.push(line);
        }
    }
    Ok((envelope, kept))
}

/// Processes a REQUIREMENTS, UNIVERSE or TRANSFORM line. Returns false if the line is none of these.
fn take_header_line(
    envelope: &mut TransformHeader,
    line: &RuleLine,
    rest: usize,
    dialect: Dialect,
) -> Result<bool, TransformLoadError> {
    if let Some(arguments) = header_arguments(&line.text, b"requirements") {
        let at = line.text.len() - arguments.len();
        // The reference trims only leading whitespace.
        let text = BString::from(arguments);
        let expr = Expr::parse_with(&text, dialect.old()).map_err(|error| {
            let place = error.span;
            let span = line.locate(Span::new(at + place.start as usize, at + place.end as usize));
            TransformLoadError::Requirements {
                text: text.clone(),
                reason: error.to_string(),
                line: line.clone(),
                span,
                iterates: false,
            }
        })?;
        envelope.requirements = Some(TransformRequirements { expr, text, line: line.clone(), at });
        envelope.lines.push(("REQUIREMENTS", line.clone()));
    } else if header_arguments(&line.text, b"universe").is_some() {
        envelope.universe = Some(Universe::parse_number(header_argument(line, b"universe")));
        envelope.lines.push(("UNIVERSE", line.clone()));
    } else if let Some(arguments) = header_arguments(&line.text, b"transform") {
        envelope.set_iteration(line, arguments, rest);
    } else {
        return Ok(false);
    }
    Ok(true)
}

/// Returns true if a line is neither blank nor a comment.
fn is_statement(line: &RuleLine) -> bool {
    !matches!(trim(&line.text).first(), None | Some(b'#'))
}

fn header_argument<'a>(line: &'a RuleLine, keyword: &[u8]) -> &'a [u8] {
    trim(header_arguments(&line.text, keyword).unwrap_or_default())
}

/// Returns the tag of a line that opens an `@=` value. The loader that removes the header accepts less than the
/// executor: only whitespace before the operator is allowed between name, operator and tag (`is_herefile_statement`).
fn opening_block_tag(line: &[u8]) -> Option<&[u8]> {
    let line = trim_start(line);
    let name_end = line.iter().position(|&b| is_space(b) || b == b'=').unwrap_or(line.len());
    let tag = trim_start(&line[name_end..]).strip_prefix(b"@=")?;
    tag.first().is_some_and(|&b| !is_space(b)).then_some(tag)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn header_lines_are_removed_everywhere_except_in_blocks() {
        let text =
            b"if false\nNAME a b\nREQUIREMENTS X > 1\nendif\nV @=end\nNAME c\n@end\nSET A 1\nUNIVERSE grid\n";
        let (envelope, lines) =
            take_header_from_file(RulesText::from_file("r", text), Dialect::new_syntax()).unwrap();
        assert_eq!(envelope.name.unwrap(), "a b");
        assert_eq!(envelope.requirements.unwrap().text, "X > 1");
        assert_eq!(envelope.universe, Some(9));
        let texts: Vec<_> = lines.iter().map(|line| line.text.to_string()).collect();
        assert_eq!(texts, ["if false", "endif", "V @=end", "NAME c", "@end", "SET A 1"]);
    }

    #[test]
    fn invalid_requirements_fail_the_load_with_a_location() {
        let error = take_header_from_file(
            RulesText::from_file("r", b"\n REQUIREMENTS $(X)\n"),
            Dialect::new_syntax(),
        )
        .unwrap_err();
        let TransformLoadError::Requirements { text, line, span, .. } = error;
        assert_eq!(text, "$(X)");
        assert_eq!(span.position(&line.source.text).line, 2);
    }

    #[test]
    fn a_parameter_ends_at_transform() {
        let (envelope, lines) = take_header_from_parameter(
            RulesText::from_parameter("k", b"SET A 1\nTRANSFORM 2\nSET B 2"),
            Dialect::new_syntax(),
        )
        .unwrap();
        assert_eq!(lines.len(), 1);
        assert!(envelope.iteration.is_some());
    }
}
