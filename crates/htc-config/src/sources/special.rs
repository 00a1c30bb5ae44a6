//! The special values: facts of the machine and the process, and the few settings that the tool itself reads
//! (`condor_config.cpp`, `reinsert_specials`).

use std::borrow::Cow;

use bstr::{BStr, BString, ByteSlice};

use crate::defaults;
use crate::detected::{self, AddressSettings, HostSettings, Interface};
use crate::evaluate;
use crate::loader::{Loader, Stop};
use crate::macro_set::{Found, Place, Replacement, SourceId};
use crate::view::View;
use htc_base::text::list;

/// Values that files cannot change, in the order in which the reference puts them in. SUBSYSTEM and LOCALNAME, which stand in the table like
/// settings, follow the first three.
const HOST: [&str; 3] = ["TILDE", "HOSTNAME", "FULL_HOSTNAME"];
/// The detected values that the reference puts in before it reads any source, in its order; SUBSYSTEM and LOCALNAME stand
/// between the two lists.
const MACHINE: [&str; 18] = [
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
const CAPACITY: [&str; 5] =
    ["DETECTED_MEMORY", "DETECTED_PHYSICAL_CPUS", "DETECTED_CPUS", "DETECTED_CORES", "DETECTED_CPUS_LIMIT"];
const PROCESS: [&str; 11] = [
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

/// What the host's addresses are chosen by.
pub(super) const NETWORK: [&str; 3] = ["NETWORK_INTERFACE", "ENABLE_IPV4", "ENABLE_IPV6"];

/// What a value of NETWORK_INTERFACE names.
pub(super) fn interface(value: &BStr) -> Interface {
    match value.to_str_lossy().parse() {
        Ok(address) => Interface::Address(address),
        Err(_) if *value == "*" => Interface::Any,
        Err(_) => Interface::Patterns(value.to_owned()),
    }
}

impl Loader<'_> {
    /// A truth value with the reference's complaint if it is none; `default` for names without a default in the table.
    pub(super) fn flag(&mut self, name: &str, default: bool) -> bool {
        let view = View::new(&self.set, self.who.clone(), self.world);
        match view.boolean(name) {
            Ok(setting) => setting.map_or(default, |setting| setting.value),
            Err(error) => {
                let has_default = defaults::find(name.as_bytes()).is_some();
                let mut text = error.to_string();
                if !has_default && let Some(at) = text.rfind("(default is ") {
                    text.truncate(at);
                    text += if default { "(default is True)" } else { "(default is False)" };
                }
                self.warn(format!("ERROR \"{text}\" at line 2659 in file condor_config.cpp"));
                error.fallback == b"true"[..]
            }
        }
    }

    /// What the tool reads for itself when all is read (`ClassAdReconfig` and others). Strict mode is set from it; of the rest
    /// only complaints about the values come.
    pub(super) fn settings_of_the_tool(&mut self) -> Result<(), Stop> {
        let read = [
            ("ABORT_ON_EXCEPTION", false),
            ("CONDOR_FSYNC", true),
            ("STRICT_CLASSAD_EVALUATION", false),
            ("ENABLE_CLASSAD_CACHING", true),
        ];
        for (name, default) in read {
            let value = self.flag(name, default);
            if name == "STRICT_CLASSAD_EVALUATION" {
                self.set.strict = value;
            }
        }
        if self.counts() {
            self.value("CLASSAD_USER_LIBS")?;
            self.read_user_maps()?;
            if self.value("CLASSAD_USER_PYTHON_MODULES")?.is_some() {
                self.value("CLASSAD_USER_PYTHON_LIB")?;
            }
        }
        Ok(())
    }

    /// The settings of `userMap()` (`classad_usermap.cpp`, `reconfig_user_maps`).
    fn read_user_maps(&mut self) -> Result<(), Stop> {
        let names =
            self.value(&format!("{}_CLASSAD_USER_MAP_NAMES", self.who.subsystem))?.unwrap_or_default();
        for name in list::split(&names) {
            let name = name.to_str_lossy();
            if self.value(&format!("CLASSAD_USER_MAPFILE_{name}"))?.is_none() {
                self.value(&format!("CLASSAD_USER_MAPDATA_{name}"))?;
            }
        }
        Ok(())
    }

    /// Whether look-ups are counted: those whose values are of no use here are made, too, then.
    pub(super) fn counts(&self) -> bool {
        self.set.use_counts.is_some()
    }

    /// Whether each step of putting detected values in matters, not only what comes of them.
    fn tells_steps(&self) -> bool {
        self.set.record_replacements || self.set.string_pool.is_some()
    }

    /// Stores a definition. One that takes the place of a detected value keeps that one's spelling, and is recorded as a
    /// replacement where those are.
    pub(crate) fn insert(&mut self, name: &[u8], raw: BString, place: Place) {
        let mut shown: Cow<'_, [u8]> = Cow::Borrowed(name);
        let mut pool = None;
        if let Some(known) = detected::spelling(name)
            && (self.tells_steps() || known.as_bytes() != name || self.set.displaced().next().is_some())
            && self.set.exact(name).is_none()
            && let Some((_, value)) = self.set.detected.find(name, self.world)
        {
            shown = Cow::Owned(self.set.spelling(known).to_vec());
            let was = value.to_owned();
            pool = self.set.string_pool.take();
            if let Some(pool) = pool.as_mut().filter(|_| was != raw) {
                pool.push(&raw);
            }
            if self.set.record_replacements {
                self.replaced(name, was, Place::special(SourceId::DETECTED));
            }
        }
        self.set.insert_as(&shown, name, raw, place);
        if pool.is_some() {
            self.set.string_pool = pool;
        }
    }

    fn replaced(&mut self, name: &[u8], was: BString, place: Place) {
        self.set.replacements.push(Replacement { name: name.into(), was, place });
    }

    /// What is put in before any source is read (`fill_attributes`): SUBSYSTEM and LOCALNAME, and if the texts are
    /// counted, those of all that is detected.
    pub(super) fn insert_first(&mut self) {
        self.pool_detected(&MACHINE);
        self.insert_identity();
        self.pool_detected(&CAPACITY);
    }

    fn pool_detected(&mut self, names: &[&str]) {
        let Some(mut pool) = self.set.string_pool.take() else { return };
        for name in names {
            if let Some((_, value)) = self.set.detected.find(name.as_bytes(), self.world) {
                pool.entry(name.as_bytes(), value, false);
            }
        }
        self.set.string_pool = Some(pool);
    }

    /// SUBSYSTEM and LOCALNAME.
    fn insert_identity(&mut self) {
        let place = Place::special(SourceId::DETECTED);
        let local = if self.who.local_name.is_empty() { &self.who.subsystem } else { &self.who.local_name };
        let local = local.clone();
        self.set.insert(b"SUBSYSTEM", self.who.subsystem.clone(), place);
        self.set.insert(b"LOCALNAME", local, place);
    }

    /// Puts the host's names in.
    pub(super) fn learn_host(&mut self) -> Result<(), Stop> {
        let before = self.detected_now();
        let host = self.host_settings()?;
        self.set.detected.set_host(host);
        let addresses = self.address_settings();
        self.set.detected.set_addresses(addresses);
        self.put_over(&HOST, &before);
        Ok(())
    }

    /// What the host's names are made from (`ipv6_hostname.cpp`, `init_local_hostname_impl`).
    pub(super) fn host_settings(&mut self) -> Result<HostSettings, Stop> {
        let network = self.value("NETWORK_HOSTNAME").ok().flatten().unwrap_or_default();
        // Without a name service the host is called after its address.
        let by_address = network.is_empty() && self.flag("NO_DNS", false);
        let mut is_full = network.contains(&b'.');
        if self.counts() {
            if by_address {
                self.read_interface()?;
                is_full = self.value("DEFAULT_DOMAIN_NAME")?.is_some();
            } else if network.is_empty() {
                is_full = self.world.host()[1].contains('.');
            }
            self.read_interface()?;
        }
        let no_dns = self.flag("NO_DNS", false);
        if self.counts() && !no_dns && network.is_empty() {
            let wants_v6 = self.value("ENABLE_IPV6")?;
            if wants_v6.is_none_or(|text| evaluate::to_boolean(&text, &self.inside()) != Some(false)) {
                self.value("ENABLE_IPV4")?;
            }
        }
        let domain = match self.counts() && is_full {
            true => self.unread("DEFAULT_DOMAIN_NAME"),
            false => self.value("DEFAULT_DOMAIN_NAME").ok().flatten(),
        };
        let by_address = by_address.then(|| self.address_settings());
        Ok(HostSettings { network, domain: domain.unwrap_or_default(), by_address })
    }

    /// Whether no source says anything about addresses.
    pub(super) fn has_default_network(&self) -> bool {
        NETWORK.iter().all(|name| {
            let found = self.set.peek(name.as_bytes(), &self.who, self.world);
            found.is_some_and(|found| matches!(found, Found::Default(_)))
        })
    }

    fn address_settings(&mut self) -> AddressSettings {
        if self.has_default_network() {
            return AddressSettings::default();
        }
        let [named, v4, v6] = NETWORK.map(|name| self.unread(name).unwrap_or_default());
        let truth = |text: BString| evaluate::to_boolean(&text, &self.inside());
        AddressSettings { interface: interface(named.as_ref()), wanted: [truth(v4), truth(v6)] }
    }

    /// A value without counting the look-up.
    fn unread(&mut self, name: &str) -> Option<BString> {
        let counts = self.set.use_counts.take();
        let value = self.value(name).ok().flatten();
        self.set.use_counts = counts;
        value
    }

    fn read_interface(&mut self) -> Result<(), Stop> {
        self.value("NETWORK_INTERFACE")?;
        let settings = self.address_settings();
        match settings.interface {
            Interface::Address(_) => Ok(()),
            _ => self.read_families(&settings),
        }
    }

    /// The settings that choosing an address reads (`my_hostname.cpp`, `network_interface_to_sockaddr`).
    pub(super) fn read_families(&mut self, settings: &AddressSettings) -> Result<(), Stop> {
        if matches!(settings.interface, Interface::Address(_)) {
            return Ok(());
        }
        const FAMILIES: [&str; 2] = ["ENABLE_IPV4", "ENABLE_IPV6"];
        for name in FAMILIES {
            self.value(name)?;
        }
        if detected::is_uneven(settings, self.world) {
            for (wanted, name) in settings.wanted.iter().zip(FAMILIES) {
                if *wanted != Some(false) {
                    self.value(name)?;
                }
            }
        }
        Ok(())
    }

    /// The detected values as they are now, if replacements are recorded.
    fn detected_now(&self) -> Vec<(&'static str, BString)> {
        if !self.tells_steps() {
            return Vec::new();
        }
        self.set.detected.all(self.world).map(|(name, value)| (name, value.to_owned())).collect()
    }

    /// Takes what sources said about detected names out of the table, where there is a detected value.
    fn put_over(&mut self, names: &[&'static str], before: &[(&'static str, BString)]) {
        for name in names {
            let steps = self.tells_steps();
            let set =
                self.set.exact(name.as_bytes()).map(|entry| (entry.current.raw.clone(), entry.current.place));
            if !steps && set.is_none() {
                continue;
            }
            let Some((_, now)) = self.set.detected.find(name.as_bytes(), self.world) else {
                continue;
            };
            if steps {
                let now = now.to_owned();
                let was = before.iter().find(|(known, _)| known == name);
                let was = was.map(|(_, was)| (was.clone(), Place::special(SourceId::DETECTED)));
                let was = set.clone().or(was);
                if let Some(pool) = &mut self.set.string_pool {
                    match &was {
                        Some((was, _)) if *was == now => {}
                        Some(_) => pool.push(&now),
                        None => pool.entry(name.as_bytes(), &now, false),
                    }
                }
                if let Some((was, place)) = was.filter(|_| self.set.record_replacements) {
                    self.replaced(name.as_bytes(), was, place);
                }
            }
            if set.is_some() {
                self.set.displace(name);
            }
        }
    }

    /// Special values go over what sources said. The host's names are asked for anew only the last time.
    pub(super) fn force_detected(&mut self, is_last: bool) -> Result<(), Stop> {
        let before = self.detected_now();
        if is_last {
            self.learn_host()?;
        } else {
            self.put_over(&HOST, &before);
        }
        self.insert_identity();
        self.check_user_cache()?;
        self.set.detected.has_process = true;
        if self.set.exact(b"COUNT_HYPERTHREAD_CPUS").is_some() || self.counts() {
            let count = self.flag("COUNT_HYPERTHREAD_CPUS", true);
            self.set.detected.set_count_hyperthreads(count);
        }
        self.put_over(&PROCESS, &before);
        Ok(())
    }

    /// The user's name is asked of a cache, whose time of life is read once (`passwd_cache.unix.cpp`).
    fn check_user_cache(&mut self) -> Result<(), Stop> {
        if self.set.detected.has_process
            || self.set.exact(b"PASSWD_CACHE_REFRESH").is_none() && !self.counts()
        {
            return Ok(());
        }
        let view = View::new(&self.set, self.who.clone(), self.world);
        if let Err(error) = view.int("PASSWD_CACHE_REFRESH") {
            self.warn(format!("ERROR \"{error}\" at line 2283 in file condor_config.cpp"));
        }
        if self.counts() {
            self.value("USERID_MAP")?;
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use crate::{Config, LoadOptions, Who};
    use htc_os::RealWorld;

    #[test]
    fn each_configuration_has_its_own_mode_whichever_was_read_last() {
        let directory = tempfile::tempdir().unwrap();
        let file = directory.path().join("condor_config");
        let text = "STARTER.STRICT_CLASSAD_EVALUATION = 2 > 1\nNUMBER = 010 + 1\n";
        std::fs::write(&file, text).unwrap();
        let options = LoadOptions { file: Some(file), environment: false, ..LoadOptions::default() };
        let world = RealWorld::new();
        let load = |subsystem: &str| {
            let who = Who { subsystem: subsystem.into(), ..Who::default() };
            Config::load(&world, &who, &options).unwrap().0
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
