//! `condor_transform_ads -convertoldroutes`: old routes of the configuration or of a summary of one, as transforms.

use std::ffi::OsStr;
use std::fs::File;

use bstr::{BString, ByteSlice};

use crate::classad::{ClassAd, Dialect};
use crate::cli::common::Session as Program;
use crate::config::{Config, LoadOptions, MacroSource, View, Who, expand};
use crate::os::read_whole;
use crate::transform::legacy::{self, Options, Routes};
use crate::world::World;

/// Writes the converted routes to `out`; the status.
pub(super) fn convert(
    program: &Program,
    mut options: Options,
    file: Option<&OsStr>,
    world: &dyn World,
    view: &View<'_>,
    out: &mut Vec<u8>,
) -> u8 {
    let tell = |text: String| program.say(&text);
    let foreign = match file {
        None => None,
        Some(name) => {
            options.old_ce = true;
            match summary(name, world) {
                Ok(config) => Some(config),
                Err(reason) => {
                    tell(format!("cannot read configuration summary '{}': {reason}", name.to_string_lossy()));
                    return 1;
                }
            }
        }
    };
    let foreign_view = foreign.as_ref().map(|config| config.view(world));
    let knobs = foreign_view.as_ref().unwrap_or(view);
    let expanded = |name: &str| {
        let raw = MacroSource::raw(knobs, name.as_bytes())?;
        let text = expand::expand(&raw, knobs, world, &mut |_| {}).ok()?;
        Some(BString::from(text.trim())).filter(|text| !text.is_empty())
    };
    let merge = knobs.flag("MERGE_JOB_ROUTER_DEFAULT_ADS", false);
    let read_defaults = |name: &str, merge| {
        let (ad, error) = legacy::defaults(&expanded(name).unwrap_or_default(), merge);
        if let Some(error) = error {
            tell(format!("{name} cannot be read to its end: {error}"));
        }
        ad
    };
    let mut defaults = read_defaults("JOB_ROUTER_DEFAULTS", merge);
    if foreign.is_some() {
        let generated = read_defaults("JOB_ROUTER_DEFAULTS_GENERATED", false);
        for (name, expr) in generated.sorted() {
            if defaults.get(name).is_some_and(|own| own == expr) {
                defaults.remove(name);
            }
        }
    }
    let printer = Printer { program, defaults: &defaults, options, world };
    // Of a summary the entries are taken as they stand there, macros unexpanded.
    let entries = match &foreign {
        Some(_) => knobs.raw("JOB_ROUTER_ENTRIES").map(|setting| setting.value),
        None => expanded("JOB_ROUTER_ENTRIES"),
    };
    let mut names = Vec::new();
    if let Some(entries) = entries {
        match &foreign {
            Some(_) => printer.knobs(&entries, out, &mut names),
            None => printer.list(&entries, "JOB_ROUTER_ENTRIES", out),
        }
    }
    if let Some(path) = expanded("JOB_ROUTER_ENTRIES_FILE") {
        if foreign.is_some() {
            out.extend_from_slice(&[b"need JOB_ROUTER_ENTRIES_FILE ", &path[..], b"\n"].concat());
        }
        match File::open(path.to_path_lossy()).and_then(read_whole) {
            Ok(text) => printer.list(&text, "JOB_ROUTER_ENTRIES_FILE", out),
            Err(error) => tell(format!("cannot open '{path}', named by JOB_ROUTER_ENTRIES_FILE: {error}")),
        }
    }
    if foreign.is_some() && knobs.raw("JOB_ROUTER_ROUTE_NAMES").is_none() {
        let names: Vec<&[u8]> = names.iter().map(|name: &BString| &name[..]).collect();
        out.extend_from_slice(&[b"\nJOB_ROUTER_ROUTE_NAMES = ", &names.join(&b' ')[..], b"\n"].concat());
    }
    0
}

/// A file of the form that `condor_config_val -summary` writes; only what it says itself counts.
fn summary(name: &OsStr, world: &dyn World) -> Result<Config, String> {
    let who = Who { subsystem: "JOB_ROUTER".into(), ..Who::default() };
    let options = LoadOptions { file: Some(name.into()), environment: false, ..LoadOptions::default() };
    Config::load(world, &who, &options).map(|(config, _)| config).map_err(|error| error.to_string())
}

struct Printer<'a> {
    program: &'a Program,
    defaults: &'a ClassAd,
    options: Options,
    world: &'a dyn World,
}

impl Printer<'_> {
    /// The routes of a text under numbered titles. What is no ad makes an empty entry, as in the reference.
    fn list(&self, text: &[u8], title: &str, out: &mut Vec<u8>) {
        for (number, route) in Routes::new(text).enumerate() {
            let formatted =
                match route {
                    Ok(route) => legacy::convert(&route, b"", self.defaults, self.options, self.world)
                        .formatted("", true, Dialect::of(self.world)),
                    Err(error) => {
                        self.complain(&format!("{title} [{}]: {error}", number + 1));
                        Ok(BString::default())
                    }
                };
            let Ok(formatted) = formatted.map_err(|error| self.complain(&error.to_string())) else {
                continue;
            };
            out.extend_from_slice(format!("\n##### {title} [{}] #####\n", number + 1).as_bytes());
            out.extend_from_slice(&formatted);
            out.push(b'\n');
        }
    }

    /// The routes of a text as definitions of knobs; routes without a name are left out.
    fn knobs(&self, text: &[u8], out: &mut Vec<u8>, names: &mut Vec<BString>) {
        let mut number = 1;
        for route in Routes::new(text) {
            let route = match route {
                Ok(route) => route,
                Err(error) => {
                    self.complain(&format!("JOB_ROUTER_ENTRIES: {error}"));
                    continue;
                }
            };
            let converted = legacy::convert(&route, b"", self.defaults, self.options, self.world);
            let tag = knob_name(&converted.name);
            if tag.is_empty() {
                continue;
            }
            let Ok(formatted) = converted
                .formatted("   ", tag != converted.name, Dialect::of(self.world))
                .map_err(|error| self.complain(&error.to_string()))
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

    fn complain(&self, text: &str) {
        self.program.say(text);
    }
}

/// A route's name as part of a knob's name: letters, digits and `_` only (`cleanStringForUseAsAttr`).
fn knob_name(name: &[u8]) -> BString {
    name.iter().copied().filter(|b| b.is_ascii_alphanumeric() || *b == b'_').collect::<Vec<u8>>().into()
}
