//! The execution point as a pure machine: resources, slots, claims, policy, draining, startd cron.
