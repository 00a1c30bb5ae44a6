//! The special values: facts of the machine and the process, and the few settings that the tool itself reads
//! (`condor_config.cpp`, `reinsert_specials`).

use super::*;
use crate::config::detected;
use crate::config::macro_set::Replacement;

/// Values that files cannot change, in the order in which the reference puts them in. SUBSYSTEM and LOCALNAME, which stand in the table like
/// settings, follow the first three.
const HOST: [&str; 3] = ["TILDE", "HOSTNAME", "FULL_HOSTNAME"];
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

impl Loader<'_> {
    /// A truth value with the reference's complaint if it is none; `default` for names without a default in the table.
    pub(super) fn flag(&mut self, name: &str, default: bool) -> Result<bool, Stop> {
        let view = View::new(&self.set, self.who.clone(), self.world);
        match view.boolean(name) {
            Ok(setting) => Ok(setting.map_or(default, |setting| setting.value)),
            Err(error) => {
                let has_default = defaults::find(name.as_bytes()).is_some();
                let mut text = error.to_string();
                if !has_default && let Some(at) = text.rfind("(default is ") {
                    text.truncate(at);
                    text += if default { "(default is True)" } else { "(default is False)" };
                }
                self.warn(format!("ERROR \"{text}\" at line 2659 in file condor_config.cpp"));
                Ok(error.fallback == b"true"[..])
            }
        }
    }

    /// The settings of the resolver that the host's name is asked of.
    pub(super) fn settings_of_the_resolver(&mut self) -> Result<(), Stop> {
        for _ in 0..2 {
            self.flag("NO_DNS", false)?;
        }
        Ok(())
    }

    /// What the tool reads for itself when all is read; only complaints about the values come of it.
    pub(super) fn settings_of_the_tool(&mut self) -> Result<(), Stop> {
        let read = [
            ("ABORT_ON_EXCEPTION", false),
            ("CONDOR_FSYNC", true),
            ("STRICT_CLASSAD_EVALUATION", false),
            ("ENABLE_CLASSAD_CACHING", true),
        ];
        for (name, default) in read {
            self.flag(name, default)?;
        }
        Ok(())
    }

    /// Stores a definition. One that takes the place of a detected value keeps that one's spelling, and is recorded as a
    /// replacement where those are.
    pub(crate) fn insert(&mut self, name: &[u8], raw: BString, place: Place) {
        let mut shown = name;
        if let Some(known) = detected::spelling(name)
            && (self.set.record_replacements || known.as_bytes() != name)
            && self.set.exact(name).is_none()
            && let Some((_, value)) = self.set.detected.find(name, self.world)
        {
            shown = known.as_bytes();
            if self.set.record_replacements {
                let was = value.to_owned();
                self.replaced(name, was, Place::special(SourceId::DETECTED));
            }
        }
        self.set.insert_as(shown, name, raw, place);
    }

    fn replaced(&mut self, name: &[u8], was: BString, place: Place) {
        self.set.replacements.push(Replacement { name: name.into(), was, place });
    }

    /// SUBSYSTEM and LOCALNAME.
    pub(super) fn insert_identity(&mut self) {
        let place = Place::special(SourceId::DETECTED);
        let local = if self.who.local_name.is_empty() { &self.who.subsystem } else { &self.who.local_name };
        let local = local.clone();
        self.set.insert(b"SUBSYSTEM", self.who.subsystem.clone(), place);
        self.set.insert(b"LOCALNAME", local, place);
    }

    /// Puts the host's names in, which may depend on NETWORK_HOSTNAME and DEFAULT_DOMAIN_NAME.
    pub(super) fn learn_host(&mut self) {
        let before = self.detected_now();
        let network = self.value("NETWORK_HOSTNAME").ok().flatten().unwrap_or_default();
        let domain = self.value("DEFAULT_DOMAIN_NAME").ok().flatten().unwrap_or_default();
        self.set.detected.set_host(network, domain);
        self.put_over(&HOST, &before);
    }

    /// The detected values as they are now, if replacements are recorded.
    fn detected_now(&self) -> Vec<(&'static str, BString)> {
        if !self.set.record_replacements {
            return Vec::new();
        }
        self.set.detected.all(self.world).map(|(name, value)| (name, value.to_owned())).collect()
    }

    /// Takes what sources said about detected names out of the table, where there is a detected value.
    fn put_over(&mut self, names: &[&'static str], before: &[(&'static str, BString)]) {
        for name in names {
            let recorded = self.set.record_replacements;
            let set =
                self.set.exact(name.as_bytes()).map(|entry| (entry.current.raw.clone(), entry.current.place));
            if !recorded && set.is_none() || self.set.detected.find(name.as_bytes(), self.world).is_none() {
                continue;
            }
            if recorded {
                let was = before.iter().find(|(known, _)| known == name);
                let was = was.map(|(_, was)| (was.clone(), Place::special(SourceId::DETECTED)));
                if let Some((was, place)) = set.clone().or(was) {
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
            self.learn_host();
        } else {
            self.put_over(&HOST, &before);
        }
        self.insert_identity();
        self.check_user_cache();
        self.set.detected.has_process = true;
        if self.set.exact(b"COUNT_HYPERTHREAD_CPUS").is_some() {
            let count = self.flag("COUNT_HYPERTHREAD_CPUS", true)?;
            self.set.detected.set_count_hyperthreads(count);
        }
        self.put_over(&PROCESS, &before);
        Ok(())
    }

    /// The user's name is asked of a cache, whose time of life is read once (`passwd_cache.unix.cpp`).
    fn check_user_cache(&mut self) {
        if self.set.detected.has_process || self.set.exact(b"PASSWD_CACHE_REFRESH").is_none() {
            return;
        }
        let view = View::new(&self.set, self.who.clone(), self.world);
        if let Err(error) = view.int("PASSWD_CACHE_REFRESH") {
            self.warn(format!("ERROR \"{error}\" at line 2283 in file condor_config.cpp"));
        }
    }
}
