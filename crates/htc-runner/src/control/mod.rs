//! Control socket of a running program, for commands that HTCondor's tools and daemons send to a real daemon. `slot`
//! defines the commands of execution points and `starter` those of starters.
//!
//! A connection carries one request: a JSON object on one line, such as `{"command": "vacate", "slot": "slot1",
//! "how": "fast"}`, followed by `ad_length` bytes of a job ad. The answer is one JSON object: `{"ok": true}`,
//! `{"error": "..."}` or the requested data.
//!
//! Only the account that runs the program and root can connect (the socket has mode 0600 and is in a directory that
//! no other account can write); the kernel reports the client's uid.

mod client;
mod server;

pub use client::{send_request, send_without_reply};
pub use server::{ClientRequest, ControlSocket, RequestBytes, bind, check_length, parse_request};
