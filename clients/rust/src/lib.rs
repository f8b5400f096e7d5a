#![doc = include_str!("../README.md")]

#[cfg(feature = "kube")]
mod client;
mod error;
mod host;
mod options;
mod program;
#[cfg(feature = "download")]
mod release;
mod server;
mod shared;
mod webhooks;
mod why;

pub use error::Error;
pub use options::{Options, Workloads};
pub use server::{Access, InjectedFault, Server, Snapshot, User};
pub use shared::Shared;
pub use webhooks::{admission, conversion, review, AdmissionRequest, AdmissionResponse, Handler, HandlerError};
pub use why::{Answer, Why};
