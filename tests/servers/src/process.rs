//! A process of another program.

use std::io;
use std::net::{Ipv4Addr, TcpListener};
use std::process::{Child, Command};

/// Ends when it is dropped.
#[derive(Debug)]
pub struct Process(Child);

impl Process {
    /// Starts `command`, and names the program and what installs it when there is none.
    pub fn spawn(command: &mut Command) -> Self {
        match command.spawn() {
            Ok(child) => Self(child),
            Err(error) if error.kind() == io::ErrorKind::NotFound => panic!(
                "{} is not on the path: run scripts/tools, and source scripts/env.sh",
                command.get_program().display()
            ),
            Err(error) => panic!("{} did not start: {error}", command.get_program().display()),
        }
    }

    /// The process itself.
    pub fn child(&mut self) -> &mut Child {
        &mut self.0
    }
}

impl Drop for Process {
    fn drop(&mut self) {
        // It may have ended by itself.
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

/// A port of this machine that was free a moment ago, for programs that cannot choose one themselves.
#[must_use]
pub fn free_port() -> u16 {
    let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).expect("a free port");
    listener.local_addr().expect("its address").port()
}
