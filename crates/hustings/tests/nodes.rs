//! What starts nodes or prepares them, in one program. It is apart from the other commands, whose tests keep the
//! processor busy.

mod common;
mod loopback;
mod processes;

mod certificates;
mod cluster;
mod debug_bundle;
mod disks;
mod elector;
mod hosts;
mod http;
mod init;
mod lab_cluster;
mod live_page;
mod membership;
mod monitoring;
mod operations;
mod pages;
mod readme;
mod recipes;
mod recover;
mod rights;
mod rolling;
mod run;
mod scheduling;
mod state;
mod up;
