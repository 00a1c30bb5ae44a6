//! Tests of the programs as processes: signals, process families, deadlines, pipes, with real children.

// Clippy's settings for tests do not apply to their helpers.
#![allow(clippy::unwrap_used, clippy::print_stdout)]

#[cfg(feature = "cli")]
mod bad_input;
mod children;
#[cfg(feature = "cli")]
mod classad_eval;
#[cfg(feature = "cli")]
mod completion;
#[cfg(feature = "cli")]
mod condor_q;
#[cfg(feature = "cli")]
mod config_val;
#[cfg(feature = "cli")]
mod control;
#[cfg(feature = "cli")]
mod cron;
mod dice;
mod doctor;
mod drain;
#[cfg(feature = "cli")]
mod event_schema;
#[cfg(feature = "cli")]
mod hook_configuration;
mod hook_input;
mod hook_test;
mod hook_test_cron;
mod hook_test_given;
mod hook_test_options;
mod hook_test_program;
mod hook_test_queue;
mod hook_test_record;
#[cfg(feature = "cli")]
mod input_forms;
#[cfg(feature = "cli")]
mod interrupted;
#[cfg(feature = "cli")]
mod json_schema;
mod machine;
#[cfg(feature = "cli")]
mod many_ads;
mod pipelines;
mod place;
#[cfg(feature = "cli")]
mod point;
mod policies;
#[cfg(feature = "cli")]
mod power;
mod queue_of_files;
#[cfg(feature = "cli")]
#[path = "../oracle/random.rs"]
mod random;
#[cfg(feature = "cli")]
mod reading;
#[cfg(feature = "cli")]
mod router_compare;
mod router_info;
mod router_info_messages;
mod router_live;
mod router_machine;
mod router_routes;
mod router_simulate;
mod router_tokens;
#[cfg(feature = "cli")]
mod router_tools;
#[cfg(feature = "cli")]
mod rows;
mod simulate;
mod simulate_asked;
mod simulate_books;
mod simulate_figures;
mod simulate_meant;
mod simulate_place;
#[cfg(feature = "cli")]
mod slot_ads;
mod slot_backfill;
mod slot_claims;
#[cfg(feature = "cli")]
mod slot_ends;
mod slot_explain;
mod slot_gpus;
#[cfg(feature = "cli")]
mod slot_killed;
mod slot_looks;
#[cfg(feature = "cli")]
mod slot_odd_values;
#[cfg(feature = "cli")]
mod slot_plan;
mod slot_promises;
mod slot_property;
#[cfg(feature = "cli")]
mod slot_run;
mod slot_suspend;
mod slot_transitions;
mod slot_usage;
mod slot_why;
#[cfg(feature = "cli")]
mod standard_output;
mod starter;
mod starter_attacks;
mod starter_container_knobs;
mod starter_containers;
mod starter_control;
mod starter_credentials;
mod starter_daemon;
mod starter_disk;
mod starter_docker_socket;
mod starter_dry_run;
mod starter_ends;
mod starter_engine;
mod starter_exceptions;
mod starter_files;
mod starter_holds;
mod starter_images;
mod starter_interactive;
mod starter_isolation;
mod starter_java;
mod starter_left;
mod starter_limits;
mod starter_local;
mod starter_logs;
mod starter_machine;
mod starter_policy;
mod starter_queue;
mod starter_stages;
mod starter_transfer;
mod starter_worst;
#[cfg(feature = "cli")]
mod told;
#[cfg(feature = "cli")]
mod tool;
#[cfg(feature = "cli")]
mod transform_ads;
mod transform_compare;
#[cfg(feature = "cli")]
mod transform_lint;
#[cfg(feature = "cli")]
mod transform_verb;
mod user_maps;
mod vocabulary;
mod waiting;
