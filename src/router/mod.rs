//! The job router as a pure machine: routes, choice, limits, the life of a routed job.
