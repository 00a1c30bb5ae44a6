//! `condor_transform_ads -convertoldroutes`: converts routes in the old syntax to transforms. Routes are read from the
//! configuration, or from a file with the summary of a configuration.

use std::ffi::OsStr;
use std::fs::File;

use bstr::{BString, ByteSlice};

use super::condor_transform_ads_apply::TransformAdsTool;
use crate::classad::{ClassAd, Dialect};
use crate::cli::common::ProgramContext;
use crate::config::{Config, ConfigView, LoadOptions, LookupContext, MacroSource, expand};
use crate::os::read_whole;
use crate::transform::route_conversion::{self, ConversionOptions, OldRouteReader};
use crate::world::World;

impl TransformAdsTool<'_> {
    /// Writes the converted routes to `out`, and returns the exit status.
    pub(super) fn convert(&self, mut options: ConversionOptions, out: &mut Vec<u8>) -> u8 {
        let mut foreign = None;
        if let Some(name) = &self.options.convert_file {
            options.old_ce = true;
            match read_summary(name, self.world) {
                Ok(config) => foreign = Some(config),
                Err(reason) => {
                    let name = name.to_string_lossy();
                    self.print_line(&format!("cannot read configuration summary '{name}': {reason}"));
                    return 1;
                }
            }
        }
        let foreign_view = foreign.as_ref().map(|config| config.view(self.world));
        let parameters = foreign_view.as_ref().unwrap_or(self.view);
        let defaults = self.route_defaults(parameters, foreign.is_some());
        let printer = RoutePrinter { program: self.program, defaults: &defaults, options, world: self.world };
        let mut names = Vec::new();
        match &foreign {
            // Macros in the entries of a summary are not expanded.
            Some(_) => {
                let entries = parameters.raw("JOB_ROUTER_ENTRIES").map(|setting| setting.value);
                entries.iter().for_each(|entries| printer.print_params(entries, out, &mut names));
            }
            None => {
                let entries = self.expanded_param(parameters, "JOB_ROUTER_ENTRIES");
                entries.iter().for_each(|entries| printer.print_list(entries, "JOB_ROUTER_ENTRIES", out));
            }
        }
        if let Some(path) = self.expanded_param(parameters, "JOB_ROUTER_ENTRIES_FILE") {
            if foreign.is_some() {
                out.extend_from_slice(&[b"need JOB_ROUTER_ENTRIES_FILE ", &path[..], b"\n"].concat());
            }
            match File::open(path.to_path_lossy()).and_then(read_whole) {
                Ok(text) => printer.print_list(&text, "JOB_ROUTER_ENTRIES_FILE", out),
                Err(error) => {
                    self.print_line(&format!(
                        "cannot open '{path}', named by JOB_ROUTER_ENTRIES_FILE: {error}"
                    ));
                }
            }
        }
        if foreign.is_some() && parameters.raw("JOB_ROUTER_ROUTE_NAMES").is_none() {
            let names: Vec<&[u8]> = names.iter().map(|name: &BString| &name[..]).collect();
            out.extend_from_slice(&[b"\nJOB_ROUTER_ROUTE_NAMES = ", &names.join(&b' ')[..], b"\n"].concat());
        }
        0
    }

    /// Returns the expanded value of a parameter, or `None` if it is empty.
    fn expanded_param(&self, parameters: &ConfigView<'_>, name: &str) -> Option<BString> {
        let raw = MacroSource::raw(parameters, name.as_bytes())?;
        let text = expand::expand(&raw, parameters, self.world, &mut |_| {}).ok()?;
        Some(BString::from(text.trim())).filter(|text| !text.is_empty())
    }

    /// Returns the defaults of all routes. Defaults that the router generates are left out if the configuration is a
    /// summary.
    fn route_defaults(&self, parameters: &ConfigView<'_>, is_summary: bool) -> ClassAd {
        let parse_defaults = |name: &str, merge| {
            let (ad, error) = route_conversion::parse_route_defaults(
                &self.expanded_param(parameters, name).unwrap_or_default(),
                merge,
            );
            if let Some(error) = error {
                self.print_line(&format!("{name} cannot be read to its end: {error}"));
            }
            ad
        };
        let merge = parameters.flag("MERGE_JOB_ROUTER_DEFAULT_ADS", false);
        let mut defaults = parse_defaults("JOB_ROUTER_DEFAULTS", merge);
        if is_summary {
            for (name, expr) in parse_defaults("JOB_ROUTER_DEFAULTS_GENERATED", false).sorted() {
                if defaults.get(name).is_some_and(|own| own == expr) {
                    defaults.remove(name);
                }
            }
        }
        defaults
    }
}

/// Reads a file with the output of `condor_config_val -summary`. Only the settings in the file are used, without defaults.
fn read_summary(name: &OsStr, world: &dyn World) -> Result<Config, String> {
    let context = LookupContext { subsystem: "JOB_ROUTER".into(), ..LookupContext::default() };
    let options = LoadOptions { file: Some(name.into()), environment: false, ..LoadOptions::default() };
    Config::load(world, &context, &options).map(|(config, _)| config).map_err(|error| error.to_string())
}

struct RoutePrinter<'a> {
    program: &'a ProgramContext,
    defaults: &'a ClassAd,
    options: ConversionOptions,
    world: &'a dyn World,
}

impl RoutePrinter<'_> {
    /// Prints the routes in a text, each with a numbered title. A text that is not an ad yields an empty entry, as in the
    /// reference.
    fn print_list(&self, text: &[u8], title: &str, out: &mut Vec<u8>) {
        for (number, route) in OldRouteReader::new(text).enumerate() {
            let formatted = match route {
                Ok(route) => {
                    route_conversion::convert_route(&route, b"", self.defaults, self.options, self.world)
                        .format_like_reference("", true, Dialect::of_world(self.world))
                }
                Err(error) => {
                    self.print_error(&format!("{title} [{}]: {error}", number + 1));
                    Ok(BString::default())
                }
            };
            let Ok(formatted) = formatted.map_err(|error| self.print_error(&error.to_string())) else {
                continue;
            };
            out.extend_from_slice(format!("\n##### {title} [{}] #####\n", number + 1).as_bytes());
            out.extend_from_slice(&formatted);
            out.push(b'\n');
        }
    }

    /// Prints the routes in a text as definitions of parameters. Routes without a name are skipped.
    fn print_params(&self, text: &[u8], out: &mut Vec<u8>, names: &mut Vec<BString>) {
        let mut number = 1;
        for route in OldRouteReader::new(text) {
            let route = match route {
                Ok(route) => route,
                Err(error) => {
                    self.print_error(&format!("JOB_ROUTER_ENTRIES: {error}"));
                    continue;
                }
            };
            let converted =
                route_conversion::convert_route(&route, b"", self.defaults, self.options, self.world);
            let tag = param_name_part(&converted.name);
            if tag.is_empty() {
                continue;
            }
            let Ok(formatted) = converted
                .format_like_reference("   ", tag != converted.name, Dialect::of_world(self.world))
                .map_err(|error| self.print_error(&error.to_string()))
            else {
                continue;
            };
            out.extend_from_slice(
                format!("\n##### Route {number}\nJOB_ROUTER_ROUTE_{tag} @=jre\n").as_bytes(),
            );
            out.extend_from_slice(&formatted);
            out.extend_from_slice(b"\n@jre\n");
            names.push(tag);
            number += 1;
        }
    }

    fn print_error(&self, text: &str) {
        self.program.write_line(text);
    }
}

/// Returns a route's name in a form that can be part of a parameter name: only letters, digits and `_`
/// (`cleanStringForUseAsAttr`).
fn param_name_part(name: &[u8]) -> BString {
    name.iter().copied().filter(|b| b.is_ascii_alphanumeric() || *b == b'_').collect::<Vec<u8>>().into()
}
