//! Lines of standard input.

use std::io::{self, BufRead, IsTerminal, Read};
use std::sync::mpsc::Sender;
use std::thread;
use std::time::Duration;

use rustix::process::getpgrp;
use rustix::termios::tcgetpgrp;

use super::Input;

/// How often a program in the background checks whether it is in the foreground again.
const BACKGROUND_CHECK: Duration = Duration::from_millis(500);
/// The longest line.
const MAX_LINE_BYTES: u64 = 1024;

/// Sends every line of standard input from a thread of its own.
///
/// The end of a terminal's input (Ctrl-D) means to quit. That of a file or pipe does not: `hustings up < /dev/null` is
/// how services start programs.
pub(super) fn read_lines(inputs: Sender<Input>) {
    thread::spawn(move || {
        let stdin = io::stdin();
        let is_terminal = stdin.is_terminal();
        loop {
            // Reading from the terminal would stop a program in the background.
            while is_terminal && tcgetpgrp(&stdin).is_ok_and(|group| group != getpgrp()) {
                thread::sleep(BACKGROUND_CHECK);
            }
            let mut line = String::new();
            match stdin.lock().take(MAX_LINE_BYTES).read_line(&mut line) {
                Ok(0) | Err(_) => break,
                Ok(_) if inputs.send(Input::Line(line)).is_err() => return,
                Ok(_) => {}
            }
        }
        if is_terminal {
            // Nobody receives it if the program is about to end.
            let _ = inputs.send(Input::End);
        }
    });
}
