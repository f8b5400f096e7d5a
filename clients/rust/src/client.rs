use std::fmt::Display;

use kube::config::{KubeConfigOptions, Kubeconfig, KubeconfigError};
use kube::{Client, Config};

use crate::{Error, Server, User};

impl Server {
    /// Returns a client of kube-rs with the rights of the admin. The client is for the runtime that it is made in, so each
    /// test makes its own.
    pub async fn client(&self) -> Result<Client, Error> {
        client(Kubeconfig::read_from(&self.access.kubeconfig)).await
    }
}

impl User {
    /// Returns a client of kube-rs for the user.
    pub async fn client(&self) -> Result<Client, Error> {
        client(Kubeconfig::from_yaml(&self.kubeconfig)).await
    }
}

async fn client(kubeconfig: Result<Kubeconfig, KubeconfigError>) -> Result<Client, Error> {
    let failed = |error: &dyn Display| Error::new("making a client", error);
    let kubeconfig = kubeconfig.map_err(|error| failed(&error))?;
    let config = Config::from_custom_kubeconfig(kubeconfig, &KubeConfigOptions::default()).await;
    Client::try_from(config.map_err(|error| failed(&error))?).map_err(|error| failed(&error))
}
