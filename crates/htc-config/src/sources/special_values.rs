//! The special values: properties of the machine and the process, and the few settings that the tool itself
//! reads (`condor_config.cpp`, `reinsert_specials`).

use std::borrow::Cow;

use bstr::{BStr, BString, ByteSlice};

use crate::config_view::ConfigView;
use crate::defaults;
use crate::detected::{self, AddressSettings, HostSettings, NetworkInterface};
use crate::evaluate;
use crate::load_warning::LoadWarningSubject;
use crate::loader::{LoadFailure, Loader};
use crate::macro_definition::{DefinitionPlace, FoundMacro, SourceId};
use crate::macro_set::ValueReplacement;
use htc_base::text::list;

/// Values that files cannot change, in the order in which the reference inserts them. SUBSYSTEM and
/// LOCALNAME, which are in the table like settings, follow the first three.
const HOST_NAMES: [&str; 3] = ["TILDE", "HOSTNAME", "FULL_HOSTNAME"];
/// The detected values that the reference inserts before it reads any source, in its order; SUBSYSTEM and
/// LOCALNAME come between the two lists.
const MACHINE_NAMES: [&str; 18] = [
    "TILDE",
    "ARCH",
    "UNAME_ARCH",
    "OPSYS",
    "OPSYSVER",
    "OPSYSANDVER",
    "UNAME_OPSYS",
    "OPSYSMAJORVER",
    "OPSYSNAME",
    "OPSYSLONGNAME",
    "OPSYSSHORTNAME",
    "OPSYSLEGACY",
    "UTSNAME_SYSNAME",
    "UTSNAME_NODENAME",
    "UTSNAME_RELEASE",
    "UTSNAME_VERSION",
    "UTSNAME_MACHINE",
    "CondorIsAdmin",
];
const CAPACITY_NAMES: [&str; 5] =
    ["DETECTED_MEMORY", "DETECTED_PHYSICAL_CPUS", "DETECTED_CPUS", "DETECTED_CORES", "DETECTED_CPUS_LIMIT"];
const PROCESS_NAMES: [&str; 11] = [
    "USERNAME",
    "REAL_UID",
    "REAL_GID",
    "PID",
    "PPID",
    "IP_ADDRESS",
    "IP_ADDRESS_IS_IPV6",
    "IPV4_ADDRESS",
    "IPV6_ADDRESS",
    "DETECTED_CPUS",
    "DETECTED_CPUS_LIMIT",
];

/// Parameters that determine the addresses of the host.
pub(super) const NETWORK_PARAMETERS: [&str; 3] = ["NETWORK_INTERFACE", "ENABLE_IPV4", "ENABLE_IPV6"];

/// Parses a value of NETWORK_INTERFACE.
pub(super) fn parse_interface(value: &BStr) -> NetworkInterface {
    match value.to_str_lossy().parse() {
        Ok(address) => NetworkInterface::Address(address),
        Err(_) if *value == "*" => NetworkInterface::Any,
        Err(_) => NetworkInterface::Patterns(value.to_owned()),
    }
}

impl Loader<'_> {
    /// Returns a boolean, with the reference's warning if it is invalid; `default` is used for names that have no
    /// default in the table.
    pub(super) fn read_flag(&mut self, name: &str, default: bool) -> bool {
        let view = ConfigView::new(&self.set, self.context.clone(), self.world);
        match view.boolean(name) {
            Ok(setting) => setting.map_or(default, |setting| setting.value),
            Err(error) => {
                let has_default = defaults::find(name.as_bytes()).is_some();
                let mut text = error.to_string();
                if !has_default && let Some(at) = text.rfind("(default is ") {
                    text.truncate(at);
                    text += if default { "(default is True)" } else { "(default is False)" };
                }
                let text = format!("ERROR \"{text}\" at line 2659 in file condor_config.cpp");
                let fallback = error.fallback == b"true"[..];
                self.warn_about(LoadWarningSubject::Parameter(name.into()), text);
                fallback
            }
        }
    }

    /// Reads the settings that the tool itself reads after all sources (`ClassAdReconfig` and others). It
    /// sets strict mode; the other settings only produce warnings about invalid values.
    pub(super) fn read_tool_settings(&mut self) -> Result<(), LoadFailure> {
        let read = [
            ("ABORT_ON_EXCEPTION", false),
            ("CONDOR_FSYNC", true),
            ("STRICT_CLASSAD_EVALUATION", false),
            ("ENABLE_CLASSAD_CACHING", true),
        ];
        for (name, default) in read {
            let value = self.read_flag(name, default);
            if name == "STRICT_CLASSAD_EVALUATION" {
                self.set.strict = value;
            }
        }
        if self.counts_uses() {
            self.expanded_value("CLASSAD_USER_LIBS")?;
            self.read_user_maps()?;
            if self.expanded_value("CLASSAD_USER_PYTHON_MODULES")?.is_some() {
                self.expanded_value("CLASSAD_USER_PYTHON_LIB")?;
            }
        }
        Ok(())
    }

    /// Reads the settings of `userMap()` (`classad_usermap.cpp`, `reconfig_user_maps`).
    fn read_user_maps(&mut self) -> Result<(), LoadFailure> {
        let names = self
            .expanded_value(&format!("{}_CLASSAD_USER_MAP_NAMES", self.context.subsystem))?
            .unwrap_or_default();
        for name in list::split(&names) {
            let name = name.to_str_lossy();
            if self.expanded_value(&format!("CLASSAD_USER_MAPFILE_{name}"))?.is_none() {
                self.expanded_value(&format!("CLASSAD_USER_MAPDATA_{name}"))?;
            }
        }
        Ok(())
    }

    /// Returns true if look-ups are counted. All look-ups of the reference are then made, even if their values are not
    /// needed.
    pub(super) fn counts_uses(&self) -> bool {
        self.set.use_counts.is_some()
    }

    /// Returns true if each step of inserting detected values must be recorded, not only the result.
    fn records_replacements(&self) -> bool {
        self.set.record_replacements || self.set.string_pool.is_some()
    }

    /// Stores a definition. A definition that replaces a detected value keeps its spelling, and is recorded
    /// as a replacement if replacements are recorded.
    pub(crate) fn insert(&mut self, name: &[u8], raw: BString, place: DefinitionPlace) {
        self.insert_value(name, Cow::Owned(raw.into()), place);
    }

    /// Does the same as [`Loader::insert`], but a value that is a part of a kept text is not copied.
    pub(crate) fn insert_value(&mut self, name: &[u8], raw: Cow<'_, [u8]>, place: DefinitionPlace) {
        let mut shown: Cow<'_, [u8]> = Cow::Borrowed(name);
        let mut pool = None;
        if let Some(known) = detected::spelling(name)
            && (self.records_replacements()
                || known.as_bytes() != name
                || self.set.displaced_entries().next().is_some())
            && self.set.find_exact(name).is_none()
            && let Some((_, value)) = self.set.detected.find(name, self.world)
        {
            shown = Cow::Owned(self.set.display_spelling(known).to_vec());
            let old_value = value.to_owned();
            pool = self.set.string_pool.take();
            if let Some(pool) = pool.as_mut().filter(|_| old_value != *raw) {
                pool.push(&raw);
            }
            if self.set.record_replacements {
                self.record_replacement(name, old_value, DefinitionPlace::without_line(SourceId::DETECTED));
            }
        }
        self.set.insert_as(&shown, name, raw, place);
        if pool.is_some() {
            self.set.string_pool = pool;
        }
    }

    fn record_replacement(&mut self, name: &[u8], old_value: BString, place: DefinitionPlace) {
        self.set.replacements.push(ValueReplacement { name: name.into(), old_raw: old_value, place });
    }

    /// Inserts values before any source is read (`fill_attributes`): SUBSYSTEM and LOCALNAME, and all detected values
    /// if the strings that the reference copies are counted.
    pub(super) fn insert_initial_values(&mut self) {
        self.record_detected_strings(&MACHINE_NAMES);
        self.insert_identity();
        self.record_detected_strings(&CAPACITY_NAMES);
    }

    fn record_detected_strings(&mut self, names: &[&str]) {
        let Some(mut pool) = self.set.string_pool.take() else { return };
        for name in names {
            if let Some((_, value)) = self.set.detected.find(name.as_bytes(), self.world) {
                pool.push_entry(name.as_bytes(), value, false);
            }
        }
        self.set.string_pool = Some(pool);
    }

    /// Inserts SUBSYSTEM and LOCALNAME.
    fn insert_identity(&mut self) {
        let place = DefinitionPlace::without_line(SourceId::DETECTED);
        let local = if self.context.local_name.is_empty() {
            &self.context.subsystem
        } else {
            &self.context.local_name
        };
        let local = local.clone();
        self.set.insert(b"SUBSYSTEM", self.context.subsystem.clone(), place);
        self.set.insert(b"LOCALNAME", local, place);
    }

    /// Inserts the host's names.
    pub(super) fn insert_host_names(&mut self) -> Result<(), LoadFailure> {
        let before = self.snapshot_detected();
        let host = self.read_host_settings()?;
        self.set.detected.set_host(host);
        let addresses = self.read_address_settings();
        self.set.detected.set_addresses(addresses);
        self.remove_for_detected(&HOST_NAMES, &before);
        Ok(())
    }

    /// Reads the settings that determine the host's names (`ipv6_hostname.cpp`, `init_local_hostname_impl`).
    pub(super) fn read_host_settings(&mut self) -> Result<HostSettings, LoadFailure> {
        let network = self.expanded_value("NETWORK_HOSTNAME").ok().flatten().unwrap_or_default();
        // If there is no name service, the name of the host is derived from its address.
        let by_address = network.is_empty() && self.read_flag("NO_DNS", false);
        let mut is_full = network.contains(&b'.');
        if self.counts_uses() {
            if by_address {
                self.read_interface()?;
                is_full = self.expanded_value("DEFAULT_DOMAIN_NAME")?.is_some();
            } else if network.is_empty() {
                is_full = self.world.host()[1].contains('.');
            }
            self.read_interface()?;
        }
        let no_dns = self.read_flag("NO_DNS", false);
        if self.counts_uses() && !no_dns && network.is_empty() {
            let wants_v6 = self.expanded_value("ENABLE_IPV6")?;
            if wants_v6.is_none_or(|text| evaluate::to_boolean(&text, &self.world_in_mode()) != Some(false)) {
                self.expanded_value("ENABLE_IPV4")?;
            }
        }
        let domain = match self.counts_uses() && is_full {
            true => self.peek_value("DEFAULT_DOMAIN_NAME"),
            false => self.expanded_value("DEFAULT_DOMAIN_NAME").ok().flatten(),
        };
        let by_address = by_address.then(|| self.read_address_settings());
        Ok(HostSettings {
            network_hostname: network,
            default_domain: domain.unwrap_or_default(),
            no_dns_address: by_address,
        })
    }

    /// Returns true if no source sets a parameter about addresses.
    pub(super) fn has_default_network(&self) -> bool {
        NETWORK_PARAMETERS.iter().all(|name| {
            let found = self.set.find_uncounted(name.as_bytes(), &self.context, self.world);
            found.is_some_and(|found| matches!(found, FoundMacro::Default(_)))
        })
    }

    fn read_address_settings(&mut self) -> AddressSettings {
        if self.has_default_network() {
            return AddressSettings::default();
        }
        let [named, v4, v6] = NETWORK_PARAMETERS.map(|name| self.peek_value(name).unwrap_or_default());
        let truth = |text: BString| evaluate::to_boolean(&text, &self.world_in_mode());
        AddressSettings {
            interface: parse_interface(named.as_ref()),
            enabled_families: [truth(v4), truth(v6)],
        }
    }

    /// Returns a value, without counting the look-up.
    fn peek_value(&mut self, name: &str) -> Option<BString> {
        let counts = self.set.use_counts.take();
        let value = self.expanded_value(name).ok().flatten();
        self.set.use_counts = counts;
        value
    }

    fn read_interface(&mut self) -> Result<(), LoadFailure> {
        self.expanded_value("NETWORK_INTERFACE")?;
        let settings = self.read_address_settings();
        match settings.interface {
            NetworkInterface::Address(_) => Ok(()),
            _ => self.read_families(&settings),
        }
    }

    /// Reads the settings on which the choice of an address depends (`my_hostname.cpp`,
    /// `network_interface_to_sockaddr`).
    pub(super) fn read_families(&mut self, settings: &AddressSettings) -> Result<(), LoadFailure> {
        if matches!(settings.interface, NetworkInterface::Address(_)) {
            return Ok(());
        }
        const FAMILY_PARAMETERS: [&str; 2] = ["ENABLE_IPV4", "ENABLE_IPV6"];
        for name in FAMILY_PARAMETERS {
            self.expanded_value(name)?;
        }
        if detected::has_unreachable_family(settings, self.world) {
            for (wanted, name) in settings.enabled_families.iter().zip(FAMILY_PARAMETERS) {
                if *wanted != Some(false) {
                    self.expanded_value(name)?;
                }
            }
        }
        Ok(())
    }

    /// Returns the current detected values, or nothing unless replacements are recorded.
    fn snapshot_detected(&self) -> Vec<(&'static str, BString)> {
        if !self.records_replacements() {
            return Vec::new();
        }
        self.set.detected.all(self.world).map(|(name, value)| (name, value.to_owned())).collect()
    }

    /// Removes definitions of detected names from the table if there is a detected value.
    fn remove_for_detected(&mut self, names: &[&'static str], before: &[(&'static str, BString)]) {
        for name in names {
            let records_steps = self.records_replacements();
            let set = self
                .set
                .find_exact(name.as_bytes())
                .map(|entry| (BString::from(&entry.current.raw), entry.current.place));
            if !records_steps && set.is_none() {
                continue;
            }
            let Some((_, new_value)) = self.set.detected.find(name.as_bytes(), self.world) else {
                continue;
            };
            if records_steps {
                let new_value = new_value.to_owned();
                let old_value = before.iter().find(|(known, _)| known == name);
                let old_value = old_value.map(|(_, old_value)| {
                    (old_value.clone(), DefinitionPlace::without_line(SourceId::DETECTED))
                });
                let old_value = set.clone().or(old_value);
                if let Some(pool) = &mut self.set.string_pool {
                    match &old_value {
                        Some((old_value, _)) if *old_value == new_value => {}
                        Some(_) => pool.push(&new_value),
                        None => pool.push_entry(name.as_bytes(), &new_value, false),
                    }
                }
                if let Some((old_value, place)) = old_value.filter(|_| self.set.record_replacements) {
                    self.record_replacement(name.as_bytes(), old_value, place);
                }
            }
            if set.is_some() {
                self.set.displace(name);
            }
        }
    }

    /// Makes detected values override the sources. If `is_last`, the host's names are detected again.
    pub(super) fn force_detected(&mut self, is_last: bool) -> Result<(), LoadFailure> {
        let before = self.snapshot_detected();
        if is_last {
            self.insert_host_names()?;
        } else {
            self.remove_for_detected(&HOST_NAMES, &before);
        }
        self.insert_identity();
        self.check_user_cache()?;
        self.set.detected.has_process_values = true;
        if self.set.find_exact(b"COUNT_HYPERTHREAD_CPUS").is_some() || self.counts_uses() {
            let count = self.read_flag("COUNT_HYPERTHREAD_CPUS", true);
            self.set.detected.set_count_hyperthreads(count);
        }
        self.remove_for_detected(&PROCESS_NAMES, &before);
        Ok(())
    }

    /// Reads the settings of the reference's cache of user names, once (`passwd_cache.unix.cpp`).
    fn check_user_cache(&mut self) -> Result<(), LoadFailure> {
        if self.set.detected.has_process_values
            || self.set.find_exact(b"PASSWD_CACHE_REFRESH").is_none() && !self.counts_uses()
        {
            return Ok(());
        }
        let view = ConfigView::new(&self.set, self.context.clone(), self.world);
        if let Err(error) = view.int("PASSWD_CACHE_REFRESH") {
            let text = format!("ERROR \"{error}\" at line 2283 in file condor_config.cpp");
            self.warn_about(LoadWarningSubject::Parameter("PASSWD_CACHE_REFRESH".into()), text);
        }
        if self.counts_uses() {
            self.expanded_value("USERID_MAP")?;
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use crate::{Config, LoadOptions, LookupContext};
    use htc_os::RealWorld;

    #[test]
    fn each_configuration_has_its_own_mode() {
        let directory = tempfile::tempdir().unwrap();
        let file = directory.path().join("condor_config");
        let text = "STARTER.STRICT_CLASSAD_EVALUATION = 2 > 1\nNUMBER = 010 + 1\n";
        std::fs::write(&file, text).unwrap();
        let options = LoadOptions { file: Some(file), environment: false, ..LoadOptions::default() };
        let world = RealWorld::new();
        let load = |subsystem: &str| {
            let context = LookupContext { subsystem: subsystem.into(), ..LookupContext::default() };
            Config::load(&world, &context, &options).unwrap().0
        };
        let number = |config: &Config| {
            config.view(&world).int("NUMBER").map(|number| number.map(|number| number.value)).ok().flatten()
        };
        let (startd, starter, again) = (load("STARTD"), load("STARTER"), load("STARTD"));
        for _ in 0..2 {
            assert_eq!([&startd, &starter, &again].map(Config::is_strict), [false, true, false]);
            assert_eq!([&startd, &starter, &again].map(number), [None, Some(11), None]);
        }
    }
}
