use std::path::{Path, PathBuf};
use std::sync::PoisonError;

use hyper::Method;
use serde::Deserialize;
use serde_json::{json, Value};

use crate::host::{decode, Host, Resource};
use crate::webhooks::{Handlers, Listener};
use crate::{Error, Handler, Options};

/// A user's client certificate and key, in PEM, and the text of a kubeconfig with them.
#[derive(Clone, Debug, Deserialize)]
#[non_exhaustive]
pub struct User {
    pub cert: String,
    pub key: String,
    pub kubeconfig: String,
}

/// How a server is reached. Certificates and keys are in PEM.
#[derive(Clone, Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
#[non_exhaustive]
pub struct Access {
    id: String,
    /// The path of a kubeconfig. Its current context is that of the admin, and each user of the options has another.
    pub kubeconfig: PathBuf,
    pub url: String,
    /// The authority of the certificates of the server and of its webhooks.
    pub ca: String,
    /// The admin's client certificate.
    pub cert: String,
    /// The key of the admin's client certificate.
    pub key: String,
    /// The URL of the handlers, for configurations that have a `url` and the authority, and not a service.
    #[serde(rename = "webhookURL")]
    pub webhook_url: String,
    /// Warnings about options that don't have the expected effect.
    #[serde(default)]
    pub warnings: Vec<String>,
}

/// A Kubernetes API server, which stops when the value is dropped.
pub struct Server {
    pub access: Access,
    pub(crate) resource: Resource,
    listener: Listener,
    handlers: Handlers,
}

impl Server {
    /// Starts a server.
    pub async fn start(options: Options<'_>) -> Result<Self, Error> {
        let handlers = options.handlers.iter().map(|(path, handler)| ((*path).into(), handler.clone()));
        let handlers: Handlers = handlers.collect();
        let listener =
            Listener::start(handlers.clone()).map_err(|error| Error::new("listening for webhooks", error))?;
        let services = options.services.iter().map(|(namespace, name)| json!({"namespace": namespace, "name": name}));
        let services: Vec<_> = services.collect();
        let mut body = options.body();
        body["setup"]["handler"] = json!({"address": format!("http://{}", listener.address), "services": services});
        let host = Host::of(format!("{} {}", body["featureGates"], body["emulatedVersion"])).await?;
        let access: Access = decode(&host.send(Method::POST, "/v1/servers".into(), body).await?)?;
        let resource = Resource::new(host, format!("/v1/servers/{}", access.id));
        Ok(Self { access, resource, listener, handlers })
    }

    /// Sets the handler of a path, until the next reset.
    pub fn handle(&self, path: impl Into<String>, handler: Handler) {
        self.listener.handlers.write().unwrap_or_else(PoisonError::into_inner).insert(path.into(), handler);
    }

    /// Brings back the objects and the handlers that the server had at its start.
    pub async fn reset(&self) -> Result<(), Error> {
        self.resource.call::<()>(Method::POST, "/reset", Value::Null).await?;
        *self.listener.handlers.write().unwrap_or_else(PoisonError::into_inner) = self.handlers.clone();
        Ok(())
    }

    /// Copies all objects.
    pub async fn snapshot(&self) -> Result<Snapshot, Error> {
        let taken: Value = self.resource.call(Method::POST, "/snapshots", Value::Null).await?;
        Ok(Snapshot(self.resource.child("snapshots", &taken["id"])))
    }

    /// Applies the objects of a text in YAML or JSON with any number of documents. What they configure is in force when
    /// the function returns.
    pub async fn apply(&self, text: &str) -> Result<(), Error> {
        self.resource.send(Method::POST, "/manifests", json!({"text": text})).await.map(drop)
    }

    /// Applies the objects of files, globs or folders.
    pub async fn apply_files(&self, paths: &[&str]) -> Result<(), Error> {
        self.resource.send(Method::POST, "/manifests", json!({"paths": paths})).await.map(drop)
    }

    /// Issues a client certificate for a user.
    pub async fn user(&self, name: &str, groups: &[&str]) -> Result<User, Error> {
        self.resource.call(Method::POST, "/users", json!({"name": name, "groups": groups})).await
    }

    /// Injects a fault, such as `{"verbs": ["update"], "requests": 3, "conflict": true}`, until the returned value is
    /// dropped. [docs/faults.md](https://github.com/miniapi-dev/miniapi/blob/main/docs/faults.md) has all fields.
    pub async fn inject(&self, fault: Value) -> Result<InjectedFault, Error> {
        let injected: Value = self.resource.call(Method::POST, "/faults", json!({"faults": [fault]})).await?;
        Ok(InjectedFault(self.resource.child("faults", &injected["faults"][0]["name"])))
    }

    /// Returns the faults, each with the number of the requests that it has met.
    pub async fn faults(&self) -> Result<Value, Error> {
        self.resource.call(Method::GET, "/faults", Value::Null).await
    }

    /// Writes the calls of the handlers from now on into a folder, as golden files.
    pub async fn record(&self, folder: &Path) -> Result<(), Error> {
        self.resource.call(Method::PUT, "/recording", json!({"folder": folder})).await
    }

    /// Stops the server. Nothing is left of it when the function returns.
    pub async fn stop(self) -> Result<(), Error> {
        self.resource.delete().await
    }
}

/// A copy of all objects of a server. The host drops it with the value.
pub struct Snapshot(Resource);

impl Snapshot {
    /// Brings back the objects of the snapshot. It may be called again.
    pub async fn restore(&self) -> Result<(), Error> {
        self.0.call(Method::POST, "/restore", Value::Null).await
    }
}

/// A fault of a server, which is removed when the value is dropped.
#[must_use = "the fault is removed when the value is dropped"]
pub struct InjectedFault(Resource);

impl InjectedFault {
    /// Removes the fault.
    pub async fn remove(self) -> Result<(), Error> {
        self.0.delete().await
    }
}
