use std::ops::Deref;

use tokio::sync::{Mutex, MutexGuard};

use crate::{Error, Options, Server};

/// A server for many tests, in a static. It runs until the process ends.
///
/// ```
/// static SERVER: miniapi::Shared = miniapi::Shared::new(miniapi::Options::default);
/// ```
pub struct Shared {
    options: fn() -> Options<'static>,
    server: Mutex<Option<Server>>,
}

impl Shared {
    /// Returns a server that starts at its first use, with these options.
    pub const fn new(options: fn() -> Options<'static>) -> Self {
        let server = Mutex::const_new(None);
        Self { options, server }
    }

    /// Returns the server as it was at its start, when no other test uses it.
    pub async fn reset(&self) -> Result<impl Deref<Target = Server> + '_, Error> {
        let mut server = self.server.lock().await;
        match &*server {
            Some(server) => server.reset().await?,
            None => *server = Some(Server::start((self.options)()).await?),
        }
        Ok(MutexGuard::map(server, |server| server.as_mut().expect("the server has started")))
    }
}
