//! The process `miniapi host`, and requests to it.

use std::collections::BTreeMap;
use std::io::{BufRead, BufReader};
use std::process::{Child, Command, Stdio};
use std::sync::{mpsc, Arc, LazyLock, Mutex, PoisonError};

use http_body_util::{BodyExt, Full};
use hyper::{body::Bytes, header::AUTHORIZATION, Method, Request};
use hyper_util::client::legacy::{connect::HttpConnector, Client};
use hyper_util::rt::TokioExecutor;
use serde::{de::DeserializeOwned, Deserialize};
use serde_json::Value;
use tokio::runtime::{Builder, Runtime};

use crate::{program, Error};

/// The runtime of requests and webhooks. The runtime of a test ends with the test, and a server may live longer.
pub(crate) static RUNTIME: LazyLock<Runtime> = LazyLock::new(|| {
    let mut runtime = Builder::new_multi_thread();
    runtime.worker_threads(2).thread_name("miniapi").enable_all().build().expect("the system has threads for miniapi")
});

/// The hosts, by the settings that all servers of a host have in common. The end of this process closes the standard
/// inputs of their processes, which then end too.
static HOSTS: Mutex<BTreeMap<String, Arc<Host>>> = Mutex::new(BTreeMap::new());

pub(crate) struct Host {
    hello: Hello,
    http: Client<HttpConnector, Full<Bytes>>,
    /// The process, which runs until its standard input is closed.
    _process: Child,
}

/// The first line of the host's output.
#[derive(Deserialize)]
struct Hello {
    protocol: String,
    address: String,
    token: String,
}

impl Host {
    /// Returns the host for servers with these settings. The first call starts it.
    pub(crate) async fn of(settings: String) -> Result<Arc<Self>, Error> {
        let found = RUNTIME.spawn_blocking(move || {
            let mut hosts = HOSTS.lock().unwrap_or_else(PoisonError::into_inner);
            if !hosts.contains_key(&settings) {
                hosts.insert(settings.clone(), Arc::new(Self::start()?));
            }
            Ok(hosts[&settings].clone())
        });
        found.await.map_err(unreachable)?
    }

    fn start() -> Result<Self, Error> {
        let program = program::find()?;
        let start = || {
            let mut command = Command::new(&program);
            let mut process = command.arg("host").stdin(Stdio::piped()).stdout(Stdio::piped()).spawn()?;
            let mut line = String::new();
            process.stdout.take().map(BufReader::new).map(|mut output| output.read_line(&mut line)).transpose()?;
            std::io::Result::Ok((process, line))
        };
        let (process, line) = start().map_err(|error| Error::new(program.display(), error))?;
        let hello: Hello = serde_json::from_str(&line)
            .map_err(|error| Error::new(format!("{} host: the first line is {line:?}", program.display()), error))?;
        if hello.protocol != "v1" {
            return Err(Error(format!("{program:?} speaks protocol {:?}, and this crate v1", hello.protocol)));
        }
        Ok(Self { hello, http: Client::builder(TokioExecutor::new()).build_http(), _process: process })
    }

    /// Makes a request, and returns the body of the answer. A request without a body has the value null.
    pub(crate) async fn send(self: &Arc<Self>, method: Method, path: String, body: Value) -> Result<Bytes, Error> {
        let host = self.clone();
        RUNTIME.spawn(async move { host.send_here(method, &path, body).await }).await.map_err(unreachable)?
    }

    async fn send_here(&self, method: Method, path: &str, body: Value) -> Result<Bytes, Error> {
        let body = if body.is_null() { Bytes::new() } else { body.to_string().into() };
        let request = Request::builder()
            .method(&method)
            .uri(format!("{}{path}", self.hello.address))
            .header(AUTHORIZATION, format!("Bearer {}", self.hello.token))
            .body(Full::new(body))
            .map_err(unreachable)?;
        let answer = self.http.request(request).await.map_err(unreachable)?;
        let status = answer.status();
        let body = answer.into_body().collect().await.map_err(unreachable)?.to_bytes();
        if status.as_u16() < 400 {
            return Ok(body);
        }
        let refusal: Value = decode(&body).unwrap_or_default();
        let unknown = || format!("{method} {path}: the host answered {status}");
        Err(Error(refusal["message"].as_str().map_or_else(unknown, Into::into)))
    }
}

fn unreachable(error: impl std::error::Error) -> Error {
    let cause = error.source().map(|cause| format!(": {cause}")).unwrap_or_default();
    Error(format!("the host can't be reached: {error}{cause}"))
}

/// Decodes the body of an answer. No body has the value null.
pub(crate) fn decode<T: DeserializeOwned>(body: &[u8]) -> Result<T, Error> {
    let body: &[u8] = if body.is_empty() { b"null" } else { body };
    serde_json::from_slice(body).map_err(|error| Error::new("the answer of the host", error))
}

/// Encodes a text as a segment of a path, or as a value in a query.
pub(crate) fn encode(text: &str) -> String {
    let plain = |byte: &u8| byte.is_ascii_alphanumeric() || b"-._~".contains(byte);
    text.bytes().map(|byte| if plain(&byte) { char::from(byte).into() } else { format!("%{byte:02X}") }).collect()
}

/// What the host has at a path: a server, a snapshot or a fault. It is deleted when the value is dropped.
pub(crate) struct Resource {
    host: Arc<Host>,
    path: String,
    deleted: bool,
}

impl Resource {
    pub(crate) fn new(host: Arc<Host>, path: String) -> Self {
        Self { host, path, deleted: false }
    }

    /// Returns the resource with the name or ID that a field of an answer has.
    pub(crate) fn child(&self, kind: &str, name: &Value) -> Self {
        let name = encode(name.as_str().unwrap_or_default());
        Self::new(self.host.clone(), format!("{}/{kind}/{name}", self.path))
    }

    /// Makes a request for a path below this one, and returns the body of the answer.
    pub(crate) async fn send(&self, method: Method, below: &str, body: Value) -> Result<Bytes, Error> {
        self.host.send(method, format!("{}{below}", self.path), body).await
    }

    /// Makes a request for a path below this one, and decodes the answer.
    pub(crate) async fn call<T: DeserializeOwned>(&self, method: Method, below: &str, body: Value) -> Result<T, Error> {
        decode(&self.send(method, below, body).await?)
    }

    pub(crate) async fn delete(mut self) -> Result<(), Error> {
        self.deleted = true;
        self.send(Method::DELETE, "", Value::Null).await.map(drop)
    }
}

impl Drop for Resource {
    fn drop(&mut self) {
        if self.deleted {
            return;
        }
        let (host, path) = (self.host.clone(), std::mem::take(&mut self.path));
        let (done, wait) = mpsc::channel();
        RUNTIME.spawn(async move { done.send(host.send_here(Method::DELETE, &path, Value::Null).await) });
        let _ = wait.recv(); // after an error, the host still deletes the resource when this process ends
    }
}

#[cfg(test)]
mod tests;
