//! Conversion of old ClassAd routes to transforms, as older routers did it and `condor_transform_ads
//! -convertoldroutes` still does (`ConvertClassadJobRouterRouteToXForm` of `xform_utils.cpp`).

use std::collections::BTreeMap;

use bstr::{BString, ByteSlice};

use super::attribute_pattern::is_attribute_name;
use super::header::TransformLoadError;
pub use super::old_route_reader::{OldRouteReader, parse_route_defaults};
use super::program::Transform;
use super::statement::TransformStatement;
use htc_base::text::caseless;
use htc_base::world::World;
use htc_classad::flatten::{self, FlattenResult};
use htc_classad::format::new_syntax;
use htc_classad::{AttrName, ClassAd, Dialect, Expr, Value, references};

/// Options of the conversion.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct ConversionOptions {
    /// Bit 1: omit `set_InputRSL`.
    pub drop_input_rsl: bool,
    /// Bit 2: replace the `eval_set_` attributes of the defaults of an old HTCondor-CE by macros.
    pub fix_eval_set: bool,
    /// Bit 4: omit the NAME line if the name is plain, because the parameter's name contains it.
    pub old_ce: bool,
    /// True if statements that 25.14 writes but cannot load (`queue = x`, texts of several lines) are written in a form
    /// that it can load. The reference has no bit for this option.
    pub loadable: bool,
}

impl ConversionOptions {
    /// Returns the options for a number whose bits select them.
    pub fn from_bits(bits: u32) -> Self {
        ConversionOptions {
            drop_input_rsl: bits & 1 != 0,
            fix_eval_set: bits & 2 != 0,
            old_ce: bits & 4 != 0,
            loadable: false,
        }
    }
}

/// Route converted to a transform.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ConvertedRoute {
    /// Name in the route itself; empty if the route has no name.
    pub name: BString,
    /// Text of the transform, including the lines NAME, UNIVERSE and REQUIREMENTS.
    pub text: BString,
    /// Attributes of the route that cannot be written in any statement; only collected with
    /// [`ConversionOptions::loadable`].
    pub unnameable: Vec<BString>,
}

impl ConvertedRoute {
    /// Parses the text into a transform.
    ///
    /// # Errors
    /// The errors of [`Transform::from_parameter`].
    pub fn to_transform(&self, dialect: Dialect) -> Result<Transform, TransformLoadError> {
        Transform::from_parameter(&self.name.to_str_lossy(), &self.text, dialect)
    }

    /// Formats the text as the reference prints it: NAME, UNIVERSE and REQUIREMENTS first, no blank lines, and the
    /// prefix before each line. With `named` false the NAME line is omitted, because the name is part of the
    /// parameter's name.
    ///
    /// # Errors
    /// The errors of [`Transform::from_parameter`].
    pub fn format_like_reference(
        &self,
        prefix: &str,
        named: bool,
        dialect: Dialect,
    ) -> Result<BString, TransformLoadError> {
        let transform = self.to_transform(dialect)?;
        let mut lines: Vec<BString> = Vec::new();
        if named && !self.name.is_empty() {
            lines.push([b"NAME ", &self.name[..]].concat().into());
        }
        if let Some(universe) = transform.envelope.universe.filter(|&universe| universe != 0) {
            let name = htc_base::job::Universe::from_number(universe)
                .map_or("UNKNOWN", htc_base::job::Universe::name);
            lines.push(format!("UNIVERSE {}", name.to_uppercase()).into());
        }
        if let Some(requirements) = &transform.envelope.requirements {
            lines.push([b"REQUIREMENTS ", &requirements.text[..]].concat().into());
        }
        let kept = self.text.split(|&b| b == b'\n').filter(|line| !line.is_empty() && !is_header_line(line));
        lines.extend(kept.map(BString::from));
        let lines: Vec<Vec<u8>> = lines.into_iter().map(|line| [prefix.as_bytes(), &line].concat()).collect();
        Ok(lines.join(&b'\n').into())
    }
}

fn is_header_line(line: &[u8]) -> bool {
    let is = |keyword| super::rules_text::header_arguments(line, keyword).is_some();
    is(b"name") || is(b"universe") || is(b"requirements") || is(b"transform")
}

/// Converts one route. Uses `name` if the route has no name, and the attributes of `defaults` that the route does not
/// set.
pub fn convert_route(
    route: &ClassAd,
    name: &[u8],
    defaults: &ClassAd,
    options: ConversionOptions,
    world: &dyn World,
) -> ConvertedRoute {
    let mut ad = defaults.clone();
    ad.update(route);
    let mut converter =
        RouteConverter { name: name.into(), ..RouteConverter::new(&ad, defaults, options, world) };
    for (attribute, expr) in ad.sorted() {
        converter.convert_attribute(attribute.as_bytes(), &expr);
    }
    converter.finish()
}

/// Converts the value of a parameter that contains one old route in brackets to a transform
/// (`XFormLoadFromClassadJobRouterRoute`).
///
/// # Errors
/// The route or the resulting transform is not valid.
pub fn transform_from_parameter(
    name: &str,
    text: &[u8],
    world: &dyn World,
) -> Result<Transform, RouteConversionError> {
    let (route, _) =
        new_syntax::parse_prefix(text, Dialect::of_world(world)).map_err(RouteConversionError::Route)?;
    let converted =
        convert_route(&route, name.as_bytes(), &ClassAd::new(), ConversionOptions::default(), world);
    converted.to_transform(Dialect::of_world(world)).map_err(RouteConversionError::Transform)
}

/// Reason why an old route cannot be converted.
#[derive(Clone, Debug, thiserror::Error)]
pub enum RouteConversionError {
    /// The route is not a valid ClassAd.
    #[error("the route is not a ClassAd: {0}")]
    Route(htc_classad::ParseError),
    /// The result is not a valid transform.
    #[error(transparent)]
    Transform(TransformLoadError),
}

/// Texts by attribute name, in case-insensitive order.
type TextByName = BTreeMap<AttrName, Vec<u8>>;

struct RouteConverter<'a> {
    ad: &'a ClassAd,
    defaults: &'a ClassAd,
    options: ConversionOptions,
    world: &'a dyn World,
    name: BString,
    universe: i64,
    requirements: Vec<u8>,
    assignments: TextByName,
    /// Names of the assignments whose values are strings, written without quotes.
    strings: BTreeMap<AttrName, ()>,
    copies: TextByName,
    deletes: TextByName,
    sets: TextByName,
    eval_sets: TextByName,
    eval_references: BTreeMap<AttrName, ()>,
    default_hold: bool,
    minimum_wall_time: bool,
    left_out: Vec<BString>,
}

/// Attributes whose expressions are simplified with the values of the route's own attributes. `TARGET.` is changed to
/// `MY.`.
const FLATTENED_ATTRIBUTES: [&[u8]; 7] = [
    b"EditJobInPlace",
    b"FailureRateThreshold",
    b"JobFailureTest",
    b"JobShouldBeSandboxed",
    b"OverrideRoutingEntry",
    b"SharedX509UserProxy",
    b"UseSharedX509UserProxy",
];

const HOLD_ATTRIBUTES: [&[u8]; 3] = [b"OnExitHold", b"OnExitHoldReason", b"OnExitHoldSubCode"];

fn is_one_of(name: &[u8], names: &[&[u8]]) -> bool {
    names.iter().any(|other| caseless::eq(name, other))
}

fn strip_prefix_caseless<'n>(name: &'n [u8], prefix: &[u8]) -> Option<&'n [u8]> {
    caseless::starts_with(name, prefix).then(|| &name[prefix.len()..])
}

impl<'a> RouteConverter<'a> {
    fn new(ad: &'a ClassAd, defaults: &'a ClassAd, options: ConversionOptions, world: &'a dyn World) -> Self {
        RouteConverter {
            ad,
            defaults,
            options,
            world,
            name: BString::default(),
            universe: 0,
            requirements: Vec::new(),
            assignments: TextByName::new(),
            strings: BTreeMap::new(),
            copies: TextByName::new(),
            deletes: TextByName::new(),
            sets: TextByName::new(),
            eval_sets: TextByName::new(),
            eval_references: BTreeMap::new(),
            default_hold: false,
            minimum_wall_time: false,
            left_out: Vec::new(),
        }
    }

    fn evaluation_context(&self) -> htc_classad::Context<'a> {
        htc_classad::Context::new(self.world).my(self.ad)
    }

    fn convert_attribute(&mut self, name: &[u8], expr: &Expr) {
        if let Some(target) = strip_prefix_caseless(name, b"copy_") {
            if let Value::Str(to) = self.evaluation_context().eval_attr(name) {
                self.copies.insert(target.into(), to.to_vec());
            }
        } else if let Some(target) = strip_prefix_caseless(name, b"delete_") {
            self.deletes.insert(target.into(), Vec::new());
        } else if let Some(target) = strip_prefix_caseless(name, b"set_") {
            if !(self.options.drop_input_rsl && caseless::eq(target, b"InputRSL")) {
                self.convert_set(name, target, expr);
            }
        } else if let Some(target) = strip_prefix_caseless(name, b"eval_set_") {
            self.convert_eval_set(name, target, expr);
        } else {
            self.convert_plain(name, expr);
        }
    }

    /// Converts `set_X = e`. SET reads the old syntax, which cannot express some strings; with `loadable`,
    /// EVALSET is used for such literals.
    fn convert_set(&mut self, name: &[u8], target: &[u8], expr: &Expr) {
        let text = expr.unparse_old();
        let is_read_back =
            || Expr::parse_with(&text, Dialect::of_world(self.world).old()).is_ok_and(|read| read == *expr);
        if !self.options.loadable || (is_one_line(&text) && is_read_back()) {
            self.sets.insert(target.into(), text.into());
        } else if expr.as_literal().is_some() {
            self.eval_sets.insert(target.into(), expr.unparse().into());
        } else {
            self.left_out.push(name.into());
        }
    }

    /// Returns the text of an expression for EVALSET, which reads the new syntax although 25.14's conversion
    /// writes the old one.
    fn evalset_text(&self, expr: &Expr) -> Vec<u8> {
        let text = expr.unparse_old();
        let is_read_back =
            || Expr::parse_with(&text, Dialect::of_world(self.world)).is_ok_and(|read| read == *expr);
        if !self.options.loadable || (is_one_line(&text) && is_read_back()) {
            return text.into();
        }
        expr.unparse().into()
    }

    /// Converts `eval_set_X = e`. Replaces references to attributes of the route by their values, because the job does
    /// not have these attributes.
    fn convert_eval_set(&mut self, name: &[u8], target: &[u8], expr: &Expr) {
        if self.options.fix_eval_set && self.defaults.get(name).is_some_and(|default| default == *expr) {
            let replacement: Option<&[u8]> = if caseless::eq(target, b"RequestMemory") {
                Some(b"$(maxMemory:2000)")
            } else if is_one_of(target, &[b"RequestCpus", b"remote_NodeNumber", b"remote_SMPGranularity"]) {
                Some(b"$(xcount:1)")
            } else if caseless::eq(target, b"remote_queue") {
                Some(b"$Fq(queue)")
            } else {
                None
            };
            if let Some(text) = replacement {
                self.sets.insert(target.into(), text.into());
                return;
            }
            if is_one_of(target, &HOLD_ATTRIBUTES) {
                self.default_hold = true;
                return;
            }
        }
        let mut text: Vec<u8> = self.evalset_text(expr);
        let mut own = self.route_references(expr);
        if !own.is_empty() {
            text = self.evalset_text(&self.inline_route_attributes(expr, TargetRewrite::ToMy));
            let dialect = if self.options.loadable {
                Dialect::of_world(self.world)
            } else {
                Dialect::of_world(self.world).old()
            };
            own =
                Expr::parse_with(&text, dialect).map(|expr| self.route_references(&expr)).unwrap_or_default();
        }
        self.eval_sets.insert(target.into(), text);
        self.eval_references.extend(own.into_iter().map(|name| (name, ())));
    }

    /// Returns the attributes of the route that an expression refers to.
    fn route_references(&self, expr: &Expr) -> Vec<AttrName> {
        references::internal(expr, self.evaluation_context()).unwrap_or_default().into_iter().collect()
    }

    fn convert_plain(&mut self, name: &[u8], expr: &Expr) {
        if caseless::eq(name, b"Name") {
            if let Value::Str(text) = self.evaluation_context().eval_attr(name) {
                self.name = text.to_vec().into();
            }
        } else if caseless::eq(name, b"TargetUniverse") {
            // The reference uses the bits of the value without regard to its type.
            self.universe = match self.evaluation_context().eval_attr(name) {
                Value::Int(number) => number,
                Value::Bool(value) => i64::from(value),
                #[expect(
                    clippy::cast_possible_truncation,
                    reason = "the reference keeps only the lower half"
                )]
                Value::Real(value) => i64::from(value.to_bits() as i32),
                Value::Undefined | Value::Error => 0,
                _ => -1,
            };
        } else if caseless::eq(name, b"Requirements") {
            self.requirements = self.flatten_to_text(expr, TargetRewrite::Dropped);
        } else if caseless::eq(name, b"GridResource") {
            self.assignments.insert(name.into(), expr.unparse_old().into());
            self.strings.insert(name.into(), ());
        } else {
            let (text, string) = if is_one_of(name, &FLATTENED_ATTRIBUTES) {
                (self.flatten_to_text(expr, TargetRewrite::ToMy), true)
            } else if let Some(Value::Str(text)) = expr.without_parentheses().as_literal() {
                (text.to_vec(), true)
            } else {
                (expr.unparse_old().into(), false)
            };
            if !text.is_empty() {
                self.assignments.insert(name.into(), text);
                if string {
                    self.strings.insert(name.into(), ());
                }
            }
            self.minimum_wall_time |= caseless::eq(name, b"minWallTime");
        }
    }

    /// Returns the text of the expression after the route's own attributes are substituted.
    fn flatten_to_text(&self, expr: &Expr, scope: TargetRewrite) -> Vec<u8> {
        self.inline_route_attributes(expr, scope).unparse_old().into()
    }

    /// Substitutes the route's own attributes in the expression, and renames or removes the TARGET scope
    /// (`unparse_special`).
    fn inline_route_attributes(&self, expr: &Expr, scope: TargetRewrite) -> Expr {
        let rescoped = |expr: &Expr| {
            let target = match scope {
                TargetRewrite::ToMy => Some(&b"MY"[..]),
                TargetRewrite::Dropped => None,
            };
            expr.rescope(b"TARGET", target)
        };
        match flatten::inline(expr, self.evaluation_context()) {
            Some(FlattenResult::Value(value)) => Expr::literal(value),
            Some(FlattenResult::Expr(flat)) => rescoped(&flat),
            None => rescoped(expr),
        }
    }

    /// Removes and returns the attributes whose names cannot be written in a statement.
    fn remove_unnameable(&mut self) -> Vec<BString> {
        let mut left_out = std::mem::take(&mut self.left_out);
        let mut keep = |prefix: &str, texts: &mut TextByName, is_name: fn(&[u8]) -> bool| {
            texts.retain(|name, _| {
                let keeps = is_name(name.as_bytes());
                if !keeps {
                    left_out.push([prefix.as_bytes(), name.as_bytes()].concat().into());
                }
                keeps
            });
        };
        keep("", &mut self.assignments, super::statement::is_macro_name);
        keep("copy_", &mut self.copies, is_attribute_name);
        keep("delete_", &mut self.deletes, is_attribute_name);
        keep("set_", &mut self.sets, is_attribute_name);
        keep("eval_set_", &mut self.eval_sets, is_attribute_name);
        left_out
    }

    /// Writes the lines before the statements.
    fn write_header(&self, out: &mut StatementWriter) {
        out.push_line(&[b"# autoconversion of route '", &self.name[..], b"' from old route syntax"]);
        let in_parameter = self.options.old_ce && is_attribute_name(&self.name);
        if !self.name.is_empty() && !in_parameter {
            out.push_line(&[b"NAME ", &self.name[..]]);
        }
        if self.universe != 0 {
            // The reference stores the number in 32 bits.
            #[expect(clippy::cast_possible_truncation, reason = "as the reference does")]
            let universe = self.universe as i32;
            out.push_line(&[b"UNIVERSE ", universe.to_string().as_bytes()]);
        }
        if !self.requirements.is_empty() {
            out.push_line(&[b"REQUIREMENTS ", &self.requirements]);
        }
        out.push_line(&[]);
    }

    /// Writes the statement that sets an attribute to the value of its macro.
    fn write_temporary_set(&self, name: &AttrName, out: &mut StatementWriter) {
        let text = self.assignments.get(name).map(Vec::as_slice).unwrap_or_default();
        let is_string = self.strings.contains_key(name);
        let name = name.as_bytes();
        if self.options.loadable && is_string && text.iter().any(|b| b"\"\\\n\r".contains(b)) {
            let text = Expr::literal(BString::from(text)).unparse();
            out.push_line(&[b"EVALSET ", name, b" ", &text]);
        } else {
            let quote: &[u8] = if is_string { b"\"" } else { b"" };
            out.push_line(&[b"SET ", name, b" ", quote, b"$(", name, b")", quote]);
        }
    }

    fn finish(mut self) -> ConvertedRoute {
        let left_out = if self.options.loadable { self.remove_unnameable() } else { Vec::new() };
        let new_hold = self.default_hold && self.options.fix_eval_set;
        if new_hold {
            for name in HOLD_ATTRIBUTES {
                self.copies.remove(&AttrName::from(name));
                self.eval_sets.remove(&AttrName::from(name));
            }
        }
        let mut out = StatementWriter::default();
        self.write_header(&mut out);
        for (name, text) in &self.assignments {
            if !self.options.loadable || is_assignable(name.as_bytes(), text) {
                out.push_line(&[name.as_bytes(), b" = ", text]);
            } else {
                let text = Expr::literal(BString::from(text.as_slice())).unparse();
                out.push_line(&[b"EVALMACRO ", name.as_bytes(), b" ", &text]);
            }
        }
        out.push_group(b"# copy_* rules", b"COPY ", &self.copies);
        out.push_group(b"# delete_* rules", b"DELETE ", &self.deletes);
        out.push_group(b"# set_* rules", b"SET ", &self.sets);
        if new_hold && self.minimum_wall_time {
            out.push_line(&[]);
            out.push_line(&[MINIMUM_WALL_TIME_STATEMENTS.as_bytes()]);
        }
        let temporary: Vec<&AttrName> = self
            .eval_references
            .keys()
            .filter(|name| self.assignments.contains_key(*name) && !self.sets.contains_key(*name))
            .collect();
        if !temporary.is_empty() {
            out.push_line(&[]);
            out.push_line(&[b"# temporarily SET attrs because eval_set_ rules refer to them"]);
        }
        temporary.iter().for_each(|name| self.write_temporary_set(name, &mut out));
        out.push_group(b"# eval_set_* rules", b"EVALSET ", &self.eval_sets);
        if !temporary.is_empty() {
            out.push_line(&[]);
            out.push_line(&[b"# remove temporary attrs"]);
        }
        for name in temporary {
            out.push_line(&[b"DELETE ", name.as_bytes()]);
        }
        ConvertedRoute { name: self.name, text: out.text.into(), unnameable: left_out }
    }
}

fn is_one_line(text: &[u8]) -> bool {
    !text.iter().any(|byte| matches!(byte, b'\n' | b'\r'))
}

/// Returns true if the line `name = text` gives the macro exactly this text.
fn is_assignable(name: &[u8], text: &[u8]) -> bool {
    let line = [name, b" = ", text].concat();
    let is_one_line = is_one_line(text) && !text.ends_with(b"\\");
    let is_statement = !is_header_line(&line)
        && matches!(super::statement::split_statement(&line), TransformStatement::Assign(assigned) if assigned.value == text);
    is_one_line && is_statement && text.trim() == text
}

/// Treatment of the scope `TARGET.`.
#[derive(Clone, Copy)]
enum TargetRewrite {
    /// Replace `TARGET.` by `MY.`.
    ToMy,
    /// Remove `TARGET.`.
    Dropped,
}

#[derive(Default)]
struct StatementWriter {
    text: Vec<u8>,
}

impl StatementWriter {
    fn push_line(&mut self, parts: &[&[u8]]) {
        if !self.text.is_empty() {
            self.text.push(b'\n');
        }
        self.text.extend(parts.concat());
    }

    fn push_group(&mut self, title: &[u8], command: &[u8], texts: &TextByName) {
        if texts.is_empty() {
            return;
        }
        self.push_line(&[]);
        self.push_line(&[title]);
        for (name, text) in texts {
            // DELETE has no second argument. COPY may have an empty one, but the space before it is printed
            // nevertheless.
            let blank: &[u8] = if command == b"DELETE " { b"" } else { b" " };
            self.push_line(&[command, name.as_bytes(), blank, text]);
        }
    }
}

/// Statements that replace `eval_set_OnExitHold` of an old HTCondor-CE.
const MINIMUM_WALL_TIME_STATEMENTS: &str = "\
# modify OnExitHold for minWallTime
if defined MY.OnExitHold
  COPY OnExitHold orig_OnExitHold
  COPY OnExitHoldSubCode orig_OnExitHoldSubCode
  COPY OnExitHoldReason orig_OnExitHoldReason
  DEFAULT orig_OnExitHoldReason strcat(\"The on_exit_hold expression (\", unparse(orig_OnExitHold), \") evaluated to TRUE.\")
  SET OnExitHoldMinWallTime ifThenElse(RemoteWallClockTime isnt undefined, RemoteWallClockTime < 60*$(minWallTime), false)
  SET OnExitHoldReasonMinWallTime strcat(\"The job's wall clock time\", int(RemoteWallClockTime/60), \"min, is is less than the minimum specified by the job ($(minWallTime))\")
  SET OnExitHold orig_OnExitHold || OnExitHoldMinWallTime
  SET OnExitHoldSubCode ifThenElse(orig_OnExitHold, $(My.orig_OnExitHoldSubCode:1), 42)
  SET OnExitHoldReason ifThenElse(orig_OnExitHold, orig_OnExitHoldReason, ifThenElse(OnExitHoldMinWallTime, OnExitHoldReasonMinWallTime, \"Job held for unknown reason.\"))
else
  SET OnExitHold ifThenElse(RemoteWallClockTime isnt undefined, RemoteWallClockTime < 60*$(minWallTime), false)
  SET OnExitHoldSubCode 42
  SET OnExitHoldReason strcat(\"The job's wall clock time\", int(RemoteWallClockTime/60), \"min, is is less than the minimum specified by the job ($(minWallTime))\")
endif";
