//! The ad that condor_submit creates from a recorded submit file, as far as slots read it.

use htc_hooks::classad::{ClassAd, Expr};

/// A submit file and its owner.
#[derive(Clone, Debug)]
pub struct Submit {
    pub owner: String,
    pub text: String,
    /// Seconds since the start of the recording.
    pub at: f64,
    /// JOB_DEFAULT_REQUEST...: requests of jobs that do not set them.
    pub defaults: Vec<(String, String)>,
}

/// Attributes, with the parameters and values that are used if a job does not set them.
const DEFAULTS: [(&str, &str, &str); 3] = [
    ("RequestCpus", "JOB_DEFAULT_REQUESTCPUS", "1"),
    ("RequestMemory", "JOB_DEFAULT_REQUESTMEMORY", "MemoryUsage ?: (ImageSize + 1023) / 1024"),
    ("RequestDisk", "JOB_DEFAULT_REQUESTDISK", "DiskUsage"),
];

/// Returns the defaults of a configuration.
pub fn defaults(config: &str) -> Vec<(String, String)> {
    let parameter = |name: &str| {
        let mut lines = config.lines().filter_map(|line| line.split_once('='));
        let last = lines.rfind(|(parameter, _)| parameter.trim() == name);
        last.map(|(_, value)| value.trim().to_owned())
    };
    let of = |(name, known, default): (&str, &str, &str)| {
        (name.to_owned(), parameter(known).unwrap_or_else(|| default.to_owned()))
    };
    DEFAULTS.map(of).into()
}

/// Attributes that submit commands set to the value as written.
const COMMANDS: [(&str, &str); 9] = [
    ("job_lease_duration", "JobLeaseDuration"),
    ("job_max_vacate_time", "JobMaxVacateTime"),
    ("kill_sig_timeout", "KillSigTimeout"),
    ("max_job_retirement_time", "MaxJobRetirementTime"),
    ("keep_claim_idle", "KeepClaimIdle"),
    ("require_gpus", "RequireGPUs"),
    ("requirements", "Requirements"),
    ("rank", "Rank"),
    ("nice_user", "NiceUser"),
];

impl Submit {
    /// Creates the ad of one job of the cluster. `host` is the submit machine, `epoch` the start of the
    /// recording.
    pub fn ad(&self, cluster: i64, proc: i64, host: &str, epoch: f64) -> ClassAd {
        let mut ad = ClassAd::new();
        let date = (epoch + self.at) as i64;
        let user = format!("{}@{host}", self.owner);
        for (name, number) in [
            ("ClusterId", cluster),
            ("ProcId", proc),
            ("JobUniverse", 5),
            ("JobLeaseDuration", 2400),
            ("JobPrio", 0),
            ("QDate", date),
            ("DiskUsage", 45),
            ("ImageSize", 44_272),
            ("ExecutableSize", 45),
        ] {
            ad.set(name, number);
        }
        for (name, text) in [
            ("Owner", self.owner.as_str()),
            ("User", user.as_str()),
            ("RemoteNegotiatingGroup", "<none>"),
            ("GlobalJobId", format!("{host}#{cluster}.{proc}#{date}").as_str()),
        ] {
            ad.set(name, text);
        }
        for (name, default) in &self.defaults {
            if let Ok(expr) = Expr::parse(default.as_bytes()) {
                ad.insert(name.as_str(), expr);
            }
        }
        ad.set("RemoteAutoregroup", false);
        ad.set("StartdSendsAlives", true);
        for line in self.text.lines() {
            let Some((name, value)) = line.split_once('=') else { continue };
            let (name, value) = (name.trim(), value.trim());
            let attribute = match name.strip_prefix('+') {
                Some(own) => Some(own.to_owned()),
                None => match name.to_lowercase().strip_prefix("request_") {
                    Some(resource) => Some(format!("Request{}", &name[name.len() - resource.len()..])),
                    None => {
                        let known = COMMANDS.iter().find(|(command, _)| name.eq_ignore_ascii_case(command));
                        known.map(|(_, attribute)| (*attribute).to_owned())
                    }
                },
            };
            if let Some(attribute) = attribute
                && let Ok(expr) = Expr::parse(value.as_bytes())
            {
                ad.insert(attribute.as_str(), expr);
            }
            if name == "executable" {
                ad.set("Cmd", value);
            }
        }
        ad
    }
}
