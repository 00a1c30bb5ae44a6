//! The kernel: children, signals, pipes, families, accounts, mounts, files. Knows no slot and no hook.
