//! Typed values of parameters, with their origin, as one subsystem or slot sees them (`condor_config.cpp`,
//! `param`, `param_integer`, `param_boolean`, `param_double`).

use std::borrow::Cow;
use std::cell::RefCell;

use bstr::{BStr, BString, ByteSlice};

use crate::defaults::{self, Parameter, ParameterType};
use crate::evaluate::{self, NumberResult};
use crate::expand::{self, ExpandError, FunctionFailure, MacroSource};
use crate::macro_definition::{FoundMacro, LookupContext};
use crate::macro_set::MacroSet;
use crate::setting::{Setting, SettingOrigin};
use crate::use_counts::LookupPurpose;
use crate::value_error::{ValueError, ValueErrorDetails, ValueProblem};
use htc_base::text::list;
use htc_base::world::{FixedModeWorld, World};

/// The values of a configuration as one subsystem, local name and slot sees them.
pub struct ConfigView<'a> {
    set: &'a MacroSet,
    context: LookupContext,
    world: &'a dyn World,
    slot_type: Option<u32>,
    messages: RefCell<Vec<FunctionFailure>>,
}

impl MacroSource for ConfigView<'_> {
    fn raw(&self, name: &[u8]) -> Option<Cow<'_, [u8]>> {
        self.set.find(name, &self.context, self.world)?.value()
    }
}

impl<'a> ConfigView<'a> {
    /// Creates a view of a set of definitions.
    pub fn new(set: &'a MacroSet, context: LookupContext, world: &'a dyn World) -> Self {
        ConfigView { set, context, world, slot_type: None, messages: RefCell::new(Vec::new()) }
    }

    /// Returns the world outside the process.
    pub fn world(&self) -> &'a dyn World {
        self.world
    }

    /// Returns the world outside the process, in the evaluation mode of the configuration.
    fn world_in_mode(&self) -> FixedModeWorld<'a> {
        FixedModeWorld { world: self.world, strict: self.set.strict }
    }

    /// Returns the view of a slot of that type: `SLOT_TYPE_<n>_NAME` takes precedence over `NAME`, even if it
    /// is empty (`Resource.cpp`, `SlotType::param`). Slots without a type pass `None`, dynamic slots the type
    /// of their parent.
    #[must_use]
    pub fn for_slot(mut self, slot_type: Option<u32>) -> Self {
        self.slot_type = slot_type;
        self
    }

    /// Returns the macros in which values are looked up.
    pub fn macro_set(&self) -> &'a MacroSet {
        self.set
    }

    /// Takes the messages of functions that failed since the last call. The texts are the reference's.
    pub fn take_messages(&self) -> Vec<FunctionFailure> {
        self.messages.take()
    }

    fn look_up(&self, name: &[u8]) -> Option<(FoundMacro<'a>, BString)> {
        if let Some(number) = self.slot_type {
            let typed = [format!("SLOT_TYPE_{number}_").as_bytes(), name].concat();
            if let Some(found) = self.set.find(&typed, &self.context, self.world) {
                return Some((found, typed.into()));
            }
        }
        self.set.find(name, &self.context, self.world).map(|found| (found, name.into()))
    }

    /// Returns the text before expansion. An empty string is defined, but reads as undefined.
    pub fn raw(&self, name: &str) -> Option<Setting<BString>> {
        let (found, _) = self.look_up(name.as_bytes())?;
        let raw = BString::from(found.raw().into_owned());
        Some(Setting { value: raw.clone(), origin: self.origin(&found), raw })
    }

    /// Returns the bytes before expansion, or `None` if the name is undefined.
    pub fn raw_bytes(&self, name: &[u8]) -> Option<Vec<u8>> {
        self.look_up(name).map(|(found, _)| found.raw().into_owned())
    }

    /// Expands `raw` as the value of the parameter `name`.
    ///
    /// # Errors
    /// The expansion does not end.
    pub fn expand_raw(&self, name: &[u8], raw: &[u8]) -> Result<BString, ExpandError> {
        let mut report = |message| self.messages.borrow_mut().push(message);
        expand::Expander::new(self, &self.world_in_mode(), &mut report)
            .for_value_of(name)
            .expand_file_mode(raw)
    }

    /// Evaluates a text as a boolean parameter; `None` if it is neither true nor false.
    pub fn parse_truth(&self, text: &[u8]) -> Option<bool> {
        evaluate::to_boolean(text, &self.world_in_mode())
    }

    /// Returns the place of the definition that a look-up found.
    pub fn origin(&self, found: &FoundMacro<'_>) -> SettingOrigin {
        let name = found.display_name().into_owned().into();
        let special =
            |source: &str| SettingOrigin { name, source: source.into(), line: None, template: None };
        match found {
            FoundMacro::Default(_) => special("<Default>"),
            FoundMacro::Detected { .. } => special("<Detected>"),
            FoundMacro::Set(entry) => {
                let place = &entry.current.place;
                SettingOrigin {
                    name: (&entry.name).into(),
                    source: self.set.source(place.source).name.clone(),
                    line: place.line,
                    template: self.set.template_place(place),
                }
            }
        }
    }

    /// Returns true if the name has a raw value that is not empty (`if defined`, without expansion).
    pub fn is_defined(&self, name: &str) -> bool {
        self.look_up(name.as_bytes()).is_some_and(|(found, _)| !found.raw().is_empty())
    }

    /// Returns the names that sources set, in the order of their first definitions. Defaults are in
    /// [`crate::defaults`].
    pub fn names(&self) -> impl Iterator<Item = &'a BStr> {
        self.set.entries().map(|entry| entry.name.as_ref())
    }

    /// Expands a text as if it were a value.
    ///
    /// # Errors
    /// The expansion does not end.
    pub fn expand(&self, text: &[u8]) -> Result<BString, ExpandError> {
        expand::expand(text, self, &self.world_in_mode(), &mut |message| {
            self.messages.borrow_mut().push(message)
        })
    }

    /// Returns the expanded value, or `None` if it is undefined, empty or cannot be expanded.
    pub fn text(&self, name: &str) -> Option<BString> {
        self.string(name).ok().flatten().map(|setting| setting.value)
    }

    /// Returns the integer value, or `default` if the parameter is undefined or invalid.
    pub fn number(&self, name: &str, default: i64) -> i64 {
        self.int(name).ok().flatten().map_or(default, |setting| setting.value)
    }

    /// Returns the boolean value, or `default` if the parameter is undefined or invalid.
    pub fn flag(&self, name: &str, default: bool) -> bool {
        self.boolean(name).ok().flatten().map_or(default, |setting| setting.value)
    }

    /// Returns the expanded value, or `None` if it is undefined or empty.
    ///
    /// # Errors
    /// The expansion does not end.
    pub fn string(&self, name: &str) -> Result<Option<Setting<BString>>, ValueError> {
        let _reading = self.set.set_lookup_purpose(LookupPurpose::Parameter);
        let Some((found, matched_name)) = self.look_up(name.as_bytes()) else {
            return Ok(None);
        };
        let raw = BString::from(found.raw().into_owned());
        match self.expand_raw(&matched_name, &raw) {
            Ok(value) if value.is_empty() => Ok(None),
            Ok(value) => Ok(Some(Setting { value, origin: self.origin(&found), raw })),
            Err(error) => {
                let origin = Some(self.origin(&found));
                Err(ValueErrorDetails::new(&matched_name, raw, ValueProblem::Expansion(error), origin).into())
            }
        }
    }

    /// Returns the items of a list, separated by commas and blanks, or `None` if the value is undefined.
    ///
    /// # Errors
    /// The expansion does not end.
    pub fn list(&self, name: &str) -> Result<Option<Setting<Vec<BString>>>, ValueError> {
        let setting = self.string(name)?;
        Ok(setting.map(|setting| setting.map_value(|text| list::split(&text).map(BString::from).collect())))
    }

    /// Returns an integer, written as digits or as an expression. The table of defaults determines its size (32 or 64
    /// bits) and its range.
    ///
    /// # Errors
    /// The value is not an integer, or is out of range. The error contains the value that the reference's
    /// tools would use instead.
    pub fn int(&self, name: &str) -> Result<Option<Setting<i64>>, ValueError> {
        self.int_in_range(name, None)
    }

    /// Does the same as [`ConfigView::int`], with a range that replaces the table's range.
    ///
    /// # Errors
    /// As for [`ConfigView::int`].
    pub fn int_in_range(
        &self,
        name: &str,
        range: Option<(i64, i64)>,
    ) -> Result<Option<Setting<i64>>, ValueError> {
        let Some(setting) = self.string(name)? else {
            return Ok(None);
        };
        let parameter = defaults::find_requested_or_found(&setting.origin.name, name.as_bytes());
        let (min, max) = range.unwrap_or_else(|| int_range(parameter));
        let fail = |problem, fallback: Option<i64>| {
            let default = default_number(parameter, &self.world_in_mode());
            let mut failure = ValueErrorDetails::new(
                name.as_bytes(),
                setting.value.clone(),
                problem,
                Some(setting.origin.clone()),
            );
            failure.range = (min.to_string(), max.to_string());
            failure.default = default.to_string();
            failure.fallback = fallback.unwrap_or(default).to_string().into();
            Err(failure.into())
        };
        let value = match evaluate::parse_integer(&setting.value, &self.world_in_mode()) {
            NumberResult::Value(value) => value,
            NumberResult::Unparsable => return fail(ValueProblem::NotExpression("integer"), None),
            NumberResult::NotNumber => return fail(ValueProblem::NotNumber("integer"), None),
        };
        let is_long = parameter.is_some_and(|parameter| parameter.parameter_type() == ParameterType::Long)
            || range.is_some();
        if !is_long && i32::try_from(value).is_err() {
            let limit = if value < 0 { i64::from(i32::MIN) } else { i64::from(i32::MAX) };
            return fail(ValueProblem::OutOfBounds, Some(limit));
        }
        if value < min {
            return fail(ValueProblem::TooLow("integer"), Some(min));
        }
        if value > max {
            return fail(ValueProblem::TooHigh("integer"), Some(max));
        }
        Ok(Some(setting.map_value(|_| value)))
    }

    /// Returns a real, written as a number or an expression. As in the reference, the table's range is
    /// ignored.
    ///
    /// # Errors
    /// The value is not a number.
    pub fn real(&self, name: &str) -> Result<Option<Setting<f64>>, ValueError> {
        self.real_in_range(name, None)
    }

    /// Does the same as [`ConfigView::real`], with a range.
    ///
    /// # Errors
    /// The value is not a number, or is out of range.
    pub fn real_in_range(
        &self,
        name: &str,
        range: Option<(f64, f64)>,
    ) -> Result<Option<Setting<f64>>, ValueError> {
        let Some(setting) = self.string(name)? else {
            return Ok(None);
        };
        let general = |value: f64| htc_base::text::printf::format_general_lower(value, 6);
        let problem = match evaluate::parse_real(&setting.value, &self.world_in_mode()) {
            NumberResult::Value(value) => match range {
                Some((min, _)) if value < min => ValueProblem::TooLow("number"),
                Some((_, max)) if value > max => ValueProblem::TooHigh("number"),
                _ => return Ok(Some(setting.map_value(|_| value))),
            },
            NumberResult::Unparsable => ValueProblem::NotExpression("numeric"),
            NumberResult::NotNumber => ValueProblem::NotNumber("numeric"),
        };
        let default = defaults::find_requested_or_found(&setting.origin.name, name.as_bytes())
            .map(|parameter| BString::from(parameter.default().into_owned()))
            .unwrap_or_default();
        let mut failure =
            ValueErrorDetails::new(name.as_bytes(), setting.value, problem, Some(setting.origin));
        let (min, max) = range.unwrap_or((f64::MIN, f64::MAX));
        failure.range = (general(min), general(max));
        failure.default = default.to_string();
        failure.fallback = match failure.problem {
            ValueProblem::TooLow(_) => general(min).into(),
            ValueProblem::TooHigh(_) => general(max).into(),
            _ => default,
        };
        Err(failure.into())
    }

    /// Returns a boolean: `true`, `false`, `1`, `0`, or an expression whose value is a boolean or a number.
    ///
    /// # Errors
    /// Any other value, including `yes` and `t`.
    pub fn boolean(&self, name: &str) -> Result<Option<Setting<bool>>, ValueError> {
        let Some(setting) = self.string(name)? else {
            return Ok(None);
        };
        if let Some(value) = evaluate::to_boolean(&setting.value, &self.world_in_mode()) {
            return Ok(Some(setting.map_value(|_| value)));
        }
        let default = defaults::find_requested_or_found(&setting.origin.name, name.as_bytes())
            .and_then(|parameter| table_default_number(parameter, &self.world_in_mode()))
            .is_some_and(|number| number != 0);
        Err(ValueError::not_boolean(name.as_bytes(), setting, default))
    }
}

impl ConfigView<'_> {
    /// Returns a boolean of which only the first letter is significant: `tRUE` is true and `frobnicate` is false
    /// (`param_boolean_crufty`).
    ///
    /// # Errors
    /// As for [`ConfigView::boolean`].
    pub fn boolean_crufty(&self, name: &str) -> Result<Option<Setting<bool>>, ValueError> {
        let Some(setting) = self.string(name)? else { return Ok(None) };
        match setting.value.first().map(u8::to_ascii_lowercase) {
            Some(b't') => Ok(Some(setting.map_value(|_| true))),
            Some(b'f') => Ok(Some(setting.map_value(|_| false))),
            _ => self.boolean(name),
        }
    }
}

/// Returns the minimum and maximum of an integer parameter.
fn int_range(parameter: Option<Parameter>) -> (i64, i64) {
    let limits = match parameter.map(Parameter::parameter_type) {
        Some(ParameterType::Long) => (i64::MIN, i64::MAX),
        _ => (i64::from(i32::MIN), i64::from(i32::MAX)),
    };
    let number =
        |text: &[u8], limit: i64| text.to_str().ok().and_then(|text| text.parse().ok()).unwrap_or(limit);
    match parameter.and_then(Parameter::range) {
        Some((min, max)) => (number(min, limits.0), number(max, limits.1)),
        None => limits,
    }
}

/// Returns the default of an integer or boolean parameter as a number, 0 if it is an expression; `None` for
/// other types and for parameters without a default (`param_info.cpp`, `param_default_long`).
pub fn table_default_number(parameter: Parameter, world: &dyn World) -> Option<i64> {
    let default = parameter.explicit_default()?;
    match parameter.parameter_type() {
        // The reference's table accepts only this spelling of true.
        ParameterType::Bool => Some(i64::from(default == &b"true"[..])),
        ParameterType::Int | ParameterType::Long => Some(evaluate::to_integer(&default, world).unwrap_or(0)),
        _ => None,
    }
}

/// Returns the default of a numeric parameter, 0 if it is an expression.
fn default_number(parameter: Option<Parameter>, world: &dyn World) -> i64 {
    parameter.and_then(|parameter| evaluate::to_integer(&parameter.default(), world)).unwrap_or(0)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Config, LoadOptions};
    use htc_os::RealWorld;

    fn load(text: &str) -> (Config, RealWorld) {
        let directory = tempfile::tempdir().unwrap();
        let file = directory.path().join("condor_config");
        std::fs::write(&file, text).unwrap();
        let world = RealWorld::new();
        let context = LookupContext { subsystem: "STARTD".into(), local_name: "".into() };
        let options = LoadOptions { file: Some(file), environment: false, ..LoadOptions::default() };
        let (config, _) = Config::load(&world, &context, &options).unwrap();
        (config, world)
    }

    #[test]
    fn functions_get_no_value_for_a_parameter_without_default() {
        let (config, world) = load(
            "E =\nA = $STRING(MASTER_NAME)|$STRING(E)|$STRING(SEC_TOKEN_DIRECTORY)|$BASENAME(MASTER_NAME)\n\
             B = $CHOICE(0,MASTER_NAME)$(MASTER_NAME)\n",
        );
        let view = config.view(&world);
        let text = |name| view.string(name).unwrap().map(|setting| setting.value.to_string());
        assert_eq!(text("A").as_deref(), Some("MASTER_NAME|||MASTER_NAME"));
        assert_eq!(text("B"), None);
        let messages: Vec<_> = view.take_messages().iter().map(|message| message.text.to_string()).collect();
        assert_eq!(messages, ["$CHOICE() macro: no list named \"MASTER_NAME\"!"]);
    }

    #[test]
    fn an_invalid_boolean_has_the_value_of_the_boolean_at_its_start() {
        let (config, world) = load(
            "NO_DNS = truely\nENABLE_RUNTIME_CONFIG = 1m\nCOUNT_HYPERTHREAD_CPUS = 0zz\nUPDATE_INTERVAL = maybe so\n",
        );
        let view = config.view(&world);
        let fallback = |name| view.boolean(name).unwrap_err().fallback.to_string();
        let names = ["NO_DNS", "ENABLE_RUNTIME_CONFIG", "COUNT_HYPERTHREAD_CPUS", "UPDATE_INTERVAL"];
        assert_eq!(names.map(fallback), ["true", "true", "false", "true"]);
    }

    #[test]
    fn values_have_types_ranges_and_origins() {
        let (config, world) = load(
            "A = 1\nSTARTD.A = $(B:2)\nCOLLECTOR_PORT = 70000\nNEGOTIATOR_INTERVAL = 5K\nL = a, b c\nE =\n\
             ENABLE_IPV6 = yes\nif defined A\nIN = $(A)\nelse\nOUT = 1\nendif\nX @=t\n a\n b\n@t\n",
        );
        let view = config.view(&world);
        let a = view.int("A").unwrap().unwrap();
        assert_eq!((a.value, a.raw.to_string(), a.origin.line), (2, "$(B:2)".into(), Some(2)));
        let high = view.int("COLLECTOR_PORT").unwrap_err();
        assert_eq!(high.fallback, "65535");
        assert!(view.int("NEGOTIATOR_INTERVAL").is_err());
        assert_eq!(view.list("L").unwrap().unwrap().value, ["a", "b", "c"]);
        assert!(view.string("E").unwrap().is_none());
        assert!(!view.is_defined("E") && view.raw("E").is_some());
        assert_eq!(view.string("IN").unwrap().unwrap().value, "2");
        assert!(view.string("OUT").unwrap().is_none());
        assert_eq!(view.string("X").unwrap().unwrap().value, "a\nb");
        assert!(view.int("COLLECTOR_UPDATE_INTERVAL").unwrap().unwrap().origin.is_default());
    }

    #[test]
    fn settings_of_a_slot_type_take_precedence() {
        let (config, world) = load("START = plain\nSLOT_TYPE_1_START = typed\nSLOT_TYPE_2_START =\n");
        let start = |slot_type| {
            let view = config.view_for_slot(slot_type, &world);
            view.string("START").unwrap().map(|setting| setting.value.to_string())
        };
        assert_eq!(start(Some(1)).as_deref(), Some("typed"));
        assert_eq!(start(Some(2)), None);
        assert_eq!(start(Some(3)).as_deref(), Some("plain"));
    }

    #[test]
    fn a_value_that_refers_to_itself_is_an_error_with_its_chain() {
        let (config, world) = load("A = $(B)\nB = x $(A)\n");
        let error = config.view(&world).string("A").unwrap_err().to_string();
        assert_eq!(error, "A: the value refers to itself: A -> B -> A");
    }
}
