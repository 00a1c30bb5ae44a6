//! Parameters of namespaces and tracking groups.

use std::ops::RangeInclusive;

use bstr::BString;

use crate::start_failure::StartFailure;
use htc_config::{ConfigView, ValueError};

/// Parameters of namespaces and tracking groups.
#[derive(Clone, Debug)]
pub struct IsolationParameters {
    /// Value of USE_PID_NAMESPACES.
    pub processes: bool,
    /// USE_PID_NAMESPACE_INIT: true if an init process rather than the job is the first process of the PID namespace.
    pub init: bool,
    /// Value of NO_JOB_NETWORKING.
    pub no_network: bool,
    /// PER_JOB_NAMESPACES: false if jobs share the machine's mount namespace, so that nothing can be mounted for them.
    pub mounts: bool,
    /// Value of LIBEXEC.
    pub libexec: Option<BString>,
    /// Values of MIN_TRACKING_GID and MAX_TRACKING_GID; `None` if USE_GID_PROCESS_TRACKING is false.
    pub tracking: Option<(i64, i64)>,
}

impl Default for IsolationParameters {
    /// Returns the reference's defaults.
    fn default() -> Self {
        IsolationParameters {
            processes: false,
            init: true,
            no_network: false,
            mounts: true,
            libexec: None,
            tracking: None,
        }
    }
}

impl IsolationParameters {
    /// Reads all parameters except the booleans. Errors in the booleans end 25.14 at different times.
    ///
    /// # Errors
    /// Returns an error for an invalid number.
    pub fn read(view: &ConfigView<'_>, tracked: bool) -> Result<Self, ValueError> {
        let gid = |name: &str| -> Result<i64, ValueError> {
            Ok(view.int(name)?.map_or(0, |setting| setting.value))
        };
        let tracking = match tracked {
            true => Some((gid("MIN_TRACKING_GID")?, gid("MAX_TRACKING_GID")?)),
            false => None,
        };
        let libexec = view.string("LIBEXEC")?.map(|setting| setting.value);
        Ok(IsolationParameters {
            libexec: libexec.filter(|path| !path.is_empty()),
            tracking,
            ..IsolationParameters::default()
        })
    }

    /// Returns the range of tracking groups, or `None` if tracking is off.
    pub(crate) fn tracking_gids(&self) -> Result<Option<RangeInclusive<u32>>, StartFailure> {
        let Some((least, most)) = self.tracking else { return Ok(None) };
        let wrong = |text: String| Err(StartFailure::exception(text).after_event());
        for (name, value) in [("MIN_TRACKING_GID", least), ("MAX_TRACKING_GID", most)] {
            if value == 0 {
                return wrong(format!("USE_GID_PROCESS_TRACKING enabled, but {name} is 0"));
            }
        }
        match (u32::try_from(least), u32::try_from(most)) {
            (Ok(least), Ok(most)) if least <= most => Ok(Some(least..=most)),
            // In 25.14, the ProcD checks the range of groups and does not start if it is invalid.
            _ if least <= most => wrong("unable to spawn the ProcD".to_owned()),
            _ => wrong(format!("invalid tracking gid range: {least} - {most}")),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn groups(least: i64, most: i64) -> Result<Option<RangeInclusive<u32>>, String> {
        let parameters =
            IsolationParameters { tracking: Some((least, most)), ..IsolationParameters::default() };
        parameters.tracking_gids().map_err(|failure| failure.text.to_string())
    }

    #[test]
    fn tracking_groups_are_an_ascending_range() {
        assert_eq!(groups(750, 757), Ok(Some(750..=757)));
        assert_eq!(groups(5, 5), Ok(Some(5..=5)));
        assert_eq!(
            groups(0, 7),
            Err("USE_GID_PROCESS_TRACKING enabled, but MIN_TRACKING_GID is 0".to_owned())
        );
        assert_eq!(
            groups(7, 0),
            Err("USE_GID_PROCESS_TRACKING enabled, but MAX_TRACKING_GID is 0".to_owned())
        );
        assert_eq!(groups(760, 750), Err("invalid tracking gid range: 760 - 750".to_owned()));
        assert!(groups(-1, 5).is_err() && groups(1, 1 << 40).is_err());
    }
}
