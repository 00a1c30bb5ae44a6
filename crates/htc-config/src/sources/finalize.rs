//! Steps after all sources have been read: the network and the domains are determined, and `AUTO_USE_*` is
//! applied.

use bstr::{BString, ByteSlice};

use crate::condition;
use crate::defaults;
use crate::detected::{AddressSettings, HostAddresses, NetworkInterface};
use crate::evaluate;
use crate::load_warning::LoadWarningSubject;
use crate::loader::{LoadFailure, Loader};
use crate::macro_definition::{ConfigSource, DefinitionPlace, SourceId, SourceKind};
use crate::parse::TemplateUse;
use crate::sources::special_values::{self, NETWORK_PARAMETERS};
use crate::template;
use htc_base::text::caseless;

impl Loader<'_> {
    /// Checks the network settings as the reference does (`my_hostname.cpp`, `validate_network_interfaces`).
    pub(super) fn check_network(&mut self) -> Result<(), LoadFailure> {
        if !self.counts_uses() && self.has_default_network() {
            return Ok(());
        }
        let [interface, v4, v6] = NETWORK_PARAMETERS.map(|name| self.expanded_value(name));
        let (interface, v4, v6) =
            (interface?.unwrap_or_default(), v4?.unwrap_or_default(), v6?.unwrap_or_default());
        let truth = |text: &BString| evaluate::to_boolean(text, &self.world_in_mode());
        let (want4, want6) = (truth(&v4), truth(&v6));
        let both_refused = (want4, want6) == (Some(false), Some(false));
        let settings = AddressSettings {
            // A link-local address is not usable without its interface, so it is matched against the
            // interfaces.
            interface: match special_values::parse_interface(interface.as_ref()) {
                NetworkInterface::Address(core::net::IpAddr::V6(address))
                    if address.is_unicast_link_local() =>
                {
                    NetworkInterface::Patterns(interface.clone())
                }
                other => other,
            },
            enabled_families: [want4, want6],
        };
        if self.counts_uses() && !both_refused {
            self.read_families(&settings)?;
        }
        let found = HostAddresses::from_settings(&settings, self.world);
        let [has4, has6] = found.families.map(|address| address.is_some());
        let is_not_auto = |text: &BString| !caseless::eq(text, b"auto");
        let invalid_setting = |kind: &str, text: &BString| {
            format!("ENABLE_{kind} is '{text}', must be 'true', 'false', or 'auto'.")
        };
        let missing_address = |kind: &str, other: &str| {
            format!(
                "ENABLE_{kind} is TRUE, but no {kind2} address was detected.  Ensure that your NETWORK_INTERFACE \
                 parameter is not set to an {other} address.",
                kind2 = kind.replace("IPV", "IPv")
            )
        };
        let (number, problem) = match () {
            () if both_refused => {
                (1, "ENABLE_IPV4 and ENABLE_IPV6 are both false.".to_owned())
            }
            () if found.best.is_none() => {
                (2, format!("Failed to determine my IP address using NETWORK_INTERFACE={interface}"))
            }
            () if !has4 && want4 == Some(true) => (3, missing_address("IPV4", "IPv6")),
            () if want4.is_none() && is_not_auto(&v4) => (4, invalid_setting("IPV4", &v4)),
            () if !has6 && want6 == Some(true) => (5, missing_address("IPV6", "IPv4")),
            () if want6.is_none() && is_not_auto(&v6) => (6, invalid_setting("IPV6", &v6)),
            () if has4 && want4 == Some(false) => {
                (7, "ENABLE_IPV4 is false, yet we found an IPv4 address.  Ensure that NETWORK_INTERFACE is set appropriately.".to_owned())
            }
            () if has6 && want6 == Some(false) => {
                (8, "ENABLE_IPV6 is false, yet we found an IPv6 address.  Ensure that NETWORK_INTERFACE is set appropriately.".to_owned())
            }
            () => return Ok(()),
        };
        // The other problems depend on the addresses of this machine.
        let subject = match number {
            1 | 4 => LoadWarningSubject::Parameter("ENABLE_IPV4".into()),
            6 => LoadWarningSubject::Parameter("ENABLE_IPV6".into()),
            _ => LoadWarningSubject::ThisMachine,
        };
        self.warn_about(subject, format!("validate_network_interfaces:{number}:{problem}"));
        Ok(())
    }

    /// Sets FILESYSTEM_DOMAIN and UID_DOMAIN if they are undefined.
    pub(super) fn set_default_domains(&mut self) -> Result<(), LoadFailure> {
        for name in ["FILESYSTEM_DOMAIN", "UID_DOMAIN"] {
            if self.expanded_value(name)?.is_none() {
                let host = self.set.detected.find(b"FULL_HOSTNAME", self.world);
                let host = host.map(|(_, host)| host.to_owned()).unwrap_or_default();
                self.insert(name.as_bytes(), host, DefinitionPlace::without_line(SourceId::DETECTED));
            }
        }
        Ok(())
    }

    /// Applies the template of each parameter `AUTO_USE_<CATEGORY>_<NAME>` whose value is a true condition.
    pub(super) fn apply_auto_use(&mut self) -> Result<(), LoadFailure> {
        let set = self.set.entries().filter(|entry| split_auto_use_name(&entry.name).is_some());
        let mut names: Vec<BString> = set.map(|entry| (&entry.name).into()).collect();
        for parameter in defaults::with_prefix(b"AUTO_USE_") {
            if !names.iter().any(|name| caseless::eq(name, parameter.name())) {
                names.push(parameter.name().into());
            }
        }
        names.sort_by(|a, b| caseless::cmp(a, b));
        for name in names {
            let Some((category, short)) = split_auto_use_name(&name) else {
                continue;
            };
            let Some(trigger) = self.expanded_value(&name.to_str_lossy())? else {
                continue;
            };
            let mut messages = Vec::new();
            let holds = condition::test_condition(
                &trigger,
                &self.macro_source(),
                &self.world_in_mode(),
                &mut |message| messages.push(message),
            );
            self.warn_messages(messages);
            match holds {
                Ok(true) => {}
                Ok(false) => continue,
                Err(error) => {
                    self.warn_about(
                        LoadWarningSubject::Parameter(name.clone()),
                        format!("Configuration error while interpreting {name} : {error}"),
                    );
                    continue;
                }
            }
            let Some(found) = template::find(category, short) else {
                let (category, short) = (category.as_bstr(), short.as_bstr());
                let text = format!(
                    "Configuration error while interpreting {name} : no template named {category}:{short}"
                );
                self.warn_about(LoadWarningSubject::Parameter(name.clone()), text);
                continue;
            };
            let source = self.set.add_source(ConfigSource::new(name.clone(), SourceKind::Special, None));
            let place = DefinitionPlace { line: Some(0), ..DefinitionPlace::without_line(source) };
            let body = template::insert_arguments(&found.body(), b"").unwrap_or_default();
            // The reference ignores failures of these templates.
            let _ = self.process_template(found, &body, TemplateUse { place, depth: 1 });
        }
        Ok(())
    }
}

/// Returns the category and the name in `AUTO_USE_<CATEGORY>_<NAME>`.
fn split_auto_use_name(name: &[u8]) -> Option<(&[u8], &[u8])> {
    let rest = name.get(b"AUTO_USE_".len()..).filter(|_| caseless::starts_with(name, b"AUTO_USE_"))?;
    let letters = rest.iter().take_while(|b| b.is_ascii_alphabetic()).count();
    let (category, rest) = rest.split_at(letters);
    let short = rest.strip_prefix(b"_")?;
    (!category.is_empty() && !short.is_empty()).then_some((category, short))
}
